"""Terminal tables and plain text: they fit the screen, and continue below where it is too narrow."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gramian.display import Bar, Cell, Column, Section, Table, bars, to_rich, to_text
from gramian.display.terminal import parts

NUMBERS = Table(
    ["layer", *(f"column {j}" for j in range(12))],
    [[f"encoder.{i}", *(f"{i}.{j:03d}" for j in range(12))] for i in range(3)],
)


def printed(sections, width, **options):
    stream = io.StringIO()
    Console(file=stream, width=width, **options).print(to_rich(sections))
    return stream.getvalue()


def test_a_table_that_fits_is_one_table():
    assert parts(NUMBERS, 300) == [NUMBERS]
    assert to_text([Section("title", NUMBERS)], width=300).count("layer") == 1


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_a_wide_table_continues_below_and_loses_nothing(width):
    text = to_text([Section("title", NUMBERS)], width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    words = text.split()
    for row in NUMBERS.rows:
        for cell in row[1:]:
            assert words.count(cell) == 1
    assert words.count("encoder.0") == words.count("layer") == len(parts(NUMBERS, width)) > 1


@given(st.integers(10, 120), st.integers(1, 3))
def test_parts_have_every_column_once_and_begin_with_the_keys(width, n_keys):
    table = Table([column.heading for column in NUMBERS.columns], NUMBERS.rows, n_keys)
    found = parts(table, width)
    assert [c for part in found for c in part.columns[n_keys:]] == list(table.columns[n_keys:])
    assert all(part.columns[:n_keys] == table.columns[:n_keys] for part in found)


def test_long_text_is_wrapped_and_numbers_are_not():
    status = "the matrix was not positive definite: a jitter of 1e-8 was added"
    table = Table(["round", "error", Column("status", align="left")], [["0", "123.456", status]])
    text = to_text([Section("", table)], 40)
    assert max(map(len, text.splitlines())) <= 40
    assert "123.456" in text
    assert "".join(status.split()) in "".join(text.replace("0  ", "").replace("123.456", "").split())


def test_a_name_that_is_longer_than_the_screen_is_folded_to_half_of_it():
    name = "x" * 100
    text = to_text([Section("", Table(["column", "share"], [[name, "0.5"]]))], 60)
    assert text.count("x") == 100
    assert max(map(len, text.splitlines())) <= 60


def test_sections_are_separated_by_a_line_and_notes_follow_their_table():
    table = Table(["", ""], [["rows", "60"]])
    text = to_text([Section("one", table, "first note\nsecond note"), Section("two", table)])
    assert text.splitlines() == ["one", "rows  60", "first note", "second note", "", "two", "rows  60"]


def test_bars_are_as_long_as_their_values():
    lines = to_text([Section("", Table(["name", ""], [["a", bar] for bar in bars([1.0, 0.5, -0.5])]))]).splitlines()[1:]
    assert [line.count("█") for line in lines] == [16, 8, 8]


def test_names_in_brackets_are_not_markup():
    assert "[bold]x[/]" in to_text([Section("[red]t", Table(["[b]", "v"], [["[bold]x[/]", "1"]]), "[dim]n")])


def test_tones_are_colours_on_a_terminal_only():
    table = Table(["a", "b", ""], [["x", Cell("0.5", "good"), Bar(1.0, 0.0, 1.0, tone="good")]])
    coloured = printed([Section("t", table)], 80, force_terminal=True, color_system="standard")
    assert "\x1b[32m0.5" in coloured
    assert "\x1b" not in printed([Section("t", table)], 80)
    assert "\x1b" not in to_text([Section("t", table)])
