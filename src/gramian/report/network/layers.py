"""Sections on the layers of a network: their table, figures over all of them, and a panel for each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from gramian.display import Table
from gramian.nets import FeatureReport
from gramian.nets.columns import COLUMNS
from gramian.nets.record import Unavailable
from gramian.nets.table import layer_table
from gramian.report.figures import plot_alignment, plot_geometry, plot_ranks, plot_spectra
from gramian.report.figures.matrices import image_of
from gramian.report.figures.network_parts import TITLES, has_geometry
from gramian.report.figures.one_layer import measured_matrices
from gramian.report.network.sentences import describe_layer
from gramian.report.style import AMOUNT, SERIES, axes_or_new
from gramian.report.web import (
    facts,
    figure,
    folded,
    heat_map,
    lines,
    note,
    number,
    prose,
    table,
    tag,
    text,
)
from gramian.report.web.charts import Line

MOST_INPUTS = 64
"""Number of inputs shown of a matrix with more than four times as many rows: those with the largest diagonal."""
_SPECTRUM_POINTS, _SMALLEST_EIGENVALUE = 24, 1e-8
_DIRECTIONS = 5
_PSD = ("nfm", "agop", "enfa")
_CHANCE = {"agop": "nfa_chance", "fact": "fact_chance"}  # matrix → column of its cosine by chance


def layers_table(report: FeatureReport) -> str:
    """Return the table of the layers, with an explanation of its columns."""
    found = layer_table(report.rows)
    return table(found, class_="dense", id="layer-table", sortable=True) + explain_columns(found)


def explain_columns(data: Table) -> str:
    """Return a folded list of the columns of a table and their meaning."""
    hints = [(column.heading, column.hint) for column in data.columns]
    return folded("Meaning of the columns", facts(hints, "meaning of the columns"))


def across_layers(report: FeatureReport) -> str:
    """Return figures of alignment, ranks, geometry and spectra over all layers."""
    made = figure(
        plot_alignment(report, small_axes()), "cosine of WᵀW with other matrices over the layers", "Agreement with WᵀW."
    )
    made += figure(
        plot_ranks(report, small_axes()),
        "effective ranks of WᵀW and AGOP over the layers",
        "Number of directions used.",
    )
    if has_geometry(report):
        made += figure(
            plot_geometry(report, small_axes()), "target linearity and NC4 over the layers", "Features and the target."
        )
    if all(_has_spectrum(report, layer) for layer in report.layers):
        about = "Eigenvalues of WᵀW, the largest set to 1."
        if len(report.layers) > len(SERIES):
            about += " From dark to light: from the first layer to the last."
        made += figure(plot_spectra(report, small_axes()), "spectra of WᵀW of all layers", about)
    return tag("div", made, class_="side")


def small_axes() -> Axes:
    """Return axes of a size at which three figures side by side have text as large as that of the page."""
    return axes_or_new(None, 3.4, 2.7)


def layer_panel(report: FeatureReport, layer: str, shape: Sequence[int] | None) -> str:
    """Return all about one layer: sentences, matrices, spectra and numbers; ``shape`` is that of an image input."""
    entry = next(entry for entry in report.rows if entry["layer"] == layer)
    entry.load(COLUMNS)  # together, which shares decompositions
    made = prose(" ".join(describe_layer(entry)))
    names = measured_matrices(report, layer)
    if names:
        made += _matrices(report, layer, names, shape)
    else:
        try:
            report.matrix(layer, "nfm")
        except Unavailable as error:
            made += note(text(error))
    spectra = [_spectrum_line(report, layer, name) for name in _PSD if _has_spectrum(report, layer, name)]
    if spectra:
        alt = f"spectra of layer {layer}: {', '.join(line.name for line in spectra)}"
        made += lines(spectra, alt, x="log₁₀ of the direction's number", y="log₁₀ of the eigenvalue (largest = 1)")
    numbers = [
        (COLUMNS[name], number(float(entry[name])))
        for name in COLUMNS
        if isinstance(entry[name], float) and math.isfinite(float(entry[name]))
    ]
    return made + folded(f"All {len(numbers)} numbers of layer {layer}", facts(numbers, f"layer {layer}"))


def first_layer_directions(report: FeatureReport, shape: Sequence[int] | None) -> str:
    """Return the strongest directions of the first layer as images; nothing without the shape of its input."""
    if shape is None:
        return ""
    layer, made = report.layers[0], ""
    for name, about in (
        ("agop", "Directions of AGOP: the outputs are most sensitive to these patterns of the input."),
        ("nfm", "Directions of WᵀW: the weights are largest along these patterns."),
    ):
        if not _has_spectrum(report, layer, name):
            continue
        values = np.asarray(report.spectrum(layer, name), dtype=float)
        pictures = ""
        for i, vector in enumerate(np.asarray(report.directions(layer, name, _DIRECTIONS), dtype=float)):
            channels = image_of(vector, shape)
            flat = channels[0] if len(channels) == 1 else np.concatenate([*channels], axis=1)
            share = f"{values[i] / values.sum():.1%} of the trace"
            pictures += heat_map(flat, f"direction {i + 1} of {TITLES[name]}, {share}", caption=share)
        made += prose(about) + tag("div", pictures, class_="side tight")
    beside = " The channels of an image are side by side." if len(shape) == 3 and shape[0] > 1 else ""
    return made + note(text(f"Red above 0, blue below; the sign of a direction is arbitrary.{beside}"))


def largest_inputs(weights: Float[np.ndarray, " d"]) -> np.ndarray:
    """Return the numbers of the inputs whose part of a matrix is shown: all, or the largest of a wide layer.

    >>> largest_inputs(np.ones(3))
    array([0, 1, 2])
    """
    d = len(weights)
    return np.arange(d) if d <= 4 * MOST_INPUTS else np.sort(np.argsort(-weights, kind="stable")[:MOST_INPUTS])


def _spectrum_line(report: FeatureReport, layer: str, name: str) -> Line:
    """Return a spectrum on log scales, at a few evenly spaced directions."""
    values = np.asarray(report.spectrum(layer, name), dtype=float)
    values = values[values > _SMALLEST_EIGENVALUE * values[0]]
    some = np.unique(np.geomspace(1, len(values), _SPECTRUM_POINTS).astype(int)) - 1
    return Line(TITLES[name], np.log10(some + 1).tolist(), np.log10(values[some] / values[0]).tolist())


def _has_spectrum(report: FeatureReport, layer: str, name: str = "nfm") -> bool:
    try:
        return len(report.spectrum(layer, name)) > 0
    except Unavailable:
        return False


def _matrices(report: FeatureReport, layer: str, names: Sequence[str], shape: Sequence[int] | None) -> str:
    """Return the matrices side by side, and of an image input also their diagonals as images."""
    matrices = {name: np.asarray(report.matrix(layer, name), dtype=float) for name in names}
    entry = next(entry for entry in report.rows if entry["layer"] == layer)
    pick, d = largest_inputs(matrices["nfm"].diagonal()), len(matrices["nfm"])
    made, images = "", ""
    for name, M in matrices.items():
        cosine = "" if name == "nfm" else f"{report.similarity(layer, 'nfm', name):.3f}"
        chance = float(entry[_CHANCE[name]]) if name in _CHANCE else math.nan
        if math.isfinite(chance):
            cosine += f", by chance {chance:.3f}"
        alt = f"matrix {TITLES[name]}" + (f", cosine with WᵀW {cosine}" if cosine else "")
        caption = TITLES[name] + (f" (cos {cosine})" if cosine else "")
        part = M[np.ix_(pick, pick)]
        bound = float(np.quantile(np.abs(part), 0.995)) or float(np.abs(part).max())
        made += heat_map(part, alt, caption=caption, bound=bound)
        if shape is not None:
            image = np.abs(image_of(M.diagonal(), shape)).sum(axis=0)
            about = f"diagonal of {TITLES[name]}"
            images += heat_map(image, about, caption=about, colours=AMOUNT)
    which = "" if len(pick) == d else f" The {len(pick)} of {d} inputs with the largest weights are shown."
    about = f"cos: cosine with WᵀW. Each picture has its own scale, which 0.5% of its entries exceed.{which}"
    made = tag("div", made, class_="side tight") + note(text(about))
    if not images:
        return made
    return made + tag("div", images, class_="side tight") + note("The diagonals as images: the weight of each pixel.")
