"""Tables as data: bars on an axis, columns from headings, parts of a table."""

import dataclasses
import math

import pytest

from gramian.display import Bar, Cell, Column, Section, Table, bars


def test_bars_share_an_axis_that_contains_zero():
    made = bars([3.0, -1.0, math.nan])
    assert [(bar.low, bar.high) for bar in made] == [(-1.0, 3.0)] * 3
    assert [bar.span for bar in made] == [(0.25, 1.0), (0.0, 0.25), (0.25, 0.25)]
    assert bars([0.0])[0].span == (0.0, 0.0)
    assert bars([]) == []


def test_a_position_is_limited_to_the_axis():
    bar = Bar(1.0, 0.0, 2.0, ends=(-1.0, 3.0))
    assert [bar.position(value) for value in (-1.0, 1.0, 3.0, math.inf)] == [0.0, 0.5, 1.0, 0.0]


def test_a_heading_is_a_column_and_keys_are_aligned_to_the_left():
    table = Table(["layer", "shape", Column("status", align="left")], [], n_keys=2)
    assert [column.align for column in table.columns] == ["left", "left", "left"]
    assert [column.align for column in Table(["a", "b"], []).columns] == ["left", "right"]
    assert table.has_headings
    assert not Table(["", ""], []).has_headings


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        Table(["a", "b"], [["x"]])


def test_tables_are_values():
    table = Table(["a", "b"], [["x", Cell("1", "good", 0.5)]])
    assert table == Table(["a", "b"], [("x", Cell("1", "good", 0.5))])
    assert dataclasses.replace(table, n_keys=2).n_keys == 2
    assert table.part([1]).rows == ((Cell("1", "good", 0.5),),)
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.n_keys = 2
    assert dataclasses.replace(Section("a", table), title="b") == Section("b", table)
