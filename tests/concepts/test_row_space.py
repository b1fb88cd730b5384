"""Coordinates of the row space keep lengths and angles, and flattening is the same map for old and new rows."""

import pytest
import torch

from gramian.concepts.row_space import RowSpace


def rows(n, d, seed=0):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed)) * torch.linspace(3, 0.1, d) + 2


@pytest.mark.parametrize(("n", "d"), [(6, 20), (20, 6)])
def test_inner_products_and_vectors_are_those_of_the_rows(n, d):
    X = rows(n, d)
    space = RowSpace.of(X)
    assert space.Z.shape[1] == min(n - 1, d)
    centred = (X - X.mean(dim=0)).double()
    torch.testing.assert_close(space.gram, centred @ centred.mT, rtol=1e-4, atol=1e-4)
    W = torch.randn(space.Z.shape[1], 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    back = space.back(X, W).double()
    torch.testing.assert_close(centred @ back, space.Z @ W, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(back.mT @ back, W.mT @ W, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0])
def test_flattening_scales_each_principal_coordinate(power):
    X = rows(6, 20)
    space = RowSpace.of(X)
    flat = space.flattening(X, power).apply(X).double()
    Z = space.Z * space.gains(power)
    torch.testing.assert_close(flat @ flat.mT, Z @ Z.mT, rtol=1e-3, atol=1e-3)
    if power:
        before, after = space.values, Z.square().sum(dim=0)
        assert float(after.max() / after.min()) < float(before.max() / before.min())
    outside = rows(1, 20, seed=5)
    map_of = space.flattening(X, power)
    moved = map_of.apply(outside)
    assert torch.equal(map_of.apply(torch.cat([X, outside]))[-1:], moved)
    if not power:
        torch.testing.assert_close(moved, outside - X.mean(dim=0))
