"""The report as a terminal table and as HTML; both show the same columns, and only those that were
measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

from gramian.nets.metrics import COLUMNS

Row = Mapping[str, float | int | str]

# Column → (heading, group, digits, good: None neutral, 1 high is aligned, 0 low is converged)
SHOWN: dict[str, tuple[str, str, str, int | None]] = {
    "nfa_half_cos": ("NFA s=½", "WᵀW ~ AGOPˢ (cosine)", ".3f", 1),
    "nfa_depth_cos": ("s=1/L", "WᵀW ~ AGOPˢ (cosine)", ".3f", 1),
    "nfa_best_cos": ("best", "WᵀW ~ AGOPˢ (cosine)", ".3f", 1),
    "best_power": ("at s", "WᵀW ~ AGOPˢ (cosine)", ".2f", None),
    "c_nfa_cos": ("C-NFA", "WᵀW ~ AGOPˢ (cosine)", ".3f", 1),
    "fact_cos": ("FACT", "convergence", ".3f", 1),
    "fact_residual": ("residual", "convergence", ".2g", 0),
    "effective_rank": ("rank WᵀW", "effective rank", ".1f", None),
    "agop_effective_rank": ("rank AGOP", "effective rank", ".1f", None),
    "target_linearity": ("target lin.", "features", ".3f", 1),
    "nc1": ("NC1", "features", ".2g", None),
    "nc4": ("NC4", "features", ".3f", 1),
    "balancedness": ("imbalance", "features", ".2f", None),
    "agop_error": ("AGOP ±", "WᵀW ~ AGOPˢ (cosine)", ".1%", None),
}


def columns(rows: Sequence[Row]) -> list[str]:
    """The shown columns that hold a number in some row (the error bar only where there is one)."""
    kept = []
    for name in SHOWN:
        values = [float(entry[name]) for entry in rows]
        if all(math.isnan(value) for value in values) or (name == "agop_error" and not any(values)):
            continue
        kept.append(name)
    order = list(dict.fromkeys(SHOWN[name][1] for name in SHOWN))
    return sorted(kept, key=lambda name: order.index(SHOWN[name][1]))


def cell(name: str, value: float) -> str:
    """A number as it is shown; a dash where nothing was measured."""
    return "–" if math.isnan(value) else format(value, SHOWN[name][2])


def headline(rows: Sequence[Row], settings: Mapping[str, Any]) -> str:
    """What was measured, in one line."""
    parts = [
        f"{len(rows)} layers",
        f"{settings.get('samples', 0):,} samples",
        f"{settings.get('outputs', 0):,} outputs",
    ]
    if settings.get("projections"):
        parts[-1] += f" (by {settings['projections']} random projections)"
    if settings.get("loss") is not None:
        parts.append(f"loss {settings['loss']:.4g} ({settings.get('loss_name')})")
    return " · ".join(parts)


def skipped_lines(skipped: Mapping[str, str]) -> list[str]:
    """Skipped modules, those with one reason together."""
    grouped: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        grouped.setdefault(reason, []).append(name)
    lines = []
    for reason, names in grouped.items():
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        lines.append(f"{shown}: {reason}")
    return lines


@dataclass(frozen=True)
class TerminalTable:
    """The table for a terminal; where it is wider than the screen its columns go on in another below."""

    rows: Sequence[Row]
    skipped: Mapping[str, str]
    settings: Mapping[str, Any]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text]:
        title: str | None = headline(self.rows, self.settings)
        for names in _fitting(self.rows, options.max_width):
            table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
            table.add_column("layer", no_wrap=True)
            table.add_column("shape", justify="right", no_wrap=True)
            for name in names:
                table.add_column(SHOWN[name][0], justify="right", no_wrap=True)
            for entry in self.rows:
                values = [(name, float(entry[name])) for name in names]
                cells = [Text(cell(name, value), style=_style(name, value)) for name, value in values]
                table.add_row(str(entry["layer"]), str(entry["shape"]), *cells)
            yield table
            title = None
        for line in skipped_lines(self.skipped):
            yield Text(f"not measured  {line}", style="dim")


def _fitting(rows: Sequence[Row], width: int) -> list[list[str]]:
    """The shown columns in as many runs as the width asks for."""
    first = sum(3 + max(len(name), *(len(str(entry[name])) for entry in rows)) for name in ("layer", "shape"))
    runs: list[list[str]] = [[]]
    used = first + 1
    for name in columns(rows):
        size = 3 + max(len(SHOWN[name][0]), *(len(cell(name, float(entry[name]))) for entry in rows))
        if runs[-1] and used + size > width:
            runs.append([])
            used = first + 1
        runs[-1].append(name)
        used += size
    return runs


def _style(name: str, value: float) -> str:
    good = SHOWN[name][3]
    if good is None or math.isnan(value):
        return ""
    if good == 1:
        return "green" if value >= 0.9 else "yellow" if value >= 0.5 else "red"
    return "green" if value <= 0.05 else "yellow" if value <= 0.5 else "red"


CSS = """
.gramian{font:13px/1.45 system-ui,sans-serif;color:#1b1f24;background:#fff;max-width:100%;overflow-x:auto}
.gramian table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.gramian caption{text-align:left;font-weight:600;padding:4px 0 8px}
.gramian th,.gramian td{padding:4px 8px;text-align:right;border:0 solid #fff;border-width:1px
2px;background:none; background-clip:padding-box}
.gramian td.start,.gramian th.start{border-left-width:14px}
.gramian th{font-weight:600;color:#57606a;white-space:nowrap}
.gramian thead tr:first-child th{font-weight:400;font-size:11px;text-align:center;padding-bottom:0}
.gramian thead tr:first-child th span{display:block;border-bottom:1px solid #d0d7de}
.gramian thead tr:last-child th{border-bottom:1px solid #8c959f}
.gramian td.name,.gramian th.name{text-align:left;font-family:ui-monospace,monospace}
.gramian .kind{color:#8c959f}
.gramian details{margin-top:8px;color:#57606a}
.gramian summary{cursor:pointer}
"""


def html(rows: Sequence[Row], skipped: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    """A self-contained fragment for notebooks and pages."""
    names = columns(rows)
    groups: list[tuple[str, int]] = []
    for name in names:
        title = SHOWN[name][1]
        groups = (
            [*groups[:-1], (title, groups[-1][1] + 1)] if groups and groups[-1][0] == title else [*groups, (title, 1)]
        )
    top = "".join(f'<th class="start" colspan="{count}"><span>{escape(title)}</span></th>' for title, count in groups)
    starts = {name for before, name in zip(["", *names], names, strict=False) if _group(before) != _group(name)}
    heads = "".join(
        f'<th{_start(name in starts)} title="{escape(COLUMNS[name])}">'
        f"{escape(SHOWN[name][0].removeprefix('rank '))}</th>"
        for name in names
    )
    body = "".join(
        f'<tr><td class="name">{escape(str(entry["layer"]))}</td>'
        f'<td class="kind">{escape(str(entry["kind"]))}</td>'
        f"<td>{escape(str(entry['shape']))}</td>"
        + "".join(_html_cell(name, float(entry[name]), name in starts) for name in names)
        + "</tr>"
        for entry in rows
    )
    lines = "".join(f"<li>{escape(line)}</li>" for line in skipped_lines(skipped))
    notes = f"<details><summary>not measured: {len(skipped)}</summary><ul>{lines}</ul></details>" if lines else ""
    return (
        f'<div class="gramian"><style>{CSS}</style><table>'
        f"<caption>{escape(headline(rows, settings))}</caption>"
        f'<thead><tr><th class="name"></th><th></th><th></th>{top}</tr>'
        f'<tr><th class="name">layer</th><th>type</th><th>shape</th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table>{notes}</div>"
    )


def _group(name: str) -> str:
    return SHOWN[name][1] if name else ""


def _start(first: bool) -> str:
    return ' class="start"' if first else ""


def _html_cell(name: str, value: float, first: bool) -> str:
    good = SHOWN[name][3]
    style = ""
    if good == 1 and not math.isnan(value):
        # A bar behind the number: its length is the value, so that a column is read at a glance.
        share = 100 * min(max(value, 0.0), 1.0)
        style = f' style="background:linear-gradient(90deg,#b6e3c6 {share:.0f}%,transparent {share:.0f}%)"'
    return f"<td{_start(first)}{style}>{escape(cell(name, value))}</td>"
