"""Displays of networks, made ``from_report`` (a FeatureReport) or ``from_monitor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from gramian.report import layer_figures, network_figures
from gramian.report.displays import D, Display


class ReportDisplay(Display):
    """A figure of a report, such as those below."""

    @classmethod
    def from_report(cls: type[D], report: Any, *, ax: Axes | None = None, **options: Any) -> D:
        """Draw what :func:`gramian.nets.inspect` returned; options are those of the function named above."""
        return cls(report, **options).plot(ax)


class AlignmentDisplay(ReportDisplay):
    """Cosines with WᵀW over the layers: :func:`plot_alignment`.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> AlignmentDisplay.from_report(inspect(torch.nn.Linear(3, 1), torch.eye(3))).ax_.get_ylabel()
    'cosine with WᵀW'
    """

    _draw = staticmethod(network_figures.plot_alignment)


class RanksDisplay(ReportDisplay):
    """Effective ranks over the layers: :func:`plot_ranks`.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> RanksDisplay.from_report(inspect(torch.nn.Linear(3, 1), torch.eye(3))).ax_.get_ylabel()
    'effective rank'
    """

    _draw = staticmethod(network_figures.plot_ranks)


class GeometryDisplay(ReportDisplay):
    """Target linearity and NC4 over the layers: :func:`plot_geometry`.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    >>> report = inspect(torch.nn.Linear(3, 1), (X, X[:, :1]), loss="mse")
    >>> len(GeometryDisplay.from_report(report).ax_.lines)
    1
    """

    _draw = staticmethod(network_figures.plot_geometry)


class SpectraDisplay(ReportDisplay):
    """Eigenvalues of feature matrices: :func:`plot_spectra`, with its ``layers`` and ``names``.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> report = inspect(torch.nn.Linear(3, 2), torch.eye(3))
    >>> len(SpectraDisplay.from_report(report, names=("nfm", "agop")).ax_.lines)
    2
    """

    _draw = staticmethod(network_figures.plot_spectra)


class LayerMatrixDisplay(ReportDisplay):
    """A feature matrix of a layer: :func:`plot_layer_matrix`, with its ``layer``, ``name`` and ``shape``.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> report = inspect(torch.nn.Linear(3, 2), torch.eye(3))
    >>> LayerMatrixDisplay.from_report(report, layer="model", name="agop").ax_.get_title()
    'AGOP (cos 1.000)'
    """

    _draw = staticmethod(layer_figures.plot_layer_matrix)


class LayerDirectionsDisplay(ReportDisplay):
    """Directions of a layer that reads images: :func:`plot_layer_directions`, with its ``shape``, ``layer``, ``k``.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> report = inspect(torch.nn.Linear(4, 2), torch.eye(4))
    >>> len(LayerDirectionsDisplay.from_report(report, shape=(2, 2), k=1).ax_.images)
    1
    """

    _draw = staticmethod(layer_figures.plot_layer_directions)


class TrajectoryDisplay(Display):
    """Numbers of one layer over training: :func:`plot_trajectory`.

    >>> import torch
    >>> from gramian.nets import Monitor
    >>> monitor = Monitor(torch.nn.Linear(3, 1), torch.eye(3))
    >>> _ = monitor.measure()
    >>> TrajectoryDisplay.from_monitor(monitor).ax_.get_xlabel()
    'training step'
    """

    _draw = staticmethod(network_figures.plot_trajectory)

    @classmethod
    def from_monitor(
        cls: type[D],
        monitor: Any,
        *,
        layer: str | None = None,
        columns: Sequence[str] = ("nfa_cos", "c_nfa_cos", "fact_cos"),
        ax: Axes | None = None,
        **options: Any,
    ) -> D:
        """Draw what a :class:`gramian.nets.Monitor` has measured in a layer, the first by default."""
        if monitor.report is None:
            raise ValueError("nothing was measured yet: call step() or measure()")
        layer = monitor.report.layers[0] if layer is None else layer
        return cls(monitor, layer=layer, columns=columns, **options).plot(ax)
