"""Target columns of tables on the command line: reading them, and scores of predictions beside a baseline."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def read_target(column: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return a mask of the rows with a target, and their targets as numbers, booleans or text.

    Numbers with a few words among them are more often a mistake in the table than classes: a ValueError names the words
    and the option that makes them empty cells.

    >>> import pandas as pd
    >>> known, y = read_target(pd.Series(["3", None, "4.5"]))
    >>> known.tolist(), y.tolist()
    ([True, False, True], [3.0, 4.5])
    """
    from gramian.tables.target_column import MOSTLY_NUMBERS, text_among_numbers, typed_column  # here: for quick help

    known = column.notna()
    y = typed_column(column[known])
    words, share = text_among_numbers(y)
    if words and share > MOSTLY_NUMBERS:
        named = " ".join(f"--missing {shlex.quote(word)}" for word in words[:5])
        raise ValueError(
            f"{share:.0%} of the target {column.name!r} are numbers, the rest is text such as "
            f"{', '.join(map(repr, words[:5]))}: {named} leaves those rows out (or make all of it text)"
        )
    return known, y


def score_with_baseline(model: Any, X: Any, y: Any, y_fitted: Any) -> dict[str, dict[str, float]]:
    """Score a model on held-out rows, and a baseline that predicts the mean or the most frequent class of its rows."""
    from sklearn.metrics import (  # here: help needs none of it
        accuracy_score,
        log_loss,
        mean_absolute_error,
        r2_score,
        roc_auc_score,
        root_mean_squared_error,
    )

    if not hasattr(model, "classes_"):
        truth, predicted = np.asarray(y, dtype=float), model.predict(X)
        mean = np.full(len(truth), float(np.mean(y_fitted)))
        scores = {"R²": r2_score, "RMSE": root_mean_squared_error, "MAE": mean_absolute_error}
        return {name: {"model": f(truth, predicted), "baseline": f(truth, mean)} for name, f in scores.items()}
    truth = np.asarray(y)
    shares = np.array([np.mean(np.asarray(y_fitted) == label) for label in model.classes_])
    most_frequent = np.full(len(truth), model.classes_[shares.argmax()], dtype=model.classes_.dtype)
    proba = model.predict_proba(X)
    accuracy = {
        "model": accuracy_score(truth, model.predict(X)),
        "baseline": accuracy_score(truth, most_frequent),
    }
    found = {"accuracy": accuracy}
    if np.isin(truth, model.classes_).all():
        constant = np.tile(shares, (len(truth), 1))
        losses = (log_loss(truth, p, labels=model.classes_) for p in (proba, constant))
        found["log loss"] = dict(zip(("model", "baseline"), losses, strict=True))
        if len(model.classes_) == 2 and len(np.unique(truth)) == 2:
            found["AUC"] = {"model": roc_auc_score(truth, proba[:, 1]), "baseline": 0.5}
    return found
