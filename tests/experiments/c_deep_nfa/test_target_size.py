"""Targets of several sizes: the same target scaled, and networks that differ in nothing else."""

import pytest
import torch

from gramian.experiments.c_deep_nfa.target_size import SizedTargets, scaled, sized_targets

SPEC = SizedTargets(3, sizes=(1.0, 4.0), epochs=20, tail=2, rows=64)


def test_every_target_has_every_size_in_the_order_of_the_numbers():
    Y = torch.randn(2, 50, 1, generator=torch.Generator().manual_seed(0)) * torch.tensor([[[3.0]], [[0.1]]]) + 5
    made = scaled(Y, (1.0, 4.0))
    assert made.std((1, 2), correction=0).tolist() == pytest.approx([1.0, 4.0, 1.0, 4.0], rel=1e-5)
    torch.testing.assert_close(made[1], 4 * made[0])
    torch.testing.assert_close(made[2] / made[2].mean(), Y[1] / Y[1].mean())


def test_numbers_are_those_of_the_alignments():
    result = sized_targets(SPEC, 0)
    (a, b), (c, d) = result.arrays["L=3"]
    assert result.numbers["L=3: size 1"] == pytest.approx((a + c) / 2)
    assert result.numbers["L=3: size 4"] == pytest.approx((b + d) / 2)
    assert result.numbers["L=3: rise"] == pytest.approx((b - a + d - c) / 2)


def test_equal_sizes_have_equal_alignments():
    result = sized_targets(SizedTargets(3, sizes=(2.0, 2.0), epochs=20, tail=2, rows=64), 1)
    assert result.numbers["L=3: rise"] == pytest.approx(0, abs=1e-6)
