"""The network of paper A: its hand-written gradients against automatic ones, its measures against naive twins."""

from __future__ import annotations

import math

import pytest
import torch

from gramian.experiments.a_alignment.network import agop_of, chain_task, descend, draw_weights, evaluate, nfa_of
from gramian.experiments.a_alignment.trajectories import Training, at, measure, spread, thin, train_all
from gramian.nets.alignment import centered_nfa, congruence, ptk_centered_nfa, uncentered_nfa


def _start(d=5, width=7, n=11, seed=0):
    rng = torch.Generator().manual_seed(seed)
    task = chain_task(n, d, 3, 0.0, rng, tests=4)
    return task, draw_weights(d, width, (0.3, 1.0, 1.0), rng)


def _forward(weights, X):
    W0, W1, w2 = weights
    return (((X @ W0.mT).relu() @ W1.mT).relu() @ w2.mT)[:, 0]


def test_a_step_is_the_gradient_of_half_the_mean_squared_error():
    task, start = _start()
    leaves = [W.clone().requires_grad_() for W in start]
    loss = (_forward(leaves, task.X) - task.y).square().mean() / 2
    gradients = torch.autograd.grad(loss, leaves)
    *_, (time, moved, _) = descend(start, task.X, task.y, 0.1, 1)
    assert time == 1
    for W, W0, g in zip(moved, start, gradients, strict=True):
        torch.testing.assert_close(W, W0 - 0.1 * g)


def test_tangents_are_the_gradients_of_the_output_by_preactivations():
    task, (W0, W1, w2) = _start()
    Z0 = (task.X @ W0.mT).requires_grad_()
    Z1 = Z0.relu() @ W1.mT
    f = (Z1.relu() @ w2.mT).sum()
    expected = torch.autograd.grad(f, (Z0, Z1))
    torch.testing.assert_close(evaluate((W0, W1, w2), task.X).tangents, expected)


@pytest.mark.parametrize("layer", [0, 1])
def test_measures_agree_with_the_library(layer):
    task, start = _start()
    initial = evaluate(start, task.X)
    *_, (_, weights, seen) = descend(start, task.X, task.y, 0.3, 20)
    W, W0, J, J0 = weights[layer], start[layer], seen.tangents[layer], initial.tangents[layer]
    K, K_bar = J.mT @ J, (J - J0).mT @ (J - J0)
    found = measure(layer, weights, start, seen, initial)
    moved = W - W0
    gram = moved.mT @ moved
    ratio = (gram @ congruence(moved, K_bar)).trace() / (gram @ congruence(moved, K)).trace()
    assert found == pytest.approx(
        {
            f"uc{layer + 1}": uncentered_nfa(W, K),
            f"c{layer + 1}": centered_nfa(W, W0, K),
            f"ptk{layer + 1}": ptk_centered_nfa(W0, K_bar),
            f"double{layer + 1}": float(ratio),
        }
    )


def test_the_centred_measures_do_not_exist_before_training():
    task, start = _start()
    seen = evaluate(start, task.X)
    found = measure(0, start, start, seen, seen)
    assert math.isnan(found["c1"])
    assert math.isnan(found["ptk1"])
    assert math.isnan(found["double1"])
    assert 0 < found["uc1"] <= 1


def test_agop_has_no_tangent_kernel_in_between():
    rng = torch.Generator().manual_seed(0)
    W, J = torch.randn(4, 3, generator=rng), torch.randn(9, 4, generator=rng)
    torch.testing.assert_close(agop_of(W, J), congruence(W, J.mT @ J))
    assert nfa_of(W, J) == pytest.approx(nfa_of(W, 5 * J))


def test_decaying_inputs_have_the_spectrum_that_was_asked_for():
    task = chain_task(20000, 4, 3, 2.0, torch.Generator().manual_seed(0), tests=1)
    values = torch.linalg.eigvalsh(task.X.mT @ task.X / 20000).flip(0)
    torch.testing.assert_close(values, 1 / (1 + torch.arange(1, 5).double() ** 2), rtol=0.05, atol=0)


def test_scales_of_one_seed_share_data_and_random_numbers():
    spec = Training(n=20, d=6, width=8, steps=20, every=10, scales=(0.25, 1.0))
    found = train_all(spec, seed=3)
    # A ReLU network is homogeneous, so the UC-NFA of the start does not see the scale.
    assert found[0.25]["uc1"][0] == pytest.approx(found[1.0]["uc1"][0], abs=1e-5)
    assert found[0.25]["c1"][-1] != found[1.0]["c1"][-1]
    assert train_all(spec, seed=3)[1.0]["c1"][1:] == found[1.0]["c1"][1:]


def test_reading_of_curves():
    found = {0.1: {"t": [0.0, 5.0, 10.0], "c1": [0.0, 0.5, 0.75]}, 1.0: {"t": [0.0, 5.0, 10.0], "c1": [0.0, 0.25, 1.0]}}
    assert at(found[0.1], "c1", 6) == 0.75
    assert spread(found, "c1", 5) == 0.25
    assert thin(found, ("c1",), points=2)["1"] == {"t": [0.0, 10.0], "c1": [0.0, 1.0]}
