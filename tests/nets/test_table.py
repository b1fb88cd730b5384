"""The table of a report: measured columns only, numbers with a tone, and the modules that were not measured."""

import math

import pytest
import torch

from gramian.display import to_text
from gramian.nets import inspect
from gramian.nets.metrics import COLUMNS
from gramian.nets.table import SHOWN, headline, layer_table, measured_columns, report_section, skipped_lines
from nets.models import mlp, seeded

X = torch.randn(20, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_every_shown_column_is_a_column_of_the_report_and_groups_are_together():
    assert set(SHOWN) <= set(COLUMNS)
    groups = [column.group for column in SHOWN.values()]
    assert len(dict.fromkeys(groups)) == sum(a != b for a, b in zip(["", *groups], groups, strict=False))


def test_columns_without_a_number_are_left_out():
    rows = inspect(seeded(mlp), X).rows
    names = measured_columns(rows)
    assert "nfa_half_cos" in names
    assert "fact_cos" not in names
    assert "agop_error" not in names, "the AGOP is exact"
    table = layer_table(rows)
    assert [column.heading for column in table.columns[:3]] == ["layer", "type", "shape"]
    assert len(table.columns) == 3 + len(names)
    assert len(table.rows) == len(rows)


@pytest.mark.parametrize(
    ("name", "value", "text", "tone", "fill"),
    [
        ("nfa_half_cos", 0.95, "0.950", "good", 0.95),
        ("nfa_half_cos", 0.6, "0.600", "near", 0.6),
        ("nfa_half_cos", -0.2, "-0.200", "bad", -0.2),
        ("nfa_half_cos", math.nan, "–", None, None),
        ("fact_residual", 0.0123, "0.012", "good", None),
        ("fact_residual", 0.3, "0.3", "near", None),
        ("fact_residual", 150.0, "150", "bad", None),
        ("effective_rank", 1234.56, "1,234.6", None, None),
        ("agop_error", 0.0123, "1.2%", None, None),
    ],
)
def test_numbers_have_the_digits_and_the_tone_of_their_column(name, value, text, tone, fill):
    cell = SHOWN[name].cell(value)
    assert (cell.text, cell.tone, cell.fill) == (text, tone, fill)


def test_the_headline_names_what_was_measured():
    assert headline([{}] * 2, {"samples": 1000, "outputs": 3}) == "2 layers · 1,000 samples · 3 outputs"
    assert headline([], {"projections": 8, "outputs": 5000}).endswith("5,000 outputs (by 8 random projections)")


def test_skipped_modules_are_grouped_by_reason():
    lines = skipped_lines({**{f"m{i}": "shared" for i in range(6)}, "x": "unused"})
    assert lines == ["m0, m1, m2, m3 and 2 more: shared", "x: unused"]
    text = to_text([report_section(inspect(seeded(mlp), X).rows, {"x": "unused"}, {})])
    assert text.endswith("not measured  x: unused")
