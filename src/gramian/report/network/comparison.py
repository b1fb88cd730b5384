"""The page about two inspected networks, or about a network and a kernel model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from gramian.display import MISSING, Column, Entry, Table, format_number
from gramian.display.table import Align
from gramian.nets import Comparison, FeatureReport, compare
from gramian.nets.columns import COLUMNS
from gramian.nets.record import Unavailable
from gramian.nets.table import headline
from gramian.report.figures import plot_alignment, plot_ranks, plot_spectra
from gramian.report.figures.inputs import HasFeatureMatrix
from gramian.report.figures.network_parts import TITLES
from gramian.report.network.layers import explain_columns, largest_inputs, small_axes
from gramian.report.network.page import MOST_LAYERS
from gramian.report.web import (
    PageSection,
    figure,
    heat_map,
    note,
    number,
    number_cell,
    page,
    panels,
    table,
    tag,
    text,
    tiles,
)

Compared = FeatureReport | HasFeatureMatrix | ArrayLike
Names = tuple[str, str]
Row = Mapping[str, float | str]

_HINTS = {
    "layer": COLUMNS["layer"],
    "weight change": "‖W₂ − W₁‖ / ‖W₁‖: 0 for the same weights",
    "nfm cos": "cosine of WᵀW in both",
    "agop cos": "cosine of AGOP in both",
    "ptk cos": "cosine of the tangent kernels (on the layer's output side) in both",
    "nfm overlap": "overlap of the strongest directions of WᵀW: 1 for the same subspace, k/d by chance",
    "agop overlap": "the same for AGOP",
    "matrix": "matrix of the layer with which the model's matrix is compared",
    "cosine": "cosine of the two matrices",
    "pearson": "Pearson correlation of their entries",
    "diagonal pearson": "Pearson correlation of their diagonals, the weights of the inputs",
    "first direction": "|u · v| of their first eigenvectors",
    "overlap": "overlap of their strongest directions: 1 for the same subspace, k/d by chance",
}
_three_digits = partial(format_number, digits=3)
_ACROSS = (
    (plot_alignment, "agreement with WᵀW"),
    (plot_ranks, "effective ranks"),
    (plot_spectra, "spectra of WᵀW"),
)


def network_comparison_page(
    a: Compared,
    b: Compared,
    *,
    names: Names = ("first", "second"),
    title: str | None = None,
    layer: str | None = None,
) -> str:
    """Return the page as text: two reports layer by layer, or a fitted model (or its matrix) and one layer.

    Parameters
    ----------
    a, b : FeatureReport, or one of them and a fitted model or matrix that :func:`gramian.nets.compare` takes
    names : pair of str
        Names of the two on the page.
    title : str, optional
    layer : str, optional
        The only layer to compare; of a network that is compared with a model, the first by default.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> report = inspect(torch.nn.Linear(4, 2), torch.eye(4))
    >>> html = network_comparison_page(report, report, names=("before", "after"))
    >>> "before and after" in html, "Layer by layer" in html
    (True, True)
    """
    found = compare(a, b, layer=layer)
    if isinstance(a, FeatureReport) and isinstance(b, FeatureReport):
        summary, top = _describe_change(found, names), _change_tiles(found)
        sections = _report_sections(a, b, names, layer, found)
    else:
        report, other, name = (a, b, names[1]) if isinstance(a, FeatureReport) else (b, a, names[0])
        assert isinstance(report, FeatureReport)  # compare takes nothing else
        summary, top = _describe_similarity(found), _similarity_tiles(found)
        sections = [PageSection("Side by side", _matrices_of_layer(report, other, name, layer or report.layers[0]))]
    lead = f"{names[0]}: {_about(a)}. {names[1]}: {_about(b)}."
    sections = [
        PageSection("Summary", tag("p", text(summary))),
        PageSection("Numbers", _table(found)),
        *sections,
        PageSection("Remarks", "".join(note(text(words)) for words in found.notes)),
    ]
    return page(title or f"{names[0]} and {names[1]}", lead, sections, top=top)


def _about(compared: Compared) -> str:
    if isinstance(compared, FeatureReport):
        return headline(compared.rows, compared.settings)
    return type(compared).__name__ if hasattr(compared, "feature_matrix_") else "a matrix"


def _change_tiles(found: Comparison) -> str:
    changes = [_value(entry, "weight_change") for entry in _finite(found, "weight_change")]
    tile = (number(max(changes), 3) if changes else MISSING, "largest change of weights")
    return tiles([tile, *(_cosine_tile(found, f"{name}_cos", name) for name in ("nfm", "agop"))])


def _cosine_tile(found: Comparison, key: str, name: str) -> tuple[str, str]:
    values = [_value(entry, key) for entry in _finite(found, key)]
    return number(min(values), 3) if values else MISSING, f"lowest cosine of {TITLES[name]}"


def _similarity_tiles(found: Comparison) -> str:
    values = [_value(entry, "cosine") for entry in _finite(found, "cosine")]
    return tiles([(number(max(values), 3) if values else MISSING, "highest cosine")])


def _value(entry: Row, key: str) -> float:
    return float(entry.get(key, math.nan))


def _finite(found: Comparison, key: str) -> list[Row]:
    """Return the rows in which the number exists: weights of 0 have no relative change and no cosine."""
    return [entry for entry in found.rows if math.isfinite(_value(entry, key))]


def _table(found: Comparison) -> str:
    if not found.rows:
        return ""
    first, *others = found.columns
    rows: list[list[Entry]] = [
        [str(entry[first]), *(number_cell(_value(entry, name), _three_digits) for name in others)]
        for entry in found.rows
    ]
    data = Table([_column(name, "left" if name == first else "right") for name in found.columns], rows)
    return table(data, class_="dense", id="comparison-table", sortable=True) + explain_columns(data)


def _column(name: str, align: Align) -> Column:
    heading = name.replace("_", " ")
    hint = _HINTS.get(heading) or f"change of: {COLUMNS.get(name.removeprefix('Δ '), name)}"
    return Column(heading, align, hint=hint)


def _describe_similarity(found: Comparison) -> str:
    if not found.rows:
        return "No layer of the two has the same shape."
    known = _finite(found, "cosine")
    if not known:
        return "No matrix of the layer has a cosine with the model's matrix, because one of them is 0."
    best = max(known, key=lambda entry: _value(entry, "cosine"))
    cosines = " and ".join(f"{TITLES[str(entry['matrix'])]} {_value(entry, 'cosine'):.3f}" for entry in known)
    words = (
        f"Of the layer's matrices, {TITLES[str(best['matrix'])]} is most similar to the model's (cosines: {cosines})."
    )
    if best in _finite(found, "diagonal_pearson"):
        words += " The correlation of the diagonals, which are the weights of the inputs, is "
        words += f"{_value(best, 'diagonal_pearson'):.3f}."
    return words


def _describe_change(found: Comparison, names: Names) -> str:
    if not found.rows:
        return "No layer of the two has the same shape."
    parts = []
    moved = max(_finite(found, "weight_change"), key=lambda entry: _value(entry, "weight_change"), default=None)
    if moved is not None:
        change = f"{_value(moved, 'weight_change'):.0%}"
        parts.append(f"the weights of layer {moved['layer']} changed most, by {change} of their norm")
    turned = min(_finite(found, "nfm_cos"), key=lambda entry: _value(entry, "nfm_cos"), default=None)
    if turned is not None:
        cosine = f"(cosine {_value(turned, 'nfm_cos'):.3f})"
        parts.append(f"WᵀW differs most in layer {turned['layer']} {cosine}")
    if not parts:
        return "The weights of one of the two are 0, so it is unknown how they changed."
    return f"From {names[0]} to {names[1]}, {'; '.join(parts)}."


def _report_sections(
    a: FeatureReport, b: FeatureReport, names: Names, layer: str | None, found: Comparison
) -> list[PageSection]:
    pairs = ((names[0], a), (names[1], b))
    across = ""
    for draw, about in _ACROSS:
        axes = [draw(report, small_axes()) for _, report in pairs]
        ends = [end for ax in axes for end in ax.get_ylim()]
        for ax in axes:  # one scale, so that the two can be compared
            ax.set_ylim(min(ends), max(ends))
        made = [figure(ax, f"{about}, {name}", f"{name}: {about}") for ax, (name, _) in zip(axes, pairs, strict=True)]
        across += tag("div", "".join(made), class_="side")
    shown_layers = []
    for entry in found.rows[:MOST_LAYERS]:
        name = str(entry["layer"])
        matrices = [
            (f"{TITLES[kind]}, {of}", M)
            for kind in ("nfm", "agop", "fact")
            for of, report in pairs
            if (M := _matrix(report, name, kind)) is not None
        ]
        if matrices:
            shown_layers.append((f"layer {name}", _heat_maps(matrices)))
    return [
        PageSection("Across the layers", across if layer is None else ""),
        PageSection("Layer by layer", panels("layer", shown_layers)),
    ]


def _matrices_of_layer(report: FeatureReport, other: Compared, name: str, layer: str) -> str:
    M = np.asarray(getattr(other, "feature_matrix_", other), dtype=float)
    matrices = [(name, np.diag(M) if M.ndim == 1 else M)]
    for kind in ("nfm", "agop"):
        part = _matrix(report, layer, kind)
        if part is not None:
            matrices.append((f"{TITLES[kind]} of layer {layer}", part))
    return _heat_maps(matrices)


def _matrix(report: FeatureReport, layer: str, kind: str) -> np.ndarray | None:
    try:
        return np.asarray(report.matrix(layer, kind), dtype=float)
    except Unavailable:
        return None


def _heat_maps(matrices: list[tuple[str, np.ndarray]]) -> str:
    """Return heat maps of matrices divided by their norms, so that one scale of colours is right for all of them."""
    weights = np.sum([M.diagonal() / (np.linalg.norm(M) or 1.0) for _, M in matrices], axis=0)
    pick, d = largest_inputs(weights), len(weights)
    parts = [(words, M[np.ix_(pick, pick)] / (np.linalg.norm(M) or 1.0)) for words, M in matrices]
    bound = float(np.quantile(np.abs(np.stack([part for _, part in parts])), 0.995))
    made = "".join(heat_map(part, words, caption=words, bound=bound) for words, part in parts)
    which = "" if len(pick) == d else f" The {len(pick)} of {d} inputs with the largest weights are shown."
    about = f"Red above 0, blue below; each matrix is divided by its norm, with one scale for all.{which}"
    return tag("div", made, class_="side tight" if len(parts) > 3 else "side") + note(text(about))
