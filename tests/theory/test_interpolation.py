"""Linear interpolation by a decoder: loops, bounds, the loss of a β-VAE."""

import itertools

import pytest
import torch
from torch.testing import assert_close

from gramian.nets import target_linearity
from gramian.theory import (
    beta_vae_loss,
    interpolation_bound,
    interpolation_gap,
    interpolation_split,
    ols_decoder,
)

F64 = torch.float64


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def codes():
    Z = normal(10, 2)
    X = Z @ normal(2, 5, seed=1) + 0.5 * normal(10, 5, seed=2) + 3
    return Z, X


def bent(z):
    return torch.cat([z.sin(), z.square(), z[:, :1]], 1) + 3


def naive_gap(decode, Z, X, weight, pairs):
    total = 0.0
    for i, j in pairs:
        z = weight * Z[i] + (1 - weight) * Z[j]
        total += float((decode(z[None])[0] - weight * X[i] - (1 - weight) * X[j]).square().sum())
    return (total / len(pairs)) ** 0.5


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5])
def test_interpolation_gap_equals_a_loop_over_pairs(weight):
    Z, X = codes()
    every = list(itertools.product(range(10), repeat=2))
    some = [(0, 3), (7, 2), (2, 2)]
    assert interpolation_gap(bent, Z, X, weight) == pytest.approx(naive_gap(bent, Z, X, weight, every), rel=1e-12)
    found = interpolation_gap(bent, Z, X, weight, torch.tensor(some))
    assert found == pytest.approx(naive_gap(bent, Z, X, weight, some), rel=1e-12)


def test_bound_is_least_squares_and_the_root_of_what_linearity_leaves():
    Z, X = codes()
    A = torch.cat([Z, torch.ones(10, 1, dtype=F64)], 1)
    residual = X - A @ torch.linalg.lstsq(A, X).solution
    bound = interpolation_bound(Z, X)
    assert bound == pytest.approx(float(residual.square().sum(1).mean().sqrt()), rel=1e-12)
    spread = float((X - X.mean(0)).square().sum(1).mean())
    assert bound**2 == pytest.approx((1 - target_linearity(Z, X, ridge=0.0)) * spread, rel=1e-10)


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5, 1.0])
def test_proposition_3(weight):
    """The least-squares map interpolates at √(λ² + (1 − λ)²) of its reconstruction error; others depart from it."""
    Z, X = codes()
    bound = interpolation_bound(Z, X)
    gap = interpolation_gap(ols_decoder(Z, X), Z, X, weight)
    assert gap == pytest.approx((weight**2 + (1 - weight) ** 2) ** 0.5 * bound, rel=1e-10)
    split = interpolation_split(bent, Z, X, weight)
    assert split.linear == pytest.approx(gap, rel=1e-12)
    assert split.bound == bound
    assert split.gap == pytest.approx(interpolation_gap(bent, Z, X, weight), rel=1e-12)
    assert split.gap <= split.departure + split.linear
    assert split.linear <= split.bound * (1 + 1e-12)


def test_a_weight_outside_the_segment_is_refused():
    Z, X = codes()
    with pytest.raises(ValueError, match=r"weight must lie in \[0, 1\]"):
        interpolation_gap(bent, Z, X, 1.5)


def test_beta_vae_loss_is_its_distributions_divergence():
    X, D, mean, log_variance = normal(4, 3), normal(4, 3, seed=1), normal(4, 2, seed=2), normal(4, 2, seed=3)
    one = torch.distributions.Normal(mean, (log_variance / 2).exp())
    kl = torch.distributions.kl_divergence(one, torch.distributions.Normal(0.0, 1.0)).sum(1)
    assert_close(beta_vae_loss(X, D, mean, log_variance, beta=0.7), (X - D).square().sum(1) + 0.7 * kl)
