"""Rows in blocks: sums, results per row and selected rows do not depend on how the rows are cut."""

from dataclasses import replace

import pytest
import torch

from gramian.core.rows import MemoryRows, Rows, RowSource, SelectedColumns, SelectedRows


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


def test_copies_go_with_their_rows(rows):
    counted = replace(rows, copies=torch.arange(23, dtype=torch.float64))
    assert counted[torch.tensor([20, 3, 3])].copies.tolist() == [20, 3, 3]
    assert MemoryRows(counted).load().copies.tolist() == list(range(23))
    assert rows[torch.tensor([0])].copies is None


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


@pytest.mark.parametrize("block", [1, 7, 100])
def test_selected_rows_are_a_source_of_these_rows(rows, block):
    index = torch.tensor([0, 3, 4, 11, 22])
    selected, alone = SelectedRows(MemoryRows(rows, block), index), MemoryRows(rows[index], block)
    assert isinstance(selected, RowSource)
    assert (selected.n_rows, selected.n_columns, selected.n_outputs) == (5, 3, 2)
    at = selected.map(lambda b: torch.arange(b.start, b.start + len(b)))
    assert at.tolist() == [0, 1, 2, 3, 4]  # blocks begin at rows of the selection
    assert torch.equal(selected.map(lambda b: b.X), alone.map(lambda b: b.X))
    assert torch.equal(selected.take(torch.tensor([4, 0])).Y, rows.Y[[22, 0]])
    assert torch.equal(selected.load().weights, rows.weights[index])
    (found,), (expected,) = (source.reduce(lambda b: (b.X.mT @ b.Y,)) for source in (selected, alone))
    torch.testing.assert_close(found, expected)


def test_selected_columns_are_a_source_of_these_columns(rows):
    selected = SelectedColumns(MemoryRows(rows, 5), torch.tensor([True, False, True]))
    assert isinstance(selected, RowSource)
    assert (selected.n_rows, selected.n_columns, selected.n_outputs) == (23, 2, 2)
    assert torch.equal(selected.map(lambda b: b.X), rows.X[:, [0, 2]])
    assert torch.equal(selected.load().X, rows.X[:, [0, 2]])
    assert torch.equal(selected.load().Y, rows.Y)


def test_selections_can_be_nested(rows):
    inner = SelectedRows(MemoryRows(rows, 5), torch.arange(0, 23, 2))
    outer = SelectedRows(SelectedColumns(inner, torch.tensor([False, True, True])), torch.tensor([1, 11]))
    assert torch.equal(outer.load().X, rows.X[[2, 22]][:, 1:])
    assert torch.equal(outer.map(lambda b: b.X), rows.X[[2, 22]][:, 1:])


def test_a_selection_of_most_rows_is_as_small_as_what_it_leaves_out(rows):
    """A selection is sent to every worker of a cluster, so that it must not grow with the rows of the table."""
    index = torch.tensor([i for i in range(23) if i not in (4, 5, 22)])
    selected = SelectedRows(MemoryRows(rows, 5), index)
    assert selected.select.left_out.tolist() == [4, 5, 22]
    assert selected.select is selected.select, "an equal object with other tensors would be sent again"
    starts = selected.map(lambda b: torch.arange(b.start, b.start + len(b)))
    assert starts.tolist() == list(range(20))
    assert torch.equal(selected.map(lambda b: b.X), rows.X[index])
