"""The page about the weights of a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gramian.core import version
from gramian.display import Column, Table
from gramian.nets import WeightReport
from gramian.nets.checkpoints.report import WEIGHT_COLUMNS, Row, weight_table
from gramian.nets.table import skipped_by_reason
from gramian.report.network.families import over_blocks
from gramian.report.network.layers import explain_columns
from gramian.report.network.page import MOST_LAYERS
from gramian.report.web import (
    PageSection,
    facts,
    folded,
    lines,
    note,
    number,
    page,
    panels,
    prose,
    table,
    tag,
    text,
    tiles,
)
from gramian.report.web.charts import Line

RANDOM_LIKE = 0.05
"""Relative difference from the effective rank of a random matrix up to which a spectrum is said to look random."""
LOW_RANK_CHANGE = 0.5
"""Share of the effective rank of a random matrix below which a change is said to have few directions."""
_POINTS = 40


def weight_page(report: WeightReport, *, title: str | None = None, layers: Sequence[str] | None = None) -> str:
    """Return the page as text, for :func:`gramian.report.write_report`.

    Parameters
    ----------
    report : WeightReport
    title : str, optional
    layers : sequence of str, optional
        Layers that have a panel of their own; the first 24 by default.

    >>> import torch
    >>> from gramian.nets import inspect_weights
    >>> html = weight_page(inspect_weights(torch.nn.Linear(4, 3)))
    >>> "Weight matrices" in html, "What changed" in html
    (True, False)
    """
    if isinstance(layers, str) or not set(layers or ()) <= set(report.layers):
        raise ValueError(f"layers must be a list of names among {report.layers[:MOST_LAYERS]}, got {layers!r}")
    found = weight_table(report.rows)
    made = table(found, class_="dense", id="layer-table", sortable=True) + explain_columns(found)
    sections = [
        PageSection("Summary", _listed(describe_weights(report.rows))),
        PageSection("Weight matrices", made),
        PageSection("Across the blocks", _across(report)),
        PageSection("What changed", _changes(report)),
        PageSection("Layer by layer", _panels(report, layers)),
        PageSection("Not measured", _skipped(report)),
        PageSection("Settings", facts(_settings(report))),
    ]
    name = str(report.settings.get("checkpoint", "weights"))
    return page(title or f"The weights of {name}", report.headline(), sections, top=_tiles(report))


def describe_weights(rows: Sequence[Row]) -> list[str]:
    """Return sentences about all rows of a WeightReport.

    >>> describe_weights([{"layer": "a", "effective_rank": 6.1, "random_rank": 6.0, "norm": 2.0}])
    ['In 1 of 1 matrices the effective rank is within 5% of that of a random matrix of the same shape: their spectra \
alone do not show that anything was learned.']
    """
    found = []
    ranks = [(str(e["layer"]), _value(e, "effective_rank") / _value(e, "random_rank")) for e in rows]
    ranks = [(layer, ratio) for layer, ratio in ranks if math.isfinite(ratio)]
    if ranks:
        alike = sum(abs(ratio - 1) <= RANDOM_LIKE for _, ratio in ranks)
        least, ratio = min(ranks, key=lambda pair: pair[1])
        words = (
            f"In {alike} of {len(ranks)} matrices the effective rank is within {RANDOM_LIKE:.0%} of that of a random "
            "matrix of the same shape"
        )
        if alike:
            words += ": their spectra alone do not show that anything was learned"
        if alike < len(ranks):
            words += f"; layer {least} uses the fewest directions, {ratio:.0%} of a random matrix's"
        found.append(f"{words}.")
    changed = [(str(e["layer"]), _value(e, "weight_change")) for e in rows]
    changed = [(layer, value) for layer, value in changed if math.isfinite(value)]
    if changed:
        most, value = max(changed, key=lambda pair: pair[1])
        middle = float(np.median([value for _, value in changed]))
        found.append(
            f"Since the earlier checkpoint the weights changed by {_relative(middle)} in the median matrix, and most "
            f"in layer {most}, by {_relative(value)}."
        )
        few = [str(e["layer"]) for e in rows if _value(e, "change_rank") < LOW_RANK_CHANGE * _value(e, "random_rank")]
        known = sum(math.isfinite(_value(e, "change_rank")) for e in rows)
        if known:
            found.append(
                f"In {len(few)} of {known} matrices the change has fewer than half as many directions as a random "
                "change would have (effective rank)."
            )
    return found


def _relative(change: float) -> str:
    return f"{change:.1%} of their norm" if change < 1 else f"{change:.1f} times their norm"


def _value(entry: Row, name: str) -> float:
    return float(entry.get(name, math.nan))


def _listed(sentences: Sequence[str]) -> str:
    return tag("ul", "".join(tag("li", text(words)) for words in sentences)) if sentences else ""


def _tiles(report: WeightReport) -> str:
    found = [(number(len(report.records)), "weight matrices")]
    if "parameters" in report.settings:
        found.append((number(float(report.settings["parameters"]), 3), "parameters"))
    for name, about, pick in (
        ("effective_rank", "median of effective rank / random", np.median),
        ("weight_change", "largest relative change", max),
        ("nfm_cos", "lowest cosine of WᵀW", min),
    ):
        scale = "random_rank" if name == "effective_rank" else None
        values = [_value(e, name) / (_value(e, scale) if scale else 1.0) for e in report.rows]
        values = [value for value in values if math.isfinite(value)]
        if values:
            found.append((number(float(pick(values)), 3), about))
    return tiles(found)


def _across(report: WeightReport) -> str:
    rows = {str(entry["layer"]): entry for entry in report.rows}
    charts = [
        over_blocks(report.layers, lambda l: _value(rows[l], "effective_rank") / _value(rows[l], "random_rank"),
                    "effective rank / random"),
        over_blocks(report.layers, lambda l: _value(rows[l], "stable_rank"), "stable rank"),
        over_blocks(report.layers, lambda l: _value(rows[l], "norm"), "norm ‖W‖"),
    ]  # fmt: skip
    return tag("div", "".join(charts), class_="side") if any(charts) else ""


def _changes(report: WeightReport) -> str:
    if not report.settings.get("initial"):
        return ""
    rows = {str(entry["layer"]): entry for entry in report.rows}
    about = f"Changes since {report.settings['initial']}: the table has them for every matrix."
    charts = over_blocks(report.layers, lambda l: _value(rows[l], "weight_change"), "‖W − W₀‖ / ‖W₀‖")
    charts += over_blocks(report.layers, lambda l: _value(rows[l], "nfm_cos"), "cosine of WᵀW and W₀ᵀW₀")
    notes = "".join(note(text(words)) for words in report.settings.get("notes", ()))
    return prose(about) + (tag("div", charts, class_="side") if charts else "") + notes


def _panels(report: WeightReport, layers: Sequence[str] | None) -> str:
    chosen = list(report.layers[:MOST_LAYERS] if layers is None else layers)
    left = len(report.layers) - len(chosen)
    rest = f"{left} more matrices are in the table only: name them in layers= to see them here."
    found = [(f"layer {name}", _panel(report, name)) for name in chosen]
    return (note(text(rest)) if left else "") + panels("layer", found)


def _panel(report: WeightReport, layer: str) -> str:
    record = report.record(layer)
    values = record.values[record.values > 1e-8 * record.values[0]] if record.values[0] > 0 else record.values[:0]
    made = ""
    if len(values) > 1:
        some = np.unique(np.geomspace(1, len(values), _POINTS).astype(int)) - 1
        x, y = np.log10(some + 1).tolist(), np.log10(values[some] / values[0]).tolist()
        made = lines(
            [Line("", x, y)],
            f"spectrum of WᵀW of layer {layer}",
            x="log₁₀ of the direction's number",
            y="log₁₀ of the eigenvalue (largest = 1)",
        )
    if record.angles:
        words = ", ".join(f"{angle:.1f}°" for angle in record.angles)
        made += prose(f"Principal angles between its strongest input directions and the earlier ones: {words}.")
    numbers = [(WEIGHT_COLUMNS[name], number(value)) for name, value in record.numbers.items() if math.isfinite(value)]
    return made + folded(f"All {len(numbers)} numbers of layer {layer}", facts(numbers, f"layer {layer}"))


def _skipped(report: WeightReport) -> str:
    rows = [list(pair) for pair in skipped_by_reason(report.skipped)]
    if not rows:
        return prose("Every tensor was measured.")
    return table(Table(["tensors", Column("reason", "left")], rows))


def _settings(report: WeightReport) -> list[tuple[str, object]]:
    about = {"checkpoint": "checkpoint", "initial": "earlier checkpoint", "parameters": "parameters"}
    values = {name: report.settings.get(name) for name in about}
    known = [
        (words, f"{values[name]:,}" if isinstance(values[name], int) else values[name])
        for name, words in about.items()
        if values[name]
    ]
    return [*known, ("gramian", version.__version__)]
