"""Shares as bars: the largest first, the rest added up, known columns marked."""

from gramian.cli.shares import share_table
from gramian.display import Bar, Section, to_text


def test_the_largest_share_has_the_longest_bar_and_the_rest_is_added_up():
    table = share_table({"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05}, top=2)
    bars = [cell for row in table.rows for cell in row if isinstance(cell, Bar)]
    assert [bar.span for bar in bars] == [(0.0, 1.0), (0.0, 0.6)]
    text = to_text([Section("", table)])
    assert "2 more columns" in text
    assert "20.0%" in text


def test_shares_that_would_read_as_zero_are_not_listed():
    assert len(share_table({"a": 0.9999, "b": 0.0001, "c": 0.0}).rows) == 2
    assert len(share_table({"a": 0.0, "b": 0.0}).rows) == 2, "one column is always listed"


def test_known_columns_are_marked():
    rows = share_table({"a": 0.6, "b": 0.4}, marked={"b"}).rows
    assert [row[3].text for row in rows] == ["", "✓"]
    assert [row[1].tone for row in rows] == [None, "good"]
