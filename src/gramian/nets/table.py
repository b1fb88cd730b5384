"""The table of a report on a network: one row per layer, and the columns in which something was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from gramian.display import Cell, Column, Entry, Section, Table, format_fixed, format_number, format_percent
from gramian.display.table import Tone
from gramian.nets.columns import COLUMNS, LAYER, Columns, choose_columns, columns

Row = Mapping[str, float | int | str]
_NAMED_MODULES = 4
"""The skipped modules that are named for each reason; the others are counted."""


@dataclass(frozen=True)
class LayerColumn:
    """A column of numbers: its heading, its group, its number format, and which of its values are good.

    ``good="high"`` marks alignments, for which 1 is perfect, and ``good="low"`` residuals, for which 0 is. ``chance``
    is the column with the value by chance, which is shown in brackets; ``good="excess"`` marks values far above it.
    """

    heading: str
    group: str
    form: Callable[[float], str]
    good: Literal["high", "low", "excess"] | None = None
    chance: str | None = None

    def cell(self, value: float, chance: float = math.nan) -> Cell:
        """Return a value as a cell: a dash where nothing was measured, else a number with a tone.

        >>> SHOWN["fact_residual"].cell(0.01)
        Cell(text='0.01', tone='good', fill=None, sort=0.01, markup='')
        >>> SHOWN["nfa_half_cos"].cell(0.95, chance=0.4).text
        '0.950 (0.40)'
        """
        if math.isnan(value):
            return Cell(self.form(value))
        if self.good is None:
            return Cell(self.form(value), sort=value)
        # Adding 0 turns a rounded −0 into 0.
        beside = "" if math.isnan(chance) else f" ({format_fixed(round(chance, 2) + 0.0, decimals=2)})"
        if self.good == "excess":
            if math.isnan(chance):
                return Cell(self.form(value), fill=value, sort=value)
            beyond = excess(value, chance)
            tone = _tone(beyond >= ALIGNED, beyond >= PARTLY_ALIGNED)
            return Cell(self.form(value) + beside, tone, fill=max(beyond, 0.0), sort=value)
        if self.good == "high":
            return Cell(self.form(value) + beside, _tone(value >= 0.9, value >= 0.5), fill=value, sort=value)
        return Cell(self.form(value), _tone(value <= 0.05, value <= 0.5), sort=value)


ALIGNED, PARTLY_ALIGNED = 0.5, 0.25
"""Smallest excess over chance at which weights and AGOP are said to be aligned, or aligned in part: in nine untrained
networks (MLPs, CNNs, transformers) the largest excess of a layer was 0.17."""


def excess(value: float, chance: float) -> float:
    """Return the part of the way from chance to 1 that a cosine has gone; 0 where chance leaves nothing to explain.

    >>> round(excess(0.8, 0.6), 6)
    0.5
    """
    return (value - chance) / (1 - chance) if chance < 1 - 1e-9 else 0.0


_COSINES, _CONVERGENCE = "WᵀW ~ AGOPˢ: cosine (by chance)", "convergence"
_RANKS, _FEATURES = "effective rank", "features"
_tenths, _hundredths = partial(format_fixed, decimals=1), partial(format_fixed, decimals=2)
_two_digits = partial(format_number, digits=2)

SHOWN: dict[str, LayerColumn] = {
    "nfa_half_cos": LayerColumn("NFA s=½", _COSINES, format_fixed, "excess", "nfa_half_chance"),
    "nfa_depth_cos": LayerColumn("s=1/L", _COSINES, format_fixed, "excess", "nfa_depth_chance"),
    "nfa_best_cos": LayerColumn("best", _COSINES, format_fixed, "excess", "nfa_best_chance"),
    "best_power": LayerColumn("at s", _COSINES, _hundredths),
    "c_nfa_cos": LayerColumn("C-NFA", _COSINES, format_fixed, "excess", "c_nfa_chance"),
    "agop_error": LayerColumn("AGOP ±", _COSINES, format_percent),
    "fact_cos": LayerColumn("FACT", _CONVERGENCE, format_fixed, "high", "fact_chance"),
    "fact_residual": LayerColumn("residual", _CONVERGENCE, _two_digits, "low"),
    "effective_rank": LayerColumn("rank WᵀW", _RANKS, _tenths),
    "agop_effective_rank": LayerColumn("rank AGOP", _RANKS, _tenths),
    "target_linearity": LayerColumn("target lin.", _FEATURES, format_fixed, "high"),
    "nc1": LayerColumn("NC1", _FEATURES, _two_digits),
    "nc4": LayerColumn("NC4", _FEATURES, format_fixed, "high"),
    "balancedness": LayerColumn("imbalance", _FEATURES, _hundredths),
}
"""The columns that a table shows by default, in order; a report has more, see :data:`gramian.nets.columns.COLUMNS`."""
TABLE_COLUMNS = [*SHOWN, *(column.chance for column in SHOWN.values() if column.chance is not None)]
"""The columns from which that table is made."""


def shown_columns(chosen: Columns | None) -> list[str]:
    """Return the columns that a table shows: the main ones, or those that were chosen."""
    if chosen is None:
        return list(SHOWN)
    return [name for name in choose_columns(chosen) if name not in LAYER]


def table_column(name: str) -> LayerColumn:
    """Return how a table shows a column; one that is not shown by default has its own name as heading."""
    return SHOWN.get(name) or LayerColumn(name.replace("_", " "), "", format_fixed)


def measured_columns(rows: Sequence[Row], shown: Sequence[str] | None = None) -> list[str]:
    """Return the shown columns that have a number in some row; the error of the AGOP only where it is not 0."""
    found = []
    for name in SHOWN if shown is None else shown:
        values = [float(entry[name]) for entry in rows]
        if all(math.isnan(value) for value in values) or (name == "agop_error" and not any(values)):
            continue
        found.append(name)
    return found


def layer_table(rows: Sequence[Row], shown: Sequence[str] | None = None) -> Table:
    """Return the table of a report's rows: layer, type, shape, and the columns that were measured."""
    names, about = measured_columns(rows, shown), columns()
    headings = [
        Column("layer", "left", hint=COLUMNS["layer"]),
        Column("type", "left", hint=COLUMNS["kind"]),
        Column("shape", hint=COLUMNS["shape"]),
        *(_heading(name, about[name]) for name in names),
    ]
    lines: list[list[Entry]] = [
        [
            str(entry["layer"]),
            Cell(str(entry["kind"]), "quiet"),
            str(entry["shape"]),
            *(_cell(entry, name) for name in names),
        ]
        for entry in rows
    ]
    return Table(headings, lines)


