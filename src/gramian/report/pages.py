"""``write_report`` and ``write_comparison``: pages about one model or network, and about two."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from gramian.core.atomic import atomic_write
from gramian.nets import FeatureReport, Monitor, Trajectory, WeightReport
from gramian.report.model.comparison import model_comparison_page
from gramian.report.model.page import model_page
from gramian.report.network.comparison import network_comparison_page
from gramian.report.network.page import network_page
from gramian.report.network.trajectory import trajectory_page
from gramian.report.network.weights import weight_page
from gramian.rfm import RFMClassifier, RFMRegressor
from gramian.tables.types import TableLike, TargetLike


def write_report(
    subject: RFMClassifier | RFMRegressor | FeatureReport | WeightReport | Trajectory,
    path: str | os.PathLike[str],
    *,
    X: TableLike = None,
    y: TargetLike = None,
    title: str | None = None,
    card: Mapping[str, str] | None = None,
    target: str | None = None,
    scored_by: RFMClassifier | RFMRegressor | None = None,
    monitor: Monitor | None = None,
    image_shape: Sequence[int] | None = None,
    layers: Sequence[str] | None = None,
) -> Path:
    """Write one HTML page about a fitted model or an inspected network: a single file that needs no network access.

    Parameters
    ----------
    subject : fitted RFMRegressor or RFMClassifier, or FeatureReport, WeightReport or Trajectory
    path : path
        Path of the file. Its folder is created, and an existing file is replaced.
    X, y : table (n, d) and targets, optional
        Of a model: rows it was not fitted to. Scores, errors and calibration are computed on them, and a few are
        explained. Without them, scores are those of holdout rows of the fit. X alone is enough for explanations.
    title : str, optional
    card : mapping, optional
        Of a model: entries of the model card that only you know, such as ``"intended use"``, ``"authors"`` or
        ``"source of the data"``. Entries without a value are shown as unknown.
    target : str, optional
        Of a model: name of the target, for the sentences of the summary; by default that of a pandas Series ``y``.
    scored_by : fitted RFMRegressor or RFMClassifier, optional
        Of a model that was fitted to all rows: a model with the same settings that was fitted without the rows X.
        Scores, errors and calibration are those of its predictions, and the page says so; all other sections describe
        ``subject``. ``gramian fit`` writes such a page.
    monitor : Monitor, optional
        Of a network: adds a section on its training.
    image_shape : (height, width) or (channels, height, width), optional
        Of a network: shape of the first layer's input, or of the patch of a convolution. Its directions are then drawn
        as images.
    layers : sequence of str, optional
        Of a network: layers that have a panel of their own, by default the first 24. All layers are in the table.

    Returns
    -------
    Path
        Path of the file.

    >>> import tempfile
    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> rows = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(rows[:60], rows[:60, 0] ** 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_report(model, f"{folder}/report.html", X=rows[60:], y=rows[60:, 0] ** 2)
    ...     "Importances" in written.read_text(encoding="utf-8")
    True
    """
    if isinstance(subject, RFMClassifier | RFMRegressor):
        _only("a network", monitor=monitor, image_shape=image_shape, layers=layers)
        return _written(model_page(subject, X, y, title, card, target, scored_by), path)
    if isinstance(subject, FeatureReport):
        _only("a model", X=X, y=y, card=card, target=target, scored_by=scored_by)
        heading = title or "An inspected network"
        html = network_page(subject, title=heading, monitor=monitor, image_shape=image_shape, layers=layers)
        return _written(html, path)
    if isinstance(subject, WeightReport | Trajectory):
        _only("a model", X=X, y=y, card=card, target=target, scored_by=scored_by)
        _only("a network that was measured on data", monitor=monitor, image_shape=image_shape)
        if isinstance(subject, WeightReport):
            return _written(weight_page(subject, title=title, layers=layers), path)
        return _written(trajectory_page(subject, title=title or "Checkpoints of a training run", layers=layers), path)
    raise ValueError(
        "subject must be a fitted RFMRegressor or RFMClassifier, a FeatureReport, a WeightReport or a Trajectory, got "
        f"{type(subject).__name__}"
    )


def write_comparison(
    a: RFMClassifier | RFMRegressor | FeatureReport,
    b: RFMClassifier | RFMRegressor | FeatureReport,
    path: str | os.PathLike[str],
    *,
    X: TableLike = None,
    y: TargetLike = None,
    names: tuple[str, str] = ("A", "B"),
    title: str | None = None,
) -> Path:
    """Write one HTML page that compares two models, two inspected networks, or a model and a network.

    The page about two models compares scores, importances, matrices and predictions. The page about two networks
    compares weights and features layer by layer. The page about a model and a network compares the model's matrix with
    those of the first layer.

    Parameters
    ----------
    a, b : fitted estimators, FeatureReports, or one of each
        Two models must have the same target and the same columns.
    path : path
        Path of the file. Its folder is created, and an existing file is replaced.
    X, y : table (n, d) and targets, optional
        Of two models: rows that neither was fitted to. With them, the difference of each score has a paired interval,
        from the same resampled rows for both. X alone shows the rows on which the two disagree.
    names : pair of str
        Names of the two on the page.
    title : str, optional

    Returns
    -------
    Path
        Path of the file.

    >>> import tempfile
    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> rows = np.random.default_rng(0).normal(size=(120, 3))
    >>> target = np.sin(2 * rows[:, 0])
    >>> a, b = (RFMRegressor(preset="fast", n_rounds=t).fit(rows[:60], target[:60]) for t in (0, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_comparison(a, b, f"{folder}/two.html", X=rows[60:], y=target[60:], names=("plain", "learned"))
    ...     "learned − plain" in path.read_text(encoding="utf-8")
    True
    """
    called = (str(names[0]), str(names[1])) if len(names) == 2 else ("", "")
    if not all(called) or called[0] == called[1]:
        raise ValueError(f"names must be two different texts, got {names!r}")
    if isinstance(a, RFMClassifier | RFMRegressor) and isinstance(b, RFMClassifier | RFMRegressor):
        return _written(model_comparison_page((a, b), X, y, called, title), path)
    if all(isinstance(subject, RFMClassifier | RFMRegressor | FeatureReport) for subject in (a, b)):
        _only("two models", X=X, y=y)
        return _written(network_comparison_page(a, b, names=called, title=title), path)
    raise ValueError(f"a and b must be fitted models or FeatureReports, got {type(a).__name__} and {type(b).__name__}")


def _only(kind: str, **given: object) -> None:
    """Refuse arguments that would have no effect on this page."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for the page of {kind}: leave it out")


def _written(html: str, path: str | os.PathLike[str]) -> Path:
    out = Path(path)
    if out.is_dir():
        raise ValueError(f"path must be that of a file, and {out} is a folder: add a name such as report.html")
    atomic_write(out, html)
    return out
