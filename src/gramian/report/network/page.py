"""The page about one inspected network."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gramian.core import version
from gramian.display import Column, Table
from gramian.nets import FeatureReport, Monitor
from gramian.nets.table import PARTLY_ALIGNED, TABLE_COLUMNS, headline, skipped_by_reason
from gramian.report.figures.matrices import image_of
from gramian.report.network.layers import across_layers, first_layer_directions, layer_panel, layers_table
from gramian.report.network.sentences import CONVERGED, beyond_chance, describe_network
from gramian.report.network.training import training
from gramian.report.web import PageSection, facts, note, number, page, panels, prose, table, tag, text, tiles

MOST_LAYERS = 24
"""Number of layers that have a panel of their own unless others are asked for; each panel contains pictures."""


def network_page(
    report: FeatureReport,
    *,
    title: str = "An inspected network",
    monitor: Monitor | None = None,
    image_shape: Sequence[int] | None = None,
    layers: Sequence[str] | None = None,
) -> str:
    """Return the page as text, for :func:`gramian.report.write_report`.

    Parameters
    ----------
    report : FeatureReport
    title : str
    monitor : Monitor, optional
        Adds a section on the training.
    image_shape : (height, width) or (channels, height, width), optional
        Shape of the first layer's input, or of the patch of a convolution: its directions are then drawn as images.
    layers : sequence of str, optional
        Layers that have a panel of their own; the first 24 by default.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> html = network_page(inspect(torch.nn.Linear(4, 2), torch.eye(4)), image_shape=(2, 2))
    >>> "Layer by layer" in html, "Training" in html
    (True, False)
    """
    if image_shape is not None:
        # raises an error if the shape does not fit the layer
        image_of(np.zeros(report.record(report.layers[0]).dim("nfm")), image_shape)
    if isinstance(layers, str) or not set(layers or ()) <= set(report.layers):
        known = ", ".join(map(repr, report.layers[:MOST_LAYERS])) + (" …" if len(report.layers) > MOST_LAYERS else "")
        raise ValueError(f"layers must be a list of names among {known}, got {layers!r}")
    report.loaded_rows(TABLE_COLUMNS)  # together, which shares decompositions
    sections = [
        PageSection("Summary", _summary(report)),
        PageSection("Layers", layers_table(report)),
        PageSection("Across the layers", across_layers(report)),
        PageSection("Layer by layer", _layer_panels(report, layers, image_shape)),
        PageSection("Directions of the first layer", first_layer_directions(report, image_shape), "First layer"),
        PageSection("Training", training(monitor)),
        PageSection("Not measured", _skipped(report)),
        PageSection("Settings", facts([*_settings(report), ("gramian", version.__version__)])),
    ]
    return page(title, headline(report.rows, report.settings), sections, top=_tiles(report))


def _layer_panels(report: FeatureReport, layers: Sequence[str] | None, image_shape: Sequence[int] | None) -> str:
    chosen = list(report.layers[:MOST_LAYERS] if layers is None else layers)
    left = len(report.layers) - len(chosen)
    rest = f"{left} more layers are in the table only: name them in layers= to see them here."
    first = report.layers[0]
    found = [(f"layer {name}", layer_panel(report, name, image_shape if name == first else None)) for name in chosen]
    return (note(text(rest)) if left else "") + panels("layer", found)


def _tiles(report: FeatureReport) -> str:
    samples, loss, rows = report.settings.get("samples"), report.settings.get("loss"), report.rows
    found = [(number(len(rows)), "layers"), (number(float(samples or 0)), "samples")]
    if loss is not None:
        found.append((number(float(loss), 3), "loss"))
    judged = [value for entry in rows if (value := beyond_chance(entry)) is not None]
    if judged:
        above = sum(value >= PARTLY_ALIGNED for value in judged)
        found.append((f"{above} of {len(judged)}", "layers aligned beyond chance"))
    residuals = [float(entry["fact_residual"]) for entry in rows if math.isfinite(float(entry["fact_residual"]))]
    if residuals:
        found.append((number(max(residuals), 3), "largest residual of FACT"))
    return tiles(found)


def _summary(report: FeatureReport) -> str:
    sentences = "".join(tag("li", text(words)) for words in describe_network(report.rows))
    return tag("ul", sentences) if sentences else ""


def _skipped(report: FeatureReport) -> str:
    if not report.skipped:
        return prose("Every layer with weights was measured.")
    rows = [list(pair) for pair in skipped_by_reason(report.skipped)]
    return table(Table(["modules", Column("reason", "left")], rows))


def _settings(report: FeatureReport) -> list[tuple[str, object]]:
    about = {
        "samples": "samples", "outputs": "outputs", "projections": "random projections of the outputs",
        "loss_name": "loss", "classes": "classes", "ridge": "ridge of the target linearity",
        "step": "step η of the virtual covariance shift", "seed": "seed of projections and probes",
    }  # fmt: skip
    absent = {"projections": "none: all outputs were used", "loss_name": "none was given", "classes": "none"}
    facts: list[tuple[str, object]] = [
        (words, report.settings.get(name) or absent.get(name, report.settings.get(name)))
        for name, words in about.items()
    ]
    return [*facts, ("a layer is said to have converged", f"at a residual of FACT of at most {CONVERGED:.0%}")]
