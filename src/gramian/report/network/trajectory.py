"""The page about the checkpoints of a training run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gramian.core import version
from gramian.nets import Trajectory
from gramian.report.network.layers import explain_columns
from gramian.report.network.page import MOST_LAYERS
from gramian.report.web import (
    PageSection,
    facts,
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

_MOST_LINES = 5
"""Number of layers in the chart of a column: those that changed most."""
_POINTS = 60
_CHANGED = 0.01
"""Relative change from which a number is said to have risen or fallen."""
_WORDS = {
    "nfa_half_cos": "The cosine of WᵀW and AGOP^½",
    "c_nfa_cos": "The centred NFA",
    "fact_residual": "The residual of FACT, which is 0 once training has converged,",
    "target_linearity": "The target linearity",
    "nc1": "NC1, the spread within classes over that between them,",
    "norm": "The norm of the weights",
    "effective_rank": "The effective rank of WᵀW",
    "weight_change": "The change of the weights since the first checkpoint",
    "nfm_cos": "The cosine of WᵀW with that of the first checkpoint",
    "balancedness": "The imbalance with the next layer",
}
"""Columns that the summary describes."""


def trajectory_page(
    run: Trajectory, *, title: str = "Checkpoints of a training run", layers: Sequence[str] | None = None
) -> str:
    """Return the page as text, for :func:`gramian.report.write_report`.

    Parameters
    ----------
    run : Trajectory
    title : str
    layers : sequence of str, optional
        Layers that have a panel of their own; the first 24 by default.

    >>> rows = [{"step": s, "checkpoint": f"step-{s}", "layer": "0", "norm": s / 2} for s in (1, 2)]
    >>> html = trajectory_page(Trajectory((1, 2), ("step-1", "step-2"), rows, kind="weights"))
    >>> "From first to last" in html, html.count('class="chart"')
    (True, 2)
    """
    if isinstance(layers, str) or not set(layers or ()) <= set(run.layers):
        raise ValueError(f"layers must be a list of names among {run.layers[:MOST_LAYERS]}, got {layers!r}")
    found = run.table()
    made = table(found, class_="dense", id="layer-table") + explain_columns(found)
    sections = [
        PageSection("Summary", _summary(run)),
        PageSection("From first to last", made),
        PageSection("Column by column", _columns(run)),
        PageSection("Layer by layer", _panels(run, layers)),
        PageSection("Checkpoints", _checkpoints(run)),
    ]
    return page(title, run.headline(), sections, top=_tiles(run))


def describe_run(run: Trajectory) -> list[str]:
    """Return sentences: in how many layers a column rose and fell by more than 1%, and where it changed most.

    >>> rows = [{"step": s, "checkpoint": f"step-{s}", "layer": "0", "norm": s / 2} for s in (1, 2)]
    >>> describe_run(Trajectory((1, 2), ("step-1", "step-2"), rows, kind="weights"))
    ['The norm of the weights rose in 1 and fell in 0 of 1 layers; it changed most in layer 0, from 0.5 to 1.']
    """
    found = []
    shown = run.shown()
    for name, words in _WORDS.items():
        if name not in shown:
            continue
        about = shown[name]
        ends = [(layer, *_ends(run.series(layer, name))) for layer in run.layers]
        known = [(layer, a, b) for layer, a, b in ends if math.isfinite(a) and math.isfinite(b)]
        moved = [(layer, a, b) for layer, a, b in known if abs(b - a) > _CHANGED * max(abs(a), abs(b))]
        if not moved:
            continue
        rose = sum(b > a for _, a, b in moved)
        layer, a, b = max(moved, key=lambda one: abs(one[2] - one[1]))
        found.append(
            f"{words} rose in {rose} and fell in {len(moved) - rose} of {len(known)} layers; it changed most "
            f"in layer {layer}, from {about.form(a)} to {about.form(b)}."
        )
    return found


def _ends(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if math.isfinite(value)]
    return (known[0], known[-1]) if len(known) > 1 else (math.nan, math.nan)


def _summary(run: Trajectory) -> str:
    sentences = describe_run(run)
    return tag("ul", "".join(tag("li", text(words)) for words in sentences)) if sentences else ""


def _tiles(run: Trajectory) -> str:
    found = [(number(len(run.steps)), "checkpoints"), (number(len(run.layers)), "layers")]
    return tiles([*found, (number(run.steps[-1]), "last step")])


def _columns(run: Trajectory) -> str:
    charts = ""
    for name, about in run.shown().items():
        series = {layer: run.series(layer, name) for layer in run.layers}
        series = {layer: values for layer, values in series.items() if any(math.isfinite(v) for v in values)}
        moved = sorted(series, key=lambda layer: -_range(series[layer]))[:_MOST_LINES]
        drawn = [_line(run, layer, series[layer]) for layer in series if layer in moved]
        charts += lines(drawn, f"{about.heading} over training", x="training step", y=about.heading)
    few = len(run.layers) > _MOST_LINES
    words = f"The {_MOST_LINES} layers in which a column changed most are drawn." if few else "All layers are drawn."
    return prose(words) + tag("div", charts, class_="side")


def _panels(run: Trajectory, layers: Sequence[str] | None) -> str:
    chosen = list(run.layers[:MOST_LAYERS] if layers is None else layers)
    left = len(run.layers) - len(chosen)
    rest = f"{left} more layers are in the table only: name them in layers= to see them here."
    return (note(text(rest)) if left else "") + panels(
        "layer", [(f"layer {name}", _panel(run, name)) for name in chosen]
    )


def _panel(run: Trajectory, layer: str) -> str:
    charts = ""
    for name, about in run.shown().items():
        values = run.series(layer, name)
        if any(math.isfinite(value) for value in values):
            alt = f"{about.heading} of layer {layer} over training"
            charts += lines([_line(run, "", values)], alt, x="training step", y=about.heading)
    return tag("div", charts, class_="side")


def _line(run: Trajectory, name: str, values: Sequence[float]) -> Line:
    some = np.unique(np.linspace(0, len(run.steps) - 1, min(_POINTS, len(run.steps))).astype(int))
    return Line(name, [float(run.steps[i]) for i in some], [values[i] for i in some])


def _range(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return max(known) - min(known)


def _checkpoints(run: Trajectory) -> str:
    kind = "weights and features, on data" if run.kind == "features" else "weights alone"
    found: list[tuple[str, object]] = [("measured", kind), ("initial checkpoint of the others", run.checkpoints[0])]
    found += [(f"step {step:,}", name) for step, name in zip(run.steps, run.checkpoints, strict=True)]
    return facts([*found, ("gramian", version.__version__)])
