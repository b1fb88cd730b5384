"""The first instant of training, against autograd and against sampling."""

import itertools

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from gramian.theory import (
    QuadraticWeights,
    early_agop,
    early_alignment,
    early_nfm,
    expected_early_agop,
    expected_early_nfm,
    printed,
    sample_quadratic,
)

F64 = torch.float64


def problem(n=9, d=4, width=6, seed=0):
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(n, d, generator=rng, dtype=F64)
    y = torch.randn(n, generator=rng, dtype=F64)
    return X, y, sample_quadratic(d, width, rng)


def velocity(net, W, X, y, start):
    """``Ẇ`` of gradient flow on ½ Σ (y − (f − f₀))², by autograd; f₀ makes the output zero at the start."""
    W = W.detach().requires_grad_()
    output = QuadraticWeights(net.a, W)(X) - start
    (gradient,) = torch.autograd.grad(0.5 * (y - output).square().sum(), W)
    return -gradient


def tangent_kernel(net, X):
    """``K = Σᵢ ∂f/∂h ∂f/∂hᵀ`` by autograd, one sample at a time."""
    K = torch.zeros(len(net.a), len(net.a), dtype=F64)
    for x in X:
        h = (net.W @ x).requires_grad_()
        (g,) = torch.autograd.grad(0.5 * net.a @ h.square(), h)
        K += torch.outer(g, g)
    return K


def test_matrices_equal_their_autograd_twins():
    X, y, net = problem()
    W_dot = velocity(net, net.W, X, y, net(X))
    R = net.weight_kernel()
    assert_close(early_nfm(X, y, R), W_dot.mT @ W_dot, rtol=1e-10, atol=1e-10)
    assert_close(early_agop(X, y, R), W_dot.mT @ tangent_kernel(net, X) @ W_dot, rtol=1e-10, atol=1e-10)
    assert abs(early_alignment(X, y, R)) <= 1


def test_they_are_half_the_second_derivatives_of_the_centred_matrices():
    """Proposition 3: ``W̄ᵀW̄ = t² ẆᵀẆ + O(t³)`` along the flow; halving t halves the relative error."""
    X, y, net = problem(seed=1)
    start, R = net(X), net.weight_kernel()
    K = tangent_kernel(net, X)
    errors = []
    for t in (4e-4, 2e-4):
        W, steps = net.W, 200
        for _ in range(steps):
            W = W + t / steps * velocity(net, W, X, y, start)
        change = (W - net.W) / t
        nfm_error = (change.mT @ change - early_nfm(X, y, R)).norm() / early_nfm(X, y, R).norm()
        agop_error = (change.mT @ K @ change - early_agop(X, y, R)).norm() / early_agop(X, y, R).norm()
        errors.append(torch.stack([nfm_error, agop_error]))
    assert bool((errors[1] < 0.1).all())
    assert bool((errors[1] < 0.6 * errors[0]).all())


def sampled_means(X, y, width, draws, seed):
    rng = torch.Generator().manual_seed(seed)
    nfms, agops = [], []
    for _ in range(draws):
        R = sample_quadratic(X.shape[1], width, rng).weight_kernel()
        nfms.append(early_nfm(X, y, R))
        agops.append(early_agop(X, y, R))
    return torch.stack(nfms), torch.stack(agops)


def worst_z(samples, expected):
    """Largest distance between sample mean and expectation, in standard errors, over the entries."""
    error = samples.std(0) / len(samples) ** 0.5
    return float(((samples.mean(0) - expected).abs() / error).max())


@pytest.mark.parametrize("width", [1, 2])
def test_expectations_by_exact_quadrature(width):
    """The matrices have degree at most 4 in each weight, and three Gauss–Hermite nodes are exact to 5."""
    X, y, _ = problem(n=5, d=2, seed=5)
    nodes, masses = (torch.tensor(part) for part in np.polynomial.hermite_e.hermegauss(3))
    masses = masses / masses.sum()
    nfm_mean, agop_mean = torch.zeros(2, 2, dtype=F64), torch.zeros(2, 2, dtype=F64)
    for index in itertools.product(range(3), repeat=3 * width):
        point, mass = nodes[list(index)], masses[list(index)].prod()
        R = QuadraticWeights(point[:width], point[width:].view(width, 2) / width**0.5).weight_kernel()
        nfm_mean += mass * early_nfm(X, y, R)
        agop_mean += mass * early_agop(X, y, R)
    assert_close(expected_early_nfm(X, y), nfm_mean, rtol=1e-10, atol=1e-10)
    assert_close(expected_early_agop(X, y, width), agop_mean, rtol=1e-10, atol=1e-10)


def test_expectations_of_proposition_10_by_sampling():
    """Of 64 normal z-scores the largest exceeds 4.5 once in 2,000 runs; 6 leaves room for the tails of a⁴."""
    X, y, _ = problem(seed=2)
    for width in (3, 8):
        nfms, agops = sampled_means(X, y, width, draws=3000, seed=3)
        assert worst_z(nfms, expected_early_nfm(X, y)) < 6
        assert worst_z(agops, expected_early_agop(X, y, width)) < 6


def test_printed_proposition_10_is_rejected():
    X, y, _ = problem(seed=2)
    _, agops = sampled_means(X, y, width=5, draws=1000, seed=3)
    assert worst_z(agops, printed.expected_early_agop(X, y)) > 20


def test_wide_networks_lose_the_trace_term():
    """k → ∞: K approaches its mean and ``E[ẆᵀKẆ] → S B S``."""
    X, y, _ = problem(seed=4)
    S, B = (X.mT * y) @ X, X.mT @ X
    assert_close(expected_early_agop(X, y, 10**9), S @ B @ S, rtol=1e-6, atol=1e-6)
