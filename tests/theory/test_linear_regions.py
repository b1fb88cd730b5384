"""Lemma 4 of paper E: the linear regions on a segment, found exactly, against a fine grid and autograd."""

from itertools import pairwise

import pytest
import torch

from gramian.theory.linear_regions import segment_path

F64 = torch.float64


def network(rng, sizes):
    return [torch.randn(m, k, generator=rng, dtype=F64) / k**0.5 for k, m in pairwise(sizes)]


def output(weights, x):
    for W in weights[:-1]:
        x = torch.relu(W @ x)
    return (weights[-1] @ x).squeeze()


@pytest.mark.parametrize("sizes", [(3, 5, 1), (4, 6, 5, 1), (4, 5, 5, 5, 1)])
def test_the_pieces_are_those_of_a_fine_grid(rng, sizes):
    weights = network(rng, sizes)
    x, end = torch.randn(2, sizes[0], generator=rng, dtype=F64)
    path = segment_path(weights, x, end)
    found = []
    for t in torch.linspace(0, 1, 301, dtype=F64):
        point = (x + t * (end - x)).requires_grad_()
        (gradient,) = torch.autograd.grad(output(weights, point), point)
        piece = min(int((path.times <= t).sum()) - 1, len(path.gradients) - 1)
        if (path.times - t).abs().min() > 1e-9:
            torch.testing.assert_close(path.gradients[piece], gradient)
        if not found or not torch.allclose(found[-1], gradient, atol=1e-9):
            found.append(gradient)
    assert path.crossings >= len(found) - 1 > 0  # the grid may miss a narrow piece
    assert path.integral == pytest.approx(path.value, rel=1e-12)
    assert path.value == pytest.approx(float(output(weights, end)), rel=1e-12)


def test_the_remainder_is_within_the_bound_and_zero_in_one_region(rng):
    weights = network(rng, (4, 8, 8, 1))
    for _ in range(20):
        x, end = torch.randn(2, 4, generator=rng, dtype=F64)
        path = segment_path(weights, x, end)
        assert path.remainder <= path.bound * (1 + 1e-12)
    same = segment_path(weights, x, 2 * x)  # a ray lies in one region of a network without bias
    assert same.crossings == 0 == same.bound == same.largest_jump
    assert same.remainder == pytest.approx(0, abs=1e-12)


def test_a_unit_that_nothing_reads_makes_no_boundary(rng):
    W, a = torch.eye(2, dtype=F64), torch.tensor([[1.0, 0.0]], dtype=F64)
    x, end = torch.tensor([[1.0, -1.0], [2.0, 1.0]], dtype=F64)
    assert segment_path([W, a], x, end).crossings == 0


def test_the_last_weight_must_have_one_row(rng):
    with pytest.raises(ValueError, match="one row"):
        segment_path(network(rng, (3, 4, 2)), torch.zeros(3, dtype=F64), torch.ones(3, dtype=F64))
