"""Targets of low rank and the number of rows that they need."""

import math

import pytest
import torch

from gramian.experiments.b_rfm import sample_complexity as s


@pytest.mark.parametrize("rank", [2, 4])
@pytest.mark.parametrize("degree", [2, 3])
def test_the_expected_gradient_outer_product_is_that_of_autograd(degree, rank):
    rng = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(5, rank, generator=rng, dtype=torch.float64)).Q
    X = torch.randn(60_000, 5, generator=rng, dtype=torch.float64).requires_grad_()
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


def test_a_target_that_is_not_learned_needs_infinitely_many_rows():
    rng = torch.Generator().manual_seed(1)
    X, y = (torch.randn(*shape, generator=rng, dtype=torch.float64) for shape in ((140, 3), (140,)))
    assert s.rows_needed(X, y, 100, 2, 40) == math.inf


def records_of(*rows):
    """Records of degree 2 from columns, rank, rows needed on x and on transformed x."""
    return [
        {
            "spec": vars(spec := s.PolynomialTarget(2, d, rank=rank)),
            "numbers": {f"plain/{spec.key}": plain, f"transformed/{spec.key}": transformed},
        }
        for d, rank, plain, transformed in rows
    ]


def test_growth_needs_two_sizes():
    records = records_of(*((d, 2, (d + 2) * (d + 1) / 2, 6.0) for d in (5, 10, 20)))
    assert s.growth(records[:1]) == {}
    found = s.growth(records)
    assert found["slope/plain/2"] == pytest.approx(1)
    assert found["slope/transformed/2"] == pytest.approx(0, abs=1e-12)
    assert "slope/rank/2" not in found


def test_growth_with_the_rank_is_that_of_the_targets_with_as_many_columns():
    ranks = ((20, r, 231.0, (r + 2) * (r + 1) / 2) for r in (2, 4, 8))
    found = s.growth(records_of((10, 2, 66.0, 99.0), *ranks))
    assert found["slope/rank/2"] == pytest.approx(1)
    assert found["slope/plain/2"] == pytest.approx(1)


def test_a_slope_is_infinite_if_one_target_is_not_learned():
    found = s.growth(records_of((5, 2, 21.0, 6.0), (10, 2, math.inf, 6.0)))
    assert found["slope/plain/2"] == math.inf
    assert found["slope/transformed/2"] == pytest.approx(0, abs=1e-12)
