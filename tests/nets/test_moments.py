"""Streamed moments: every side equals the sum over all rows, for any batches."""

import pytest
import torch

from gramian.nets.moments import FirstMoment, SecondMoment, make_probes


def rows(n, groups, m, seed=1, dtype=torch.float64):
    return torch.randn(n, groups, m, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize(("groups", "m", "k"), [(1, 4, 3), (2, 4, 3), (1, 520, 3), (1, 3, 520)])
@pytest.mark.parametrize("side", ["output", "input"])
def test_second_moment_is_the_sum_of_outer_products(groups, m, k, side):
    W = rows(groups, m, k, seed=2)
    moment = SecondMoment(W, side)
    D = rows(5000, groups, m)
    for batch in D.split(1700):  # more rows than the buffer holds, and a rest
        for part in batch.split(300):
            moment.add(part)
        moment.flush()
    moment.finish()
    mapped = D if side == "output" else torch.einsum("ngm,gmk->ngk", D, W)
    torch.testing.assert_close(moment.total, torch.einsum("ngi,ngj->gij", mapped, mapped), rtol=1e-9, atol=1e-9)
    assert torch.equal(moment.total, moment.total.mT)


def test_a_sketch_holds_the_products_with_both_probes(rng):
    W, D = rows(1, 6, 5, seed=2), rows(40, 1, 6)
    probes = make_probes(6, 5, 3, rng)
    moment = SecondMoment(W, "sketch", probes)
    moment.add(D)
    moment.finish()
    S = D[:, 0].mT @ D[:, 0]
    expected = torch.cat([S @ W[0] @ probes.input, S @ probes.output], 1)
    torch.testing.assert_close(moment.total[0], expected)
    with pytest.raises(ValueError, match="probes"):
        SecondMoment(W, "sketch")


def test_half_precision_is_summed_in_a_wider_format():
    D = rows(4000, 1, 2).bfloat16()
    second, first = SecondMoment(torch.eye(2)[None], "output"), FirstMoment(1, 1, 2)
    second.add(D)
    second.finish()
    first.add(0, D)
    exact = D.double()
    torch.testing.assert_close(second.total, torch.einsum("ngi,ngj->gij", exact, exact), rtol=1e-5, atol=1e-2)
    torch.testing.assert_close(first.total[0], exact.sum(0), rtol=1e-5, atol=1e-2)
