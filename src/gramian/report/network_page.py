"""The page of an inspected network: the table of its layers, each layer's matrices, its training, what was skipped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gramian.core import version
from gramian.nets.metrics import COLUMNS
from gramian.nets.record import Unavailable
from gramian.nets.table import SHOWN, headline, measured_columns
from gramian.report.figures import image_of
from gramian.report.network_figures import (
    LINES,
    TITLES,
    has_geometry,
    plot_alignment,
    plot_geometry,
    plot_ranks,
    plot_spectra,
)
from gramian.report.network_words import AT_REST, layer_words, report_words
from gramian.report.overview import measured
from gramian.report.style import AMOUNT, SERIES, axes_or_new
from gramian.report.web import (
    Section,
    facts,
    figure,
    folded,
    heat_map,
    lines,
    note,
    number,
    page,
    prose,
    row,
    shown,
    slider,
    table,
    tabs,
    tag,
    text,
    tiles,
)
from gramian.report.web.charts import Line

MOST_LAYERS = 24
"""Layers that are shown one by one unless others are asked for: each takes pictures."""
MOST_INPUTS = 64
"""A matrix with more than four times as many rows is shown for the inputs that weigh most."""
_TABS = 8
_POINTS = 60
_SPECTRUM_POINTS, _FLOOR = 24, 1e-8
_DIRECTIONS = 5
_PSD = ("nfm", "agop", "enfa")


def network_page(
    report: Any,
    *,
    title: str = "An inspected network",
    monitor: Any = None,
    image_shape: tuple[int, ...] | None = None,
    layers: Sequence[str] | None = None,
) -> str:
    """The page as text, for :func:`gramian.report.write_report`.

    Parameters
    ----------
    report : FeatureReport
    title : str
    monitor : Monitor, optional
        Adds the training.
    image_shape : (height, width) or (channels, height, width), optional
        Of the first layer's input (of its patch, for a convolution): its directions are then drawn as images.
    layers : sequence of str, optional
        Layers to show one by one; the first 24 by default.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> html = network_page(inspect(torch.nn.Linear(4, 2), torch.eye(4)), image_shape=(2, 2))
    >>> "Layer by layer" in html, "Training" in html
    (True, False)
    """
    if image_shape is not None:
        image_of(np.zeros(report.record(report.layers[0]).dim("nfm")), tuple(image_shape))  # says what does not fit
    if isinstance(layers, str) or not set(layers or ()) <= set(report.layers):
        known = ", ".join(map(repr, report.layers[:MOST_LAYERS])) + (" …" if len(report.layers) > MOST_LAYERS else "")
        raise ValueError(f"layers must be a list of names among {known}, got {layers!r}")
    chosen = list(report.layers[:MOST_LAYERS] if layers is None else layers)
    left = len(report.layers) - len(chosen)
    rest = (
        note(text(f"{left} more layers are in the table only: name them in layers= to see them here.")) if left else ""
    )
    panels = [
        (f"layer {name}", _layer(report, name, image_shape if name == report.layers[0] else None)) for name in chosen
    ]
    sections = [
        Section("What the numbers say", _words(report), "In words"),
        Section("Layers", _table(report)),
        Section("Across the layers", _across(report)),
        Section("Layer by layer", rest + choose("layer", panels)),
        Section("What the first layer looks for", _directions(report, image_shape), "First layer"),
        Section("Training", training(monitor)),
        Section("Not measured", _skipped(report)),
        Section("Settings", facts([*_settings(report), ("gramian", version.__version__)])),
    ]
    return page(title, headline(report.rows, report.settings), sections, top=_tiles(report))


def choose(name: str, panels: Sequence[tuple[str, str]]) -> str:
    """One of several panels: by tabs where they are few, by a slider where they are many."""
    if not panels:
        return ""
    return tabs(name, panels) if len(panels) <= _TABS else slider(name, panels)


def training(monitor: Any) -> str:
    """Cosines and effective ranks of each layer over training, and the loss."""
    if monitor is None:
        return ""
    if monitor.report is None:
        raise ValueError("monitor has measured nothing yet: call step() or measure()")
    steps = [float(step) for step in monitor.steps]
    some = np.unique(np.linspace(0, len(steps) - 1, min(_POINTS, len(steps))).astype(int))
    x = [steps[i] for i in some]

    def line(key: str, called: str) -> list[Line]:
        values = monitor.series(key)
        if all(math.isnan(value) for value in values):
            return []
        return [Line(called, x, [float(values[i]) for i in some])]

    def chart(series: list[Line], alt: str, y: str) -> str:
        return lines(series, alt, x="training step", y=y) if series else ""

    loss = line("loss", "loss")
    panels = []
    for layer in monitor.report.layers:
        cosines = [
            entry for name in ("nfa_cos", "c_nfa_cos", "fact_cos") for entry in line(f"{layer}/{name}", LINES[name][0])
        ]
        ranks = line(f"{layer}/effective_rank", "WᵀW") + line(f"{layer}/agop_effective_rank", "AGOP")
        both = chart(cosines, f"cosines with WᵀW of layer {layer} over training", "cosine with WᵀW")
        both += chart(ranks, f"effective ranks of layer {layer} over training", "effective rank")
        panels.append((f"layer {layer}", tag("div", both, class_="side")))
    about = f"{len(steps)} measurements in {shown(steps[-1])} steps, on a fixed set of samples."
    return note(text(about)) + chart(loss, "the loss over training", "loss") + choose("trained layer", panels)


def _tiles(report: Any) -> str:
    settings, rows = report.settings, report.rows
    found = [(str(len(rows)), "layers"), (f"{settings.get('samples', 0):,}", "samples")]
    if settings.get("loss") is not None:
        found.append((shown(settings["loss"], 3) if math.isfinite(settings["loss"]) else "–", "loss"))
    for name, called, pick in (
        ("nfa_half_cos", "lowest cosine with AGOP^½", min),
        ("fact_residual", "largest residual of FACT", max),
    ):
        values = [float(entry[name]) for entry in rows if math.isfinite(float(entry[name]))]
        if values:
            found.append((shown(pick(values), 3), called))
    return tiles(found)


def _words(report: Any) -> str:
    about = "".join(tag("li", text(words)) for words in report_words(report.rows))
    return tag("ul", about) if about else ""


def _table(report: Any) -> str:
    names = measured_columns(report.rows)
    heads = {SHOWN[name].heading: COLUMNS[name] for name in names}
    made = [
        row(
            str(entry["layer"]),
            _plain(entry["kind"]),
            _plain(entry["shape"]),
            *(_number(name, entry) for name in names),
        )
        for entry in report.rows
    ]
    about = {"layer": COLUMNS["layer"], "type": COLUMNS["kind"], "shape": COLUMNS["shape"], **heads}
    key = facts(about.items(), "what the columns say")
    return table(list(about), made, "dense", "layer-table", sort=True, hints=about) + folded(
        "What the columns say", key
    )


def _plain(value: object) -> str:
    return tag("td", text(value))


def _number(name: str, entry: Any) -> str:
    value = float(entry[name])
    return number(SHOWN[name].form(value), value) if math.isfinite(value) else number("–", None)


def _across(report: Any) -> str:
    made = figure(
        plot_alignment(report, _small()), "cosine of WᵀW with other matrices, layer by layer", "Agreement with WᵀW."
    )
    made += figure(
        plot_ranks(report, _small()), "effective ranks of WᵀW and AGOP, layer by layer", "How many directions are used."
    )
    if has_geometry(report):
        made += figure(
            plot_geometry(report, _small()), "target linearity and NC4, layer by layer", "Features and the target."
        )
    if all(_spectrum(report, layer) for layer in report.layers):
        about = "Eigenvalues of WᵀW, the largest set to 1."
        if len(report.layers) > len(SERIES):
            about += " From dark to light: from the first layer to the last."
        made += figure(plot_spectra(report, _small()), "spectra of WᵀW of all layers", about)
    return tag("div", made, class_="side")


def _falling(report: Any, layer: str, name: str) -> Line:
    """A spectrum on logarithmic scales, at directions that are even on them: much quicker than matplotlib's drawing."""
    values = np.asarray(report.spectrum(layer, name), dtype=float)
    values = values[values > _FLOOR * values[0]]
    some = np.unique(np.geomspace(1, len(values), _SPECTRUM_POINTS).astype(int)) - 1
    return Line(TITLES[name], np.log10(some + 1).tolist(), np.log10(values[some] / values[0]).tolist())


