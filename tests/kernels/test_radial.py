"""Kernel values and gradients that are sensitive to rounding in float32."""

import pytest
import torch

import twins
from gramian.kernels import Exponential, Gaussian, KernelOperator, Laplace, Lp, Matern, as_metric

RADIAL = [Laplace(1.0), Gaussian(1.0), Exponential(1.0, 0.7), Matern(1.0, 1.5), Matern(1.0, 2.5), Lp(1.0)]


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_the_diagonal_is_exactly_one_in_float32(kernel, rng):
    X = 100 * torch.randn(2000, 8, generator=rng)
    assert torch.equal(KernelOperator(kernel, X).dense().diagonal(), torch.ones(2000))
    # also where the equal row is not known to be the same one
    metric = (
        as_metric(torch.rand(8, generator=rng)) if kernel.needs_axis_aligned_metric else twins.metric("full", 8, rng)
    )
    operator = KernelOperator(kernel, X, metric)
    ones = torch.zeros(2000, 1)
    ones[1234] = 1
    assert float(operator.predict(X[1234:1235], ones)) == 1.0


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_an_offset_of_a_million_does_not_change_values(kernel, rng):
    """Coordinates on a grid that float32 can hold at 1e6: differences are exact, and so must be the kernel."""
    steps = torch.randint(-64, 64, (200, 5), generator=rng).float() / 8
    torch.testing.assert_close(kernel(steps + 2.0**20), kernel(steps), rtol=1e-5, atol=1e-6)


def test_gradients_of_near_pairs_in_float32(rng):
    """Two rows 1e-5 apart pull with full force in float64; float32 must not turn that into noise."""
    X = torch.randn(40, 6, generator=rng)
    X[1] = X[0] + 1e-5 * torch.randn(6, generator=rng)
    coef = torch.randn(40, 2, generator=rng, dtype=torch.float64)
    narrow = KernelOperator(Laplace(2.0), X).gradient(X, coef)
    wide = KernelOperator(Laplace(2.0), X.double()).gradient(X.double(), coef)
    torch.testing.assert_close(narrow.double(), wide, rtol=1e-3, atol=1e-4)


def test_rows_at_distance_zero_give_finite_gradients(rng):
    """A metric that sees one coordinate puts many rows at distance zero."""
    X = torch.sign(torch.randn(100, 5, generator=rng))
    operator = KernelOperator(Laplace(1.0), X, as_metric(torch.tensor([1.0, 0, 0, 0, 0])))
    G = operator.gradient(X, torch.ones(100, 1))
    assert torch.isfinite(G).all()
    assert torch.equal(G[:, :, 1:], torch.zeros_like(G[:, :, 1:]))
