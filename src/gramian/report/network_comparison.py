"""The page of two things compared of which at least one is an inspected network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gramian.nets import FeatureReport, compare
from gramian.nets.metrics import COLUMNS
from gramian.nets.record import Unavailable
from gramian.nets.table import headline
from gramian.report.network_figures import TITLES, plot_alignment, plot_ranks, plot_spectra
from gramian.report.network_page import MOST_INPUTS, MOST_LAYERS, choose
from gramian.report.style import axes_or_new
from gramian.report.web import (
    Section,
    facts,
    figure,
    folded,
    heat_map,
    note,
    number,
    page,
    row,
    shown,
    table,
    tag,
    text,
    tiles,
)

_HINTS = {
    "layer": COLUMNS["layer"],
    "weight change": "‖W₂ − W₁‖ / ‖W₁‖: 0 for the same weights",
    "nfm cos": "cosine of WᵀW in both",
    "agop cos": "cosine of AGOP in both",
    "ptk cos": "cosine of the tangent kernels (on the layer's output side) in both",
    "nfm overlap": "overlap of the strongest directions of WᵀW: 1 for the same subspace, k/d by chance",
    "agop overlap": "the same for AGOP",
    "matrix": "the layer's matrix that the other one is set beside",
    "cosine": "cosine of the two matrices",
    "pearson": "Pearson's correlation of their entries",
    "diagonal pearson": "Pearson's correlation of their diagonals: do the same inputs count?",
    "first direction": "|u · v| of their first eigenvectors",
    "overlap": "overlap of their strongest directions: 1 for the same subspace, k/d by chance",
}

_DRAWN: tuple[tuple[Callable[[Any, Axes], Axes], str], ...] = (
    (plot_alignment, "agreement with WᵀW"),
    (plot_ranks, "effective ranks"),
    (plot_spectra, "spectra of WᵀW"),
)


def network_comparison_page(
    a: Any,
    b: Any,
    *,
    names: tuple[str, str] = ("first", "second"),
    title: str | None = None,
    layer: str | None = None,
) -> str:
    """The page as text: two reports layer by layer, or a fitted model (or its matrix) beside one layer.

    Parameters
    ----------
    a, b : FeatureReport, or one of them and anything :func:`gramian.nets.compare` sets beside it
    names : pair of str
        What the two are called.
    title : str, optional
    layer : str, optional
        The only layer to compare; for a model beside a network the first by default.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> report = inspect(torch.nn.Linear(4, 2), torch.eye(4))
    >>> html = network_comparison_page(report, report, names=("before", "after"))
    >>> "before and after" in html, "Layer by layer" in html
    (True, True)
    """
    found = compare(a, b, layer=layer)
    both = isinstance(a, FeatureReport) and isinstance(b, FeatureReport)
    sections = [
        Section("What the numbers say", tag("p", text(_words(found, both, names))), "In words"),
        Section("Numbers", _table(found)),
        *((_reports if both else _beside)(a, b, names, layer, found)),
        Section("Remarks", "".join(note(text(words)) for words in found.notes)),
    ]
    lead = f"{names[0]}: {_about(a)}. {names[1]}: {_about(b)}."
    return page(title or f"{names[0]} and {names[1]}", lead, sections, top=_tiles(found, both))


def _about(thing: Any) -> str:
    if isinstance(thing, FeatureReport):
        return headline(thing.rows, thing.settings)
    return type(thing).__name__ if hasattr(thing, "feature_matrix_") else "a matrix"


def _tiles(found: Any, both: bool) -> str:
    keys = {"weight_change": ("largest change of weights", max), "nfm_cos": ("lowest cosine of WᵀW", min),
            "agop_cos": ("lowest cosine of AGOP", min)} if both else {"cosine": ("highest cosine", max)}  # fmt: skip
    made = []
    for key, (called, pick) in keys.items():
        values = [float(entry[key]) for entry in _with(found, key)]
        made.append((shown(pick(values), 3) if values else "–", called))
    return tiles(made)


def _with(found: Any, key: str) -> list[dict[str, Any]]:
    """The rows in which this is a number: weights of 0 have no change, and no cosine."""
    return [entry for entry in found.rows if math.isfinite(float(entry.get(key, math.nan)))]


def _table(found: Any) -> str:
    if not found.rows:
        return ""
    heads = {name: name.replace("_", " ") for name in found.columns}
    hints = {head: _HINTS.get(head) or _change(name) for name, head in heads.items()}
    first, *others = found.columns
    made = [row(str(entry[first]), *(_number(float(entry.get(n, math.nan))) for n in others)) for entry in found.rows]
    key = facts(hints.items(), "what the columns say")
    return table(list(heads.values()), made, "dense", "comparison-table", sort=True, hints=hints) + folded(
        "What the columns say", key
    )


def _words(found: Any, both: bool, names: tuple[str, str]) -> str:
    if not found.rows:
        return "No layer of the two has the same shape."
    if not both:
        known = _with(found, "cosine")
        if not known:
            return "No matrix of the layer has a cosine with the matrix beside it: one of them is 0."
        best = max(known, key=lambda entry: float(entry["cosine"]))
        near = " and ".join(f"{TITLES[str(entry['matrix'])]} {float(entry['cosine']):.3f}" for entry in known)
        what = TITLES[str(best["matrix"])]
        said = f"Of the layer's matrices {what} is nearest to the matrix beside it (cosines: {near})."
        if best in _with(found, "diagonal_pearson"):
            said += " The diagonals, which say how much each input counts, correlate at "
            said += f"{float(best['diagonal_pearson']):.3f}."
        return said
    parts = []
    if moved := max(_with(found, "weight_change"), key=lambda entry: float(entry["weight_change"]), default=None):
        change = f"{float(moved['weight_change']):.0%}"
        parts.append(f"the weights of layer {moved['layer']} changed most, by {change} of their norm")
    if turned := min(_with(found, "nfm_cos"), key=lambda entry: float(entry["nfm_cos"]), default=None):
        kept = f"(cosine {float(turned['nfm_cos']):.3f})"
        parts.append(f"WᵀW kept least of its shape in layer {turned['layer']} {kept}")
    if not parts:
        return "The weights of one of the two are 0, and nothing can be said of how they changed."
    return f"From {names[0]} to {names[1]} {'; '.join(parts)}."


def _change(name: str) -> str:
    return f"change of: {COLUMNS.get(name.removeprefix('Δ '), name)}"


def _number(value: float) -> str:
    return number(shown(value, 3), value) if math.isfinite(value) else number("–", None)


def _reports(a: Any, b: Any, names: tuple[str, str], layer: str | None, found: Any) -> list[Section]:
    pairs = ((names[0], a), (names[1], b))
    across = ""
    for draw, about in _DRAWN:
        axes = [draw(report, axes_or_new(None, 3.4, 2.7)) for _, report in pairs]
        ends = [end for ax in axes for end in ax.get_ylim()]
        for ax in axes:  # one scale, so that the two can be compared
            ax.set_ylim(min(ends), max(ends))
        made = [
            figure(ax, f"{about}, {called}", f"{called}: {about}") for ax, (called, _) in zip(axes, pairs, strict=True)
        ]
        across += tag("div", "".join(made), class_="side")
    panels = []
    for entry in found.rows[:MOST_LAYERS]:
        name = str(entry["layer"])
        matrices = [
            (f"{TITLES[kind]}, {called}", M)
            for kind in ("nfm", "agop", "fact")
            for called, report in pairs
            if (M := _matrix(report, name, kind)) is not None
        ]
        if matrices:
            panels.append((f"layer {name}", _pictures(matrices)))
    return [
        Section("Across the layers", across if layer is None else ""),
        Section("Layer by layer", choose("layer", panels)),
    ]


def _beside(a: Any, b: Any, names: tuple[str, str], layer: str | None, found: Any) -> list[Section]:
    report, other, called = (a, b, names[1]) if isinstance(a, FeatureReport) else (b, a, names[0])
    name = layer or report.layers[0]
    M = np.asarray(getattr(other, "feature_matrix_", other), dtype=float)
    matrices = [(called, np.diag(M) if M.ndim == 1 else M)]
    for kind in ("nfm", "agop"):
        part = _matrix(report, name, kind)
        if part is not None:
            matrices.append((f"{TITLES[kind]} of layer {name}", part))
    return [Section("Side by side", _pictures(matrices))]


def _matrix(report: Any, layer: str, kind: str) -> np.ndarray | None:
    try:
        return np.asarray(report.matrix(layer, kind), dtype=float)
    except Unavailable:
        return None


def _pictures(matrices: list[tuple[str, np.ndarray]]) -> str:
    """Matrices divided by their norms, so that one scale of colours serves all of them."""
    weights = np.sum([M.diagonal() / (np.linalg.norm(M) or 1.0) for _, M in matrices], axis=0)
    d = len(weights)
    pick = np.arange(d) if d <= 4 * MOST_INPUTS else np.sort(np.argsort(-weights, kind="stable")[:MOST_INPUTS])
    parts = [(words, M[np.ix_(pick, pick)] / (np.linalg.norm(M) or 1.0)) for words, M in matrices]
    bound = float(np.quantile(np.abs(np.stack([part for _, part in parts])), 0.995))
    made = "".join(heat_map(part, words, caption=words, bound=bound) for words, part in parts)
    which = "" if len(pick) == d else f" The {len(pick)} of {d} inputs that weigh most are shown."
    about = f"Red above 0, blue below; each matrix divided by its norm, one scale for all.{which}"
    return tag("div", made, class_="side tight" if len(parts) > 3 else "side") + note(text(about))
