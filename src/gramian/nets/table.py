"""The table of a report on a network: one row per layer, and the columns in which something was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from gramian.display import Cell, Column, Entry, Section, Table, format_fixed, format_number, format_percent
from gramian.display.table import Tone
from gramian.nets.metrics import COLUMNS

Row = Mapping[str, float | int | str]
_NAMED_MODULES = 4
"""The skipped modules that are named for each reason; the others are counted."""


@dataclass(frozen=True)
class LayerColumn:
    """A column of numbers: its heading, its group, its number format, and which of its values are good.

    ``good="high"`` marks alignments, for which 1 is perfect, and ``good="low"`` residuals, for which 0 is.
    """

    heading: str
    group: str
    form: Callable[[float], str]
    good: Literal["high", "low"] | None = None

    def cell(self, value: float) -> Cell:
        """Return a value as a cell: a dash where nothing was measured, else a number with a tone.

        >>> SHOWN["fact_cos"].cell(0.95)
        Cell(text='0.950', tone='good', fill=0.95, sort=0.95, markup='')
        """
        if math.isnan(value):
            return Cell(self.form(value))
        if self.good is None:
            return Cell(self.form(value), sort=value)
        if self.good == "high":
            return Cell(self.form(value), _tone(value >= 0.9, value >= 0.5), fill=value, sort=value)
        return Cell(self.form(value), _tone(value <= 0.05, value <= 0.5), sort=value)


_COSINES, _CONVERGENCE, _RANKS, _FEATURES = "WᵀW ~ AGOPˢ (cosine)", "convergence", "effective rank", "features"
_tenths, _hundredths = partial(format_fixed, decimals=1), partial(format_fixed, decimals=2)
_two_digits = partial(format_number, digits=2)

SHOWN: dict[str, LayerColumn] = {
    "nfa_half_cos": LayerColumn("NFA s=½", _COSINES, format_fixed, "high"),
    "nfa_depth_cos": LayerColumn("s=1/L", _COSINES, format_fixed, "high"),
    "nfa_best_cos": LayerColumn("best", _COSINES, format_fixed, "high"),
    "best_power": LayerColumn("at s", _COSINES, _hundredths),
    "c_nfa_cos": LayerColumn("C-NFA", _COSINES, format_fixed, "high"),
    "agop_error": LayerColumn("AGOP ±", _COSINES, format_percent),
    "fact_cos": LayerColumn("FACT", _CONVERGENCE, format_fixed, "high"),
    "fact_residual": LayerColumn("residual", _CONVERGENCE, _two_digits, "low"),
    "effective_rank": LayerColumn("rank WᵀW", _RANKS, _tenths),
    "agop_effective_rank": LayerColumn("rank AGOP", _RANKS, _tenths),
    "target_linearity": LayerColumn("target lin.", _FEATURES, format_fixed, "high"),
    "nc1": LayerColumn("NC1", _FEATURES, _two_digits),
    "nc4": LayerColumn("NC4", _FEATURES, format_fixed, "high"),
    "balancedness": LayerColumn("imbalance", _FEATURES, _hundredths),
}
"""The columns that a table shows, in order; a report has more, see :data:`gramian.nets.metrics.COLUMNS`."""


def measured_columns(rows: Sequence[Row]) -> list[str]:
    """Return the shown columns that have a number in some row; the error of the AGOP only where it is not 0."""
    found = []
    for name in SHOWN:
        values = [float(entry[name]) for entry in rows]
        if all(math.isnan(value) for value in values) or (name == "agop_error" and not any(values)):
            continue
        found.append(name)
    return found


def layer_table(rows: Sequence[Row]) -> Table:
    """Return the table of a report's rows: layer, type, shape, and the columns that were measured."""
    names = measured_columns(rows)
    columns = [
        Column("layer", "left", hint=COLUMNS["layer"]),
        Column("type", "left", hint=COLUMNS["kind"]),
        Column("shape", hint=COLUMNS["shape"]),
        *(Column(SHOWN[name].heading, group=SHOWN[name].group, hint=COLUMNS[name]) for name in names),
    ]
    lines: list[list[Entry]] = [
        [
            str(entry["layer"]),
            Cell(str(entry["kind"]), "quiet"),
            str(entry["shape"]),
            *(SHOWN[name].cell(float(entry[name])) for name in names),
        ]
        for entry in rows
    ]
    return Table(columns, lines)


def report_section(rows: Sequence[Row], skipped: Mapping[str, str], settings: Mapping[str, Any]) -> Section:
    """Return the table of a report with a headline, and with a note for the modules that were not measured."""
    note = "\n".join(f"not measured  {line}" for line in skipped_lines(skipped))
    return Section(headline(rows, settings), layer_table(rows), note)


def headline(rows: Sequence[Row], settings: Mapping[str, Any]) -> str:
    """Return one line about a measurement: layers, samples, outputs and loss.

    >>> headline([], {"samples": 1000, "outputs": 10, "loss": 0.123456, "loss_name": "mse"})
    '0 layers · 1,000 samples · 10 outputs · loss 0.1235 (mse)'
    """
    parts = [
        f"{len(rows)} layers",
        f"{settings.get('samples', 0):,} samples",
        f"{settings.get('outputs', 0):,} outputs",
    ]
    if settings.get("projections"):
        parts[-1] += f" (by {settings['projections']} random projections)"
    if settings.get("loss") is not None:
        parts.append(f"loss {format_number(settings['loss'])} ({settings.get('loss_name')})")
    return " · ".join(parts)


def skipped_lines(skipped: Mapping[str, str]) -> list[str]:
    """Return one line per reason, with the modules that were skipped for it.

    >>> skipped_lines({"a": "its weights are not used", "b": "its weights are not used"})
    ['a, b: its weights are not used']
    """
    grouped: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        grouped.setdefault(reason, []).append(name)
    lines = []
    for reason, names in grouped.items():
        rest = f" and {len(names) - _NAMED_MODULES} more" if len(names) > _NAMED_MODULES else ""
        lines.append(f"{', '.join(names[:_NAMED_MODULES])}{rest}: {reason}")
    return lines


def _tone(good: bool, near: bool) -> Tone:
    return "good" if good else "near" if near else "bad"
