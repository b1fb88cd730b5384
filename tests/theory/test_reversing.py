"""The alignment-reversing data of paper A, as printed and with a spike that shows the effect."""

import pytest
import torch
from torch.testing import assert_close

from gramian.theory import (
    alignment_reversing,
    data_moments,
    early_alignment,
    predicted_alignment,
    sample_quadratic,
    weight_moments,
)
from theory.draws import F64, generator


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
