"""Targets and data sets of paper A."""

import pytest
import torch
from torch.testing import assert_close

from gramian.features import agop
from gramian.theory import (
    alignment_reversing,
    chain_monomial,
    chain_monomial_egop,
    data_moments,
    decaying_gaussian,
    decaying_spectrum,
    early_alignment,
    haar,
    predicted_alignment,
    same_spectrum,
    sample_quadratic,
    sum_of_squares,
    weight_moments,
)

F64 = torch.float64


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_chain_monomial_by_its_sum(rank):
    X = torch.randn(7, 6, generator=generator(), dtype=F64)
    y = [sum(x[k % rank] * x[(k + 1) % rank] for k in range(1, rank + 1)) for x in X]
    assert_close(chain_monomial(X, rank), torch.stack(y))


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_chain_monomial_egop_by_autograd(rank):
    """Mean of 40,000 gradients; entries are O(4) with standard error below 0.04, so 0.2 is five of them."""
    X = torch.randn(40_000, 6, generator=generator(1), dtype=F64).requires_grad_()
    (G,) = torch.autograd.grad(chain_monomial(X, rank).sum(), X)
    egop = chain_monomial_egop(6, rank)
    assert_close(agop(G[:, None]), egop, atol=0.2, rtol=0)
    assert torch.linalg.matrix_rank(egop) <= rank


def test_sum_of_squares_is_its_quadratic_form():
    rng = generator(2)
    X, Q = torch.randn(5, 3, generator=rng, dtype=F64), torch.randn(4, 3, generator=rng, dtype=F64)
    assert_close(sum_of_squares(X, Q), torch.einsum("ni,ij,nj->n", X, Q.mT @ Q, X))


@pytest.mark.parametrize("rank", [0, 4])
def test_rank_out_of_range_is_refused(rank):
    with pytest.raises(ValueError, match="rank"):
        chain_monomial(torch.ones(2, 3), rank)
    with pytest.raises(ValueError, match="rank"):
        chain_monomial_egop(3, rank)


def test_haar_is_orthogonal_and_has_no_preferred_direction():
    """Under Haar measure ``E[Q₁₁] = 0``; a plain QR without the sign rule fails this by many errors."""
    rng = generator(3)
    first = torch.tensor([haar(3, rng)[0, 0].item() for _ in range(2000)])
    assert abs(first.mean()) < 5 * first.std() / 2000**0.5
    # E[Q₁₁²] = 1/m
    assert (first**2).mean() == pytest.approx(1 / 3, abs=5 * (first**2).std().item() / 2000**0.5)
    Q = haar(5, rng, columns=2)
    assert_close(Q.mT @ Q, torch.eye(2, dtype=F64))
    with pytest.raises(ValueError, match="leading columns"):
        haar(2, rng, columns=3)


def test_same_spectrum_keeps_eigenvalues_and_forgets_eigenvectors():
    """Averaged over the rotation, any K becomes its mean eigenvalue times the identity."""
    rng = generator(9)
    K = torch.diag(torch.tensor([4.0, 1.0, 1.0], dtype=F64))
    draws = torch.stack([same_spectrum(K, rng) for _ in range(2000)])
    assert_close(torch.linalg.eigvalsh(draws[0]), torch.linalg.eigvalsh(K))
    z = (draws.mean(0) - 2 * torch.eye(3, dtype=F64)).abs() / (draws.std(0) / 2000**0.5)
    assert z.max() < 5


@pytest.mark.parametrize("alpha", [0.0, 1.0, 3.0])
def test_decaying_gaussian_has_its_covariance(alpha):
    X, C = decaying_gaussian(50_000, 5, alpha, generator(4))
    assert_close(torch.linalg.eigvalsh(C).flip(0), decaying_spectrum(5, alpha))
    # The standard error of a covariance entry is at most √2 λ₁/√n, here 0.0032.
    assert_close(X.mT @ X / len(X), C, atol=5 * 2**0.5 * 0.5 / len(X) ** 0.5, rtol=0)


def test_decay_has_its_two_limits():
    assert_close(decaying_spectrum(4, 0.0), torch.full((4,), 0.5, dtype=F64))
    assert_close(decaying_spectrum(4, 200.0), torch.tensor([0.5, 0, 0, 0], dtype=F64), atol=1e-12, rtol=0)


@pytest.mark.parametrize("balance", [0.1, 0.5, 0.8])
def test_reversing_block_is_the_inverse_square(balance):
    """Without noise ``X₂ᵀX₂ (X₁ᵀX₁)² `` is the projector on the directions in which the inverse was taken."""
    n, d = 40, 40
    X, y = alignment_reversing(n, d, balance, generator(5), noise=0.0, label_shift=0.0)
    n1 = round(balance * n)
    assert y.tolist() == [1.0] * n1 + [0.0] * (n - n1)
    G1, G2 = X[:n1].mT @ X[:n1], X[n1:].mT @ X[n1:]
    P = G1 @ G2 @ G1
    assert_close(P @ P, P, atol=1e-6, rtol=0)
    assert P.trace().item() == pytest.approx(min(n1, n - n1), abs=1e-6)


def test_reversing_first_block_has_its_covariance():
    X, _ = alignment_reversing(20_000, 3, 1.0, generator(6), noise=0.0)
    assert_close(X.mT @ X / len(X), 1 + 0.5 * torch.eye(3, dtype=F64), atol=0.08, rtol=0)


def test_reversing_as_printed_does_not_reverse():
    """The all-ones direction carries d times the variance of any other and rules both matrices."""
    rng = generator(7)
    for balance in (0.05, 0.3, 0.9):
        X, y = alignment_reversing(256, 256, balance, rng)
        R = sample_quadratic(256, 256, rng).weight_kernel()
        assert early_alignment(X, y, R) > 0.999


def test_reversing_with_a_spike_of_the_size_of_the_rest_does():
    """d = n = k = 300: the alignment falls from 0.95 to below 0.85, and the prediction follows.

    One network scatters by about 0.015 around its prediction; the mean of four is held to 0.03.
    """
    rng = generator(8)
    d = 300
    observed = {}
    for balance in (0.02, 0.3):
        X, y = alignment_reversing(d, d, balance, rng, spike=1 / d, scale=d**-0.5)
        kernels = [sample_quadratic(d, d, rng).weight_kernel() for _ in range(4)]
        observed[balance] = sum(early_alignment(X, y, R) for R in kernels) / 4
        predicted = sum(predicted_alignment(data_moments(X, y), weight_moments(R)) for R in kernels) / 4
        assert predicted == pytest.approx(observed[balance], abs=0.03)
    assert observed[0.3] < 0.85 < observed[0.02]


def test_balance_out_of_range_is_refused():
    for balance in (0.0, 1.5):
        with pytest.raises(ValueError, match="balance"):
            alignment_reversing(4, 4, balance, generator())
