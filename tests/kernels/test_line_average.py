"""The mean gradient along a line knows jumps and adds up."""

import pytest
import torch

from gramian.kernels import KernelOperator, Laplace, Lp
from gramian.kernels.line_average import mean_power_gradient


@pytest.fixture
def case(rng):
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    return draw(2, 5), draw(3000, 5), draw(3000, 2)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (1, 0.5), (1.5, 1.5), (1.3, 0.9), (2, 1)])
@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_parts_add_up_however_few_the_pieces(case, p, q, pieces):
    """3,000 rows are more than one block, so blocks are seen to add up as well."""
    ends, v, coef = case
    mean = mean_power_gradient(ends, v, coef, p, q, 2.0, pieces)
    K = Lp(2.0, p, q)
    f = K(ends, v) @ coef
    torch.testing.assert_close(mean @ (ends[1] - ends[0]), f[1] - f[0], rtol=1e-8, atol=1e-8)


def test_pieces_converge_and_euclid_agrees_with_nodes(case):
    ends, v, coef = case
    fine = mean_power_gradient(ends, v, coef, 2, 1, 2.0, 800)
    nodes = KernelOperator(Laplace(2.0), v).mean_gradient(ends, coef, 256)
    scale = float(fine.abs().max())
    assert float((fine - nodes).abs().max()) < 1e-3 * scale
    error = [
        float((mean_power_gradient(ends, v, coef, 1, 1, 2.0, k) - _l1(ends, v, coef)).abs().max()) for k in (8, 32)
    ]
    assert error[1] < error[0] / 8  # second order: 16 in the limit


def _l1(ends, v, coef):
    return mean_power_gradient(ends, v, coef, 1, 1, 2.0, 2000)


def test_a_coordinate_that_stays_and_a_row_on_the_line(case):
    ends, v, coef = case
    ends, v = ends.clone(), v.clone()
    ends[1, 2] = ends[0, 2]
    v[0], v[1], v[2] = ends[0], ends[1], ends.mean(dim=0)
    mean = mean_power_gradient(ends, v, coef, 1, 1, 2.0, 7)
    assert torch.isfinite(mean).all()
    assert not mean[:, 2].any()
    f = Lp(2.0)(ends, v) @ coef
    torch.testing.assert_close(mean @ (ends[1] - ends[0]), f[1] - f[0], rtol=1e-8, atol=1e-8)


def test_no_way_has_no_gradient(case):
    ends, v, coef = case
    assert not mean_power_gradient(ends[[0, 0]], v, coef, 1.5, 1, 2.0, 4).any()


def test_float32_rows_are_summed_in_float64(case):
    ends, v, coef = (part.float() for part in case)
    mean = mean_power_gradient(ends, v, coef, 1, 1, 2.0, 8)
    assert mean.dtype == torch.float64
    torch.testing.assert_close(mean, mean_power_gradient(ends.double(), v.double(), coef.double(), 1, 1, 2.0, 8))
