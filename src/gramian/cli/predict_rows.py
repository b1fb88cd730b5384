"""The work of ``gramian predict``: one evaluation of the model for predictions, probabilities and intervals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from gramian.cli.log_lines import LogLines
from gramian.core.progress import progress
from gramian.core.tiles import spans
from gramian.rfm.uncertainty.regions import class_sets, interval_reach
from gramian.tables import unseen_levels
from gramian.tables.targets import ClassTarget, NumericTarget

if TYPE_CHECKING:
    import pandas as pd

    from gramian import RFMClassifier, RFMRegressor
    from gramian.rfm.model import FittedRFM
    from gramian.tables.scaling import Array

_BATCH = 1000
"""Rows between two steps of the progress bar; the predictions do not depend on it."""
_NAMED_LEVELS = 5


def predict_rows(
    model: RFMClassifier | RFMRegressor, X: Any, proba: bool, interval: float | None, show: bool
) -> pd.DataFrame:
    """Return a frame with predictions, and on request probabilities and an interval or a set of classes.

    Parameters
    ----------
    model : RFMClassifier or RFMRegressor
    X : frame (n, d) or array (n, d)
    proba : bool
        Add the probability of each class.
    interval : float, optional
        Coverage of the interval, or of the set of classes.
    show : bool
        Draw a progress bar on a terminal, and write lines about the progress elsewhere.
    """
    import pandas as pd

    fitted = model.fitted()
    outputs = _outputs(fitted, X, show)
    predicted = np.asarray(fitted.target.predictions(outputs))
    columns: dict[str, Any] = {"prediction": predicted}
    if predicted.ndim > 1:
        columns = {f"prediction_{j}": predicted[:, j] for j in range(predicted.shape[1])}
    if isinstance(fitted.target, ClassTarget):
        labels = fitted.target.classes
        shares = np.exp(fitted.log_probabilities(outputs)) if proba or interval is not None else None
        if shares is not None and proba:
            columns |= {f"probability_{label}": shares[:, j] for j, label in enumerate(labels)}
        if shares is not None and interval is not None:
            chosen = class_sets(fitted, shares, interval)
            columns["set"] = ["|".join(map(str, labels[row])) for row in chosen]
    elif interval is not None:
        columns |= _bounds(fitted.target, outputs, interval_reach(fitted, interval))
    return pd.DataFrame(columns)


def join_columns(kept: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Return the kept columns of the table followed by the predictions; equal names are a ValueError."""
    import pandas as pd

    both = [str(name) for name in predicted if name in kept.columns]
    if both:
        raise ValueError(
            f"the table has a column {both[0]!r}, and so have the predictions: rename it, or do not --keep it"
        )
    return pd.concat([kept.reset_index(drop=True), predicted], axis=1)


def note_unseen(model: RFMClassifier | RFMRegressor, X: Any) -> None:
    """Write a line on standard error for each column with levels that no training row has."""
    encoder = getattr(model, "encoder_", None)
    for name, levels in unseen_levels(encoder, X).items():
        rows = sum(levels.values())
        listed = ", ".join(f"{level} ({n:,})" for level, n in list(levels.items())[:_NAMED_LEVELS])
        more = f", and {len(levels) - _NAMED_LEVELS:,} more" if len(levels) > _NAMED_LEVELS else ""
        who = "1 row has" if rows == 1 else f"{rows:,} rows have"
        click.echo(f"Note: {who} a {name!r} that the model does not know from its training: {listed}{more}", err=True)


def note_bare_percent(model: RFMClassifier | RFMRegressor, X: Any) -> None:
    """Write a line on standard error for each column of percent in which no entry has the sign: 0.2 may mean 20%."""
    encoder = getattr(model, "encoder_", None)
    for record in [] if encoder is None else encoder.records_:
        if record.kind == "percent" and record.name in getattr(X, "columns", ()):
            texts = [str(value) for value in X[record.name].dropna()]
            bare = [text for text in texts if text.strip("0.")]
            if bare and not any("%" in text for text in texts):
                said = f"{record.name!r} was fitted to percent, and has no % here: {bare[0]} is read as {bare[0]}%"
                click.echo(f"Note: {said}", err=True)


def _outputs(fitted: FittedRFM, X: Any, show: bool) -> Array:
    """Return the outputs of the model, a batch of rows at a time, with a bar or with lines about the progress."""
    rows = fitted.preprocessing.encode(X)
    parts = list(spans(len(rows), _BATCH))
    lines = LogLines("predicting", "rows")
    found = []
    with progress("predicting", len(parts), show=show and len(parts) > 1) as tick:
        for part in parts:
            found.append(fitted.outputs_at(fitted.preprocessing.scaler.transform(rows[part])))
            tick()
            if not sys.stderr.isatty():
                lines.step(part.stop, len(rows))
    return np.concatenate(found)


def _bounds(target: NumericTarget, outputs: Array, reach: Array) -> dict[str, Array]:
    low, high = target.interval(outputs, reach)
    if low.ndim == 1:
        return {"lower": low, "upper": high}
    return {f"{end}_{j}": ends[:, j] for j in range(low.shape[1]) for end, ends in (("lower", low), ("upper", high))}
