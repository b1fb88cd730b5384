"""Targets, networks and measurements of paper C."""

import math

import pytest
import torch
from torch.testing import assert_close

from gramian.core import cosine, psd_power
from gramian.experiments.c_deep_nfa.setting import (
    DEPTHS,
    StackTraining,
    alignment_by_power,
    alignments,
    data,
    fit,
    network,
    random_target,
    rule,
)
from gramian.features import nfm


@pytest.mark.parametrize("link", ["relu", "gauss", "identity"])
def test_gradients_of_the_target_are_those_of_autograd(link, rng):
    target = random_target(3, rng, link)
    X = torch.rand(50, 20, generator=rng, dtype=torch.float64).sub_(0.5).requires_grad_()
    (expected,) = torch.autograd.grad(target(X).sum(), X)
    assert_close(target.gradients(X.detach())[:, 0], expected)


@pytest.mark.parametrize("rank", [2, 5, 20])
def test_target_varies_along_its_rank_only(rank, rng):
    target = random_target(rank, rng)
    X = torch.rand(400, 20, generator=rng, dtype=torch.float64) - 0.5
    values = torch.linalg.svdvals(target.gradients(X)[:, 0])
    assert int((values > 1e-9 * values[0]).sum()) == rank


def test_alignment_is_the_cosine_of_the_matrices():
    stack = network(StackTraining(5, "gd", 3, 1e-3, 1, decays=(0.0, 0.0)), seed=3)
    J, V = stack.jacobian()[1].double(), stack.weights[0][1].double()
    for power in (0.2, 1 / 3, 1.0):
        expected = cosine(nfm(V.mT), psd_power(J @ J.mT, power))
        assert alignment_by_power(stack, [power])[0][1] == pytest.approx(expected, abs=1e-6)


def test_alignment_of_a_network_that_diverged_is_nan_and_of_the_other_is_not():
    stack = network(StackTraining(5, "gd", 2, 1e-3, 1, decays=(0.0, 0.0)), seed=0)
    stack.values[0] = torch.inf
    first, second = alignments(stack, 0.5)
    assert math.isnan(first)
    assert 0.5 < second < 1


@pytest.mark.parametrize("depth", DEPTHS)
def test_balanced_start_is_aligned(depth):
    assert alignments(network(StackTraining(5, "sgd", depth, 1e-4, 1, balanced=True), 0), 1 / depth)[0] > 1 - 1e-6


def test_noise_is_added_to_the_same_target():
    X, Y = data(StackTraining(2, "gd", 2, 1e-3, 1, decays=(0.1, 0.2), noises=(0.0, 1.0)), seed=0)
    assert X.shape == (2048, 20)
    assert_close(Y[0], Y[1])
    assert float((Y[2] - Y[0]).std()) == pytest.approx(1, abs=0.05)


def test_linear_networks_have_all_units_as_outputs():
    training = StackTraining(5, "sgd", 3, 1e-3, 1, decays=(0.1,), head=False, link="identity")
    assert network(training, 0).linear == 3
    assert data(training, 0)[1].shape == (1, 2048, 21)


def test_alignments_are_measured_at_the_start_and_the_end():
    course = fit(StackTraining(2, "gdm", 2, 1e-3, 12, decays=(1e-3,), tail=2, rows=64), seed=0, moments=3)
    assert course.epochs == [0, 2, 5, 8, 12]
    assert course.alignments[0] == pytest.approx(
        alignments(network(StackTraining(2, "gdm", 2, 1e-3, 1, (1e-3,)), 0), 0.5)
    )
    assert course.final == alignments(course.stack, 0.5)


def test_an_unknown_optimiser_is_named():
    with pytest.raises(ValueError, match="optimiser must be one of"):
        rule(StackTraining(2, "lion", 2, 1e-3, 1))