def _small() -> Axes:
    """Axes whose letters are as large as the page's when three stand side by side."""
    return axes_or_new(None, 3.4, 2.7)


def _spectrum(report: Any, layer: str, name: str = "nfm") -> bool:
    try:
        return len(report.spectrum(layer, name)) > 0
    except Unavailable:
        return False


def _layer(report: Any, layer: str, shape: tuple[int, ...] | None) -> str:
    entry = next(entry for entry in report.rows if entry["layer"] == layer)
    made = prose(" ".join(layer_words(entry)))
    names = measured(report, layer)
    if names:
        made += _pictures(report, layer, names, shape)
    else:
        try:
            report.matrix(layer, "nfm")
        except Unavailable as error:
            made += note(text(error))
    spectra = [_falling(report, layer, name) for name in _PSD if _spectrum(report, layer, name)]
    if spectra:
        alt = f"spectra of layer {layer}: {', '.join(line.name for line in spectra)}"
        made += lines(spectra, alt, x="log₁₀ of the direction's number", y="log₁₀ of the eigenvalue (largest = 1)")
    told = [
        (COLUMNS[name], shown(float(entry[name])))
        for name in COLUMNS
        if isinstance(entry[name], float) and math.isfinite(float(entry[name]))
    ]
    return made + folded(f"All {len(told)} numbers of layer {layer}", facts(told, f"layer {layer}"))


