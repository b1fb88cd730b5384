"""Targets of low rank and the number of rows that they need."""

import pytest
import torch

from gramian.experiments.b_rfm import sample_complexity as s


@pytest.mark.parametrize("degree", [2, 3])
def test_the_expected_gradient_outer_product_is_that_of_autograd(degree):
    rng = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(4, 2, generator=rng, dtype=torch.float64)).Q
    X = torch.randn(60_000, 4, generator=rng, dtype=torch.float64).requires_grad_()
    (G,) = torch.autograd.grad(s.target(X @ basis, degree).sum(), X)
    M = s.target_egop(basis, degree)
    assert float((G.mT @ G / len(G) - M).norm() / M.norm()) < 0.05


def test_a_polynomial_kernel_recovers_its_polynomial_with_enough_rows_and_not_with_few():
    X = torch.randn(140, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = s.target(X[:, :2], 2)
    assert s.r2_of_rows(X, y, 10, 100, 2) > 0.999  # C(3 + 2, 2) = 10 monomials
    assert s.r2_of_rows(X, y, 5, 100, 2) < 0.9
    assert 5 < s.rows_needed(X, y, 100, 2, 20) <= 10


def test_another_degree_is_refused():
    with pytest.raises(ValueError, match="degree must be 2 or 3, got 4"):
        s.target(torch.ones(1, 2), 4)


def test_growth_needs_two_sizes():
    records = [
        {"spec": {"degree": 2, "d": d}, "numbers": {f"plain/2/{d}": (d + 2) * (d + 1) / 2, f"transformed/2/{d}": 6.0}}
        for d in (5, 10, 20)
    ]
    assert s.growth(records[:1]) == {}
    found = s.growth(records)
    assert found["slope/plain/2"] == pytest.approx(1)
    assert found["slope/transformed/2"] == pytest.approx(0, abs=1e-12)
