"""``write_report`` and ``write_comparison``: what a thing is decides which page it gets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gramian.core.atomic import atomic_write
from gramian.nets import FeatureReport
from gramian.report.model.comparison import comparison_page
from gramian.report.model.page import model_page
from gramian.report.network_comparison import network_comparison_page
from gramian.report.network_page import network_page
from gramian.rfm.base import BaseRFM


def write_report(
    thing: Any,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    y: Any = None,
    title: str | None = None,
    card: Mapping[str, str] | None = None,
    monitor: Any = None,
    image_shape: tuple[int, ...] | None = None,
    layers: Sequence[str] | None = None,
) -> Path:
    """Write one HTML page about a fitted model or an inspected network: a single file that needs no network access.

    Parameters
    ----------
    thing : fitted RFMRegressor or RFMClassifier, or FeatureReport
    path : path
        Of the file; its folder is made, and an old file is replaced.
    X, y : table (n, d) and targets, optional
        Rows the model was not fitted to. Scores, calibration and coverage are taken on them, and a few are explained;
        without them scores are those on rows the fit had held out. X alone is enough for explanations.
    title : str, optional
    card : mapping, optional
        What only you know, for the model card: ``"intended use"``, ``"authors"``, ``"source of the data"`` and so on.
        What is left out is said to be unknown.
    monitor : Monitor, optional
        Of a network: adds its training.
    image_shape : (height, width) or (channels, height, width), optional
        Of what a network's first layer reads (the patch, for a convolution): its directions are drawn as images.
    layers : sequence of str, optional
        Layers of a network to show one by one; the first 24 by default, all of them in the table.

    Returns
    -------
    Path
        Of the file that was written.

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
    if isinstance(thing, BaseRFM):
        _only("a network", monitor=monitor, image_shape=image_shape, layers=layers)
        check_is_fitted(thing)
        return _written(model_page(thing, X, y, title, card), path)
    if isinstance(thing, FeatureReport):
        _only("a model", X=X, y=y, card=card)
        called = title or "An inspected network"
        html = network_page(thing, title=called, monitor=monitor, image_shape=image_shape, layers=layers)
        return _written(html, path)
    raise ValueError(
        f"thing must be a fitted RFMRegressor or RFMClassifier, or a FeatureReport, got {type(thing).__name__}"
    )


def write_comparison(
    a: Any,
    b: Any,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    y: Any = None,
    names: tuple[str, str] = ("A", "B"),
    title: str | None = None,
) -> Path:
    """Write one HTML page that sets two things side by side.

    Two models: scores, importances, matrices, disagreements. Two inspected networks: how weights and features moved,
    layer by layer. A model and a network: its matrix beside those of the first layer.

    Parameters
    ----------
    a, b : fitted estimators, FeatureReports, or one of each
        Models of the same target and the same columns.
    path : path
    X, y : table (n, d) and targets, optional
        Rows neither was fitted to. With them the difference of each score has a paired interval: the same resampled
        rows for both. X alone shows where the two disagree.
    names : pair of str
        What to call them.
    title : str, optional

    Returns
    -------
    Path
        Of the file that was written.

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
    if isinstance(a, BaseRFM) and isinstance(b, BaseRFM):
        check_is_fitted(a)
        check_is_fitted(b)
        return _written(comparison_page((a, b), X, y, called, title), path)
    if all(isinstance(thing, BaseRFM | FeatureReport) for thing in (a, b)):
        _only("two models", X=X, y=y)
        return _written(network_comparison_page(a, b, names=called, title=title), path)
    raise ValueError(f"a and b must be fitted models or FeatureReports, got {type(a).__name__} and {type(b).__name__}")


def _only(kind: str, **given: Any) -> None:
    """An argument that would change nothing is a mistake."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for the page of {kind}: leave it out")


def _written(html: str, path: str | os.PathLike[str]) -> Path:
    out = Path(path)
    if out.is_dir():
        raise ValueError(f"path must be that of a file, and {out} is a folder: add a name such as report.html")
    atomic_write(out, html)
    return out
