"""Figures drawn from records, in one style."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.figure import Figure

from gramian.core.atomic import atomic_write
from gramian.core.error_text import one_line
from gramian.experiments.registry import Experiment
from gramian.records import Record
from gramian.report.style import AMOUNT, GREY, SERIES

log = logging.getLogger(__name__)
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#B0B0B0",
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=[*SERIES, GREY]),
    "xtick.color": "#B0B0B0",
    "ytick.color": "#B0B0B0",
    "xtick.labelcolor": "#303030",
    "ytick.labelcolor": "#303030",
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "image.cmap": AMOUNT,
    "image.interpolation": "nearest",
    "svg.fonttype": "path",
    "svg.hashsalt": "gramian",
}
"""Settings of matplotlib while a figure is drawn and saved; colours from :mod:`gramian.report.style`."""
_SIZE = (7.2, 3.4)
_LARGEST_SVG = 250_000
"""Bytes; above this size a figure of many points is smaller as PNG."""


def draw(experiment: Experiment, records: Sequence[Record]) -> Figure | None:
    """Draw the figure of an experiment from its finished records; None without a figure or without records.

    ``experiment.draw(records, figure)`` receives an empty figure with a constrained layout, and may change its size.
    """
    finished = [record for record in records if not record["error"]]
    if experiment.draw is None or not finished:
        return None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        experiment.draw(finished, figure)
    return figure


def write(experiment: Experiment, records: Sequence[Record], stem: Path, since: float = inf) -> Path | str | None:
    """Draw and save the figure as SVG, or as PNG where that is much smaller.

    Parameters
    ----------
    experiment : Experiment
    records : sequence of Record
    stem : path
        The path of the file without its suffix.
    since : float
        A file newer than this time (as ``Path.stat`` gives it) is not drawn again.

    Returns
    -------
    path, str or None
        The file; or the reason why it cannot be drawn (records of some specs may be missing); None without a figure.
    """
    for suffix in (".svg", ".png"):
        path = stem.with_suffix(suffix)
        if path.exists() and path.stat().st_mtime > since:
            return path
    try:
        figure = draw(experiment, records)
        if figure is None:
            return None
        suffix, content = _saved(figure)
    except Exception as error:  # one figure that fails must not remove the page
        log.warning("%s: the figure cannot be drawn: %s", experiment.id, one_line(error))
        return one_line(error)
    for old in (".svg", ".png"):
        stem.with_suffix(old).unlink(missing_ok=True)
    path = stem.with_suffix(suffix)
    atomic_write(path, content)
    return path


def _saved(figure: Figure) -> tuple[str, bytes]:
    buffer = BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        if buffer.tell() <= _LARGEST_SVG:
            return ".svg", buffer.getvalue()
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return ".png", buffer.getvalue()
