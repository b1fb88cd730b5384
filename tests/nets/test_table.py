"""The table of a report: measured columns only, numbers with a tone, skipped modules; as text and as HTML."""

import io
import math

import pytest
import torch
from rich.console import Console
from torch import nn

from gramian.display import to_text
from gramian.nets import InspectOptions, inspect
from gramian.nets.columns import COLUMNS
from gramian.nets.table import SHOWN, headline, layer_table, measured_columns, report_section, skipped_by_reason
from nets.models import INPUTS, LABELS, full_report, mlp, seeded

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
        ("fact_cos", 0.95, "0.950", "good", 0.95),
        ("fact_cos", 0.6, "0.600", "near", 0.6),
        ("fact_cos", -0.2, "-0.200", "bad", -0.2),
        ("nfa_half_cos", 0.95, "0.950", None, 0.95),
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


@pytest.mark.parametrize(("chance", "tone"), [(0.1, "good"), (0.7, "near"), (0.79, "bad"), (0.9, "bad"), (1.0, "bad")])
def test_a_cosine_stands_beside_its_value_by_chance_and_is_judged_by_it(chance, tone):
    cell = SHOWN["nfa_half_cos"].cell(0.8, chance)
    assert (cell.text, cell.tone, cell.sort) == (f"0.800 ({chance:.2f})", tone, 0.8)


def test_chosen_columns_are_shown_and_others_not_measured():
    options = InspectOptions(columns=["stationarity", "spectrum"])
    report = inspect(seeded(mlp), (INPUTS, LABELS), "cross_entropy", weight_decay=0.1, options=options)
    text = str(report)
    assert "stationarity" in text
    assert "top share" in text
    assert "NFA" not in text
    sums = report.record("0").sums
    assert sums.loss is None
    assert sums.gradient is not None
    assert sums.stored_side == "input", "the smaller side"
    whole = full_report()
    assert report.rows[0]["stationarity"] == pytest.approx(whole.rows[0]["stationarity"])
    assert math.isnan(report.rows[0]["target_linearity"])
    with pytest.raises(ValueError, match="neither a column nor a group"):
        InspectOptions(columns="fakt")


def test_the_headline_names_what_was_measured():
    assert headline([{}] * 2, {"samples": 1000, "outputs": 3}) == "2 layers · 1,000 samples · 3 outputs"
    assert headline([], {"projections": 8, "outputs": 5000}).endswith("5,000 outputs (by 8 random projections)")


def test_skipped_modules_are_grouped_by_reason():
    pairs = skipped_by_reason({**{f"m{i}": "shared" for i in range(6)}, "x": "unused"})
    assert pairs == [("m0, m1, m2, m3 and 2 more", "shared"), ("x", "unused")]
    text = to_text([report_section(inspect(seeded(mlp), X).rows, {"x": "unused"}, {})])
    assert text.endswith("not measured  x: unused")


def test_tables_show_what_was_measured():
    report = full_report()
    frame = report.to_pandas()
    assert list(frame.index) == report.layers
    assert set(report.describe()) == {"layer", *frame.columns}
    text, page = str(report), report._repr_html_()
    for words in ("FACT", "C-NFA", "NC1", "20 samples", "cross_entropy"):
        assert words in text
        assert words in page
    assert 'title="‖FACT − WᵀW‖ / ‖WᵀW‖: 0 at a stationary point"' in page
    plain = inspect(seeded(mlp), INPUTS)
    assert "FACT" not in str(plain)
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(report)
    assert "FACT" in console.export_text()
    narrow = Console(width=70, record=True, file=io.StringIO())
    narrow.print(report)
    text = narrow.export_text()
    assert "…" not in text
    for words in ("NFA s=½", "FACT", "imbalance"):
        assert words in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 70
    assert repr(report) == "FeatureReport(3 layers, 20 samples)"
    flat = report.metrics("net/")
    assert flat["net/0/fact_cos"] == report.rows[0]["fact_cos"]
    assert all(isinstance(value, float) and not math.isnan(value) for value in flat.values())


def test_html_is_escaped():
    class Bad(nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module("<b>", nn.Linear(5, 2))

        def forward(self, x):
            return self._modules["<b>"](x)

    page = inspect(seeded(Bad), INPUTS)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
