"""Rows in blocks: sums, things kept per row and rows taken do not depend on how the rows are cut."""

import pytest
import torch

from gramian.core.rows import MemoryRows, Rows, RowSource


@pytest.fixture
def rows(rng):
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    return Rows(draw(23, 3), draw(23, 2), draw(23).abs())


@pytest.mark.parametrize("block", [1, 7, 23, 100])
def test_the_sum_over_blocks_is_the_sum_over_rows(rows, block):
    source = MemoryRows(rows, block)
    assert isinstance(source, RowSource)
    assert (source.n_rows, source.n_columns, source.n_outputs) == (23, 3, 2)
    second, weight = source.reduce(lambda b: (b.X.mT @ (b.weights[:, None] * b.Y), b.weights.sum()))
    torch.testing.assert_close(second, rows.X.mT @ (rows.weights[:, None] * rows.Y))
    torch.testing.assert_close(weight, rows.weights.sum())


def test_blocks_know_where_they_begin_and_map_keeps_the_order(rows):
    source = MemoryRows(rows, 5)
    at = source.map(lambda b, shift: torch.arange(b.start, b.start + len(b)) + shift, 100)
    assert at.tolist() == list(range(100, 123))


def test_rows_are_taken_in_the_order_asked_for(rows):
    taken = MemoryRows(rows, 5).take(torch.tensor([20, 3, 3]))
    assert torch.equal(taken.X, rows.X[[20, 3, 3]])
    assert torch.equal(taken.Y, rows.Y[[20, 3, 3]])
    assert torch.equal(taken.weights, rows.weights[[20, 3, 3]])


def test_float32_parts_are_added_in_float64():
    """A million times 0.1 in float32 is off in the third digit; here only the format of each part counts."""
    source = MemoryRows(Rows(torch.full((100_000, 1), 0.1), torch.zeros(100_000, 1)), block=1000)
    (total,) = source.reduce(lambda b: (b.X.double().sum().float(),))
    assert total.dtype == torch.float64
    assert float(total) == pytest.approx(10_000.0, rel=1e-6)


def test_a_sum_does_not_write_into_what_a_function_gave(rows):
    kept = torch.ones(2, dtype=torch.float64)
    MemoryRows(rows, 5).reduce(lambda _: (kept,))
    assert torch.equal(kept, torch.ones(2, dtype=torch.float64))