def _pictures(report: Any, layer: str, names: Sequence[str], shape: tuple[int, ...] | None) -> str:
    """Matrices side by side, those of wide layers for the inputs that weigh most; of an image their diagonals too."""
    matrices = {name: np.asarray(report.matrix(layer, name), dtype=float) for name in names}
    weights = matrices["nfm"].diagonal()
    d = len(weights)
    pick = np.arange(d) if d <= 4 * MOST_INPUTS else np.sort(np.argsort(-weights, kind="stable")[:MOST_INPUTS])
    made, images = "", ""
    for name, M in matrices.items():
        cosine = "" if name == "nfm" else f"{report.similarity(layer, 'nfm', name):.3f}"
        alt = f"matrix {TITLES[name]}" + (f", cosine with WᵀW {cosine}" if cosine else "")
        caption = TITLES[name] + (f" (cos {cosine})" if cosine else "")
        part = M[np.ix_(pick, pick)]
        bound = float(np.quantile(np.abs(part), 0.995)) or float(np.abs(part).max())
        made += heat_map(part, alt, caption=caption, bound=bound)
        if shape is not None:
            image = np.abs(image_of(M.diagonal(), shape)).sum(axis=0)
            images += heat_map(
                image, f"diagonal of {TITLES[name]}", caption=f"diagonal of {TITLES[name]}", colours=AMOUNT
            )
    which = "" if len(pick) == d else f" The {len(pick)} of {d} inputs with the largest weights are shown."
    about = f"cos: cosine with WᵀW. Each picture has its own scale, which 0.5% of its entries exceed.{which}"
    made = tag("div", made, class_="side tight") + note(text(about))
    if not images:
        return made
    return made + tag("div", images, class_="side tight") + note("The diagonals as images: how much each pixel counts.")


def _directions(report: Any, shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return ""
    layer, made = report.layers[0], ""
    for name, called in (
        ("agop", "Directions of AGOP: what the outputs answer to most."),
        ("nfm", "Directions of WᵀW: where the weights are largest."),
    ):
        if not _spectrum(report, layer, name):
            continue
        values = np.asarray(report.spectrum(layer, name), dtype=float)
        pictures = ""
        for i, vector in enumerate(np.asarray(report.directions(layer, name, _DIRECTIONS), dtype=float)):
            channels = image_of(vector, tuple(shape))
            flat = channels[0] if len(channels) == 1 else np.concatenate([*channels], axis=1)
            share = f"{values[i] / values.sum():.1%} of the trace"
            pictures += heat_map(flat, f"direction {i + 1} of {TITLES[name]}, {share}", caption=share)
        made += prose(called) + tag("div", pictures, class_="side tight")
    beside = " The channels of a picture stand side by side." if len(shape) == 3 and shape[0] > 1 else ""
    return made + note(text(f"Red above 0, blue below; the sign of a direction is a convention.{beside}"))


def _skipped(report: Any) -> str:
    if not report.skipped:
        return prose("Every layer with weights was measured.")
    return table(
        ["module", "why it was not measured"], [row(name, _plain(why)) for name, why in report.skipped.items()]
    )


def _settings(report: Any) -> list[tuple[str, object]]:
    called = {
        "samples": "samples", "outputs": "outputs", "projections": "random projections of the outputs",
        "loss_name": "loss", "classes": "classes", "ridge": "ridge of the target linearity",
        "step": "step η of the virtual covariance shift", "seed": "seed of projections and probes",
    }  # fmt: skip
    absent = {"projections": "none: every output was taken", "loss_name": "none was given", "classes": "none"}
    return [
        (words, report.settings.get(name) or absent.get(name, report.settings.get(name)))
        for name, words in called.items()
    ] + [("a layer is called at rest", f"at a residual of FACT of at most {AT_REST:.0%}")]
