"""The ℓp kernels: equal to the Euclidean ones where they must be, exact where float32 is in danger, cut anyhow."""

import pytest
import torch

import twins
from gramian.kernels import Exponential, KernelOperator, Lp, gradient_moments, lp

POWERS = [1.0, 1.3, 1.5, 2.0]
TABLE = (64, 5)


@pytest.fixture
def table(rng):
    """Ties in every column, a pair of equal rows and a near pair: what tables are made of."""
    X = torch.randn(*TABLE, generator=rng)
    X[:, 1] = X[:, 1].round()
    X[:, 2] = (X[:, 2] > 0).float()
    X[1] = X[0]
    X[3] = X[2] + 1e-5 * torch.randn(TABLE[1], generator=rng)
    return X


@pytest.mark.parametrize("exponent", [0.7, 1.0, 2.0])
@pytest.mark.parametrize("metric", ["identity", "diagonal"])
def test_p_two_is_the_exponential_kernel(rng, exponent, metric):
    X, coef = torch.randn(40, 4, generator=rng).double(), torch.randn(40, 2, generator=rng).double()
    metric = twins.metric(metric, 4, rng)
    ours, theirs = (KernelOperator(k, X, metric) for k in (Lp(1.5, 2.0, exponent), Exponential(1.5, exponent=exponent)))
    torch.testing.assert_close(ours.dense(), theirs.dense(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ours.gradient(X, coef), theirs.gradient(X, coef), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("p", POWERS)
def test_on_one_column_every_p_is_the_same_kernel(rng, p):
    X, coef = torch.randn(40, 1, generator=rng).double(), torch.randn(40, 2, generator=rng).double()
    ours, theirs = KernelOperator(Lp(1.5, p, 1.0), X), KernelOperator(Exponential(1.5, exponent=1.0), X)
    torch.testing.assert_close(ours.dense(), theirs.dense(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ours.gradient(X, coef), theirs.gradient(X, coef), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("p", POWERS)
def test_ties_equal_rows_and_near_pairs_in_float32(table, rng, p):
    coef = torch.randn(TABLE[0], 2, generator=rng)
    kernel = Lp(2.0, p)
    narrow, wide = KernelOperator(kernel, table), KernelOperator(kernel, table.double())
    u = narrow.points
    assert float(kernel.distance(u, u).diagonal().abs().max()) == 0.0
    assert float(kernel.distance(u[:1], u[1:2])) == 0.0
    twin = (u.u[2].double() - u.u[3].double()).abs().pow(p).sum().pow(1 / p)
    torch.testing.assert_close(kernel.distance(u[2:3], u[3:4]).double().squeeze(), twin, rtol=1e-5, atol=0)
    torch.testing.assert_close(narrow.dense().double(), wide.dense(), rtol=1e-5, atol=1e-6)
    # both operators centre the rows on their own, which moves a gap of 1e-5 by a hundredth
    torch.testing.assert_close(narrow.gradient(table, coef).double(), wide.gradient(table.double(), coef.double()),
                               rtol=3e-2, atol=3e-2)  # fmt: skip
    torch.testing.assert_close(
        narrow.gradient(table[4:], coef).double(),
        wide.gradient(table[4:].double(), coef.double()),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("p", POWERS)
def test_pieces_of_any_size_give_the_same(table, rng, p, monkeypatch):
    coef = torch.randn(TABLE[0], 3, generator=rng)
    operator = KernelOperator(Lp(2.0, p), table)
    dense, gradient = operator.dense(), operator.gradient(table, coef)
    monkeypatch.setattr(lp, "_TILE", 5 * TABLE[0])
    monkeypatch.setattr(lp, "_CUBE", 7 * TABLE[0] * TABLE[1])
    torch.testing.assert_close(operator.dense(), dense, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(operator.gradient(table, coef), gradient, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("p", POWERS)
def test_a_tile_serves_both_of_its_sides(rng, p):
    """Moments visit tiles above the diagonal only, with several of them here; the gradients visit all."""
    X, coef = torch.randn(300, 4, generator=rng).double(), torch.randn(300, 2, generator=rng).double()
    operator = KernelOperator(Lp(2.0, p), X, max_bytes=2**17)
    assert operator.tile < 300
    G = operator.gradient(X, coef)
    moments = gradient_moments(operator, coef)
    torch.testing.assert_close(moments.second, torch.einsum("nck,ncl->kl", G, G), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(moments.mean, G.mean(0), rtol=1e-9, atol=1e-12)
    x, z = operator.points[:100], operator.points[100:]
    for both, alone in zip(
        operator.kernel.mutual_gradients(x, z, coef[:100], coef[100:]),
        (operator.kernel.gradient(x, z, coef[100:]), operator.kernel.gradient(z, x, coef[:100])),
        strict=True,
    ):
        torch.testing.assert_close(both, alone, rtol=1e-9, atol=1e-12)
