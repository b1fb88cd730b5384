"""Figures of a result of the demonstration."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from matplotlib.axes import Axes

from gramian.core.atomic import atomic_write
from gramian.demo.tasks import DemoResult
from gramian.report import plot_directions, plot_feature_matrix, plot_image_features, plot_importances, plot_rounds

_DPI = 150


def write_figures(result: DemoResult, folder: Path) -> list[Path]:
    """Draw the figures of a result as PNG files in a folder, and return their paths."""
    model = result.comparison.model
    axes: dict[str, Axes] = {"rounds": plot_rounds(model)}
    if result.image_shape is not None:
        axes["pixels"] = plot_image_features(model, shape=result.image_shape, scale_bar=True)
    else:
        axes["importances"] = plot_importances(model, names=result.names)
        axes["matrix"] = plot_feature_matrix(model, names=result.names)
        axes["directions"] = plot_directions(model, names=result.names)
    paths = []
    for name, ax in axes.items():
        path = folder / f"{result.key}-{name}.png"
        buffer = BytesIO()
        ax.figure.savefig(buffer, dpi=_DPI, format="png")  # type: ignore[union-attr]
        atomic_write(path, buffer.getvalue())
        paths.append(path)
    return paths