def _heading(name: str, about: str) -> Column:
    column = table_column(name)
    hint = about if column.chance is None else f"{about}; in brackets {COLUMNS[column.chance]}"
    return Column(column.heading, group=column.group, hint=hint)


def _cell(entry: Row, name: str) -> Cell:
    column = table_column(name)
    return column.cell(float(entry[name]), math.nan if column.chance is None else float(entry[column.chance]))


def report_section(
    rows: Sequence[Row], skipped: Mapping[str, str], settings: Mapping[str, Any], shown: Sequence[str] | None = None
) -> Section:
    """Return the table of a report with a headline, and with a note for the modules that were not measured."""
    note = "\n".join(f"not measured  {names}: {reason}" for names, reason in skipped_by_reason(skipped))
    return Section(headline(rows, settings), layer_table(rows, shown), note)


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


def skipped_by_reason(skipped: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return pairs of modules and the reason why they were skipped, one for each reason.

    >>> skipped_by_reason({"a": "its weights are not used", "b": "its weights are not used"})
    [('a, b', 'its weights are not used')]
    """
    grouped: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        grouped.setdefault(reason, []).append(name)
    found = []
    for reason, names in grouped.items():
        rest = f" and {len(names) - _NAMED_MODULES} more" if len(names) > _NAMED_MODULES else ""
        found.append((f"{', '.join(names[:_NAMED_MODULES])}{rest}", reason))
    return found


def _tone(good: bool, near: bool) -> Tone:
    return "good" if good else "near" if near else "bad"
