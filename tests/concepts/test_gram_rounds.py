"""Rounds through inner products equal those of the library in full coordinates, and never read held-out labels."""

import pytest
import torch

from gramian.concepts.gram_rounds import (
    centred_gram,
    fit_round,
    gradient_weights,
    median_distance_of,
    next_gram,
    unit_gram,
)
from gramian.concepts.probe import ProbeOptions, fold_outputs
from gramian.core import psd_factor
from gramian.features import agop
from gramian.kernels import Gaussian, KernelOperator, Laplace, LowRank, as_metric
from gramian.rfm.machine import KernelMachine
from twins import value

KERNELS = (Laplace("median"), Gaussian("median", bandwidth_scale=2.0))


def sample(n=14, d=30, c=2, seed=0):
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(n, d, generator=rng, dtype=torch.float64)
    return X, torch.stack([X[:, 0] * X[:, 1], X[:, 2].sign()], dim=1)[:, :c] + 3


def full_rounds(X, Y, train, kernel, ridge, rounds, share):
    """The same rounds with matrices M (d, d), by the operator and the machine of the library."""
    centred = X - X.mean(dim=0)

    def unit(M):
        return M / torch.einsum("nd,de,ne->n", centred, M, centred).mean()

    identity = torch.eye(X.shape[1], dtype=X.dtype)
    M, outputs = unit(identity), []
    for _ in range(rounds + 1):
        metric = LowRank(psd_factor(M))
        points = X[train] @ metric.factor
        square = torch.cdist(points, points).square()
        operator = KernelOperator(kernel.at_median(median_distance_of(square)), X[train], metric)
        mean = Y[train].mean(dim=0)
        coef = torch.linalg.solve(operator.dense() + ridge * torch.eye(len(train), dtype=X.dtype), Y[train] - mean)
        machine = KernelMachine(operator, coef)
        outputs.append(machine.predict(X) + mean)
        M = (1 - share) * unit(agop(machine.gradient(X[train]))) + share * unit(identity)
    return torch.stack(outputs)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("d", [30, 5])
def test_rounds_equal_those_in_full_coordinates(kernel, share, d):
    X, Y = sample(d=d)
    train = torch.tensor([0, 1, 2, 4, 5, 7, 8, 9, 11, 13])
    options = ProbeOptions(kernels=(kernel,), ridges=(0.3,), feature_ridge=0.3, rounds=2, share=share)
    found = fold_outputs(unit_gram(centred_gram(X)), Y, train, kernel, options)[:, 0]
    expected = full_rounds(X, Y, train, kernel, 0.3, 2, share)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_are_those_of_autograd(kernel):
    X, Y = sample(n=6, d=9)
    X = X - X.mean(dim=0)
    every = torch.arange(6)
    fit = fit_round(X @ X.mT, Y, every, kernel, torch.tensor([0.1], dtype=torch.float64))
    B = gradient_weights(fit, 0)
    identity = torch.eye(9, dtype=torch.float64)
    for i in range(6):
        x = X[i].clone().requires_grad_()
        for c in range(2):
            f = sum(a * value(fit.kernel, identity, x, z) for a, z in zip(fit.coef[0, :, c], X, strict=True))
            (gradient,) = torch.autograd.grad(f, x)
            torch.testing.assert_close(B[c, i] @ X, gradient)


def test_the_next_matrix_is_that_of_the_agop():
    X, Y = sample()
    X = X - X.mean(dim=0)
    train = torch.arange(10)
    G = unit_gram(X @ X.mT)
    fit = fit_round(G, Y, train, KERNELS[0], torch.tensor([0.1], dtype=torch.float64))
    size = X.square().sum(dim=1).mean()
    operator = KernelOperator(fit.kernel, X[train], as_metric(torch.full((30,), 1 / float(size), dtype=torch.float64)))
    M = agop(operator.gradient(X[train], fit.coef[0]))
    found = next_gram(G, G, train, gradient_weights(fit, 0), 0.0)
    torch.testing.assert_close(found, unit_gram(X @ M @ X.mT))


def test_outputs_do_not_depend_on_held_out_labels_but_on_training_labels():
    X, Y = sample()
    train, held_out = torch.arange(10), torch.arange(10, 14)
    options = ProbeOptions(rounds=2)
    G = unit_gram(centred_gram(X))
    found = fold_outputs(G, Y, train, KERNELS[0], options)
    changed = Y.clone()
    changed[held_out] = 100.0
    assert torch.equal(found, fold_outputs(G, changed, train, KERNELS[0], options))
    changed[0] = 100.0
    assert not torch.allclose(found[1:, :, 10:], fold_outputs(G, changed, train, KERNELS[0], options)[1:, :, 10:])


def test_a_rotation_of_the_hidden_states_changes_nothing():
    X, Y = sample()
    Q = torch.linalg.qr(torch.randn(30, 30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).Q
    train = torch.arange(10)
    first, second = (
        fold_outputs(unit_gram(centred_gram(rows)), Y, train, KERNELS[0], ProbeOptions()) for rows in (X, 5 * X @ Q + 1)
    )
    torch.testing.assert_close(first, second)


def test_equal_rows_have_finite_gradients_and_equal_outputs():
    X, Y = sample()
    X[3] = X[2]
    for dtype in (torch.float32, torch.float64):
        G = unit_gram(centred_gram(X.to(dtype)))
        found = fold_outputs(G, Y.to(dtype), torch.arange(14), KERNELS[0], ProbeOptions())
        assert bool(found.isfinite().all())
        torch.testing.assert_close(found[:, :, 2], found[:, :, 3], rtol=1e-3, atol=1e-3)
    assert median_distance_of(torch.zeros(4, 4)) == 1.0
