"""Random matrices have the laws that they state."""

import pytest
import torch
from torch.testing import assert_close

from gramian.theory import (
    decaying_gaussian,
    decaying_spectrum,
    haar,
    same_spectrum,
)
from theory.draws import F64, generator


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
