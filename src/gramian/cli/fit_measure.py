"""The fits of ``gramian fit``: one without the held-out rows, which is scored, and one to all rows, which is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from gramian import RFMClassifier, RFMRegressor
from gramian.cli.fit_data import FitData
from gramian.cli.interrupts import noticing_interrupts
from gramian.cli.remarks import without_repeated_remarks
from gramian.core.splits import hold_out
from gramian.core.warn import warn
from gramian.report.model.measures import Score, scores
from gramian.report.model.predictions import predictions_for
from gramian.tables.split_columns import split_condition

if TYPE_CHECKING:
    import pandas as pd

Estimator = RFMClassifier | RFMRegressor
Options = Mapping[str, str | float | int]
_NAMED_CLASSES = 5
"""Classes that a warning names at most."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The fit without the held-out rows, those rows, and the scores of its predictions for them."""

    model: Estimator
    n_fitted: int
    X: pd.DataFrame
    y: pd.Series
    scores: list[Score]


@dataclass(frozen=True, eq=False)
class FitResult:
    """The model to save, the number of rows that its fit was given, and the fit that was scored if there is one.

    Both are the same model if the second fit was interrupted.
    """

    model: Estimator
    n_given: int
    interrupted: bool
    held_out: HeldOut | None = None


def fit_and_score(
    data: FitData, options: Options, test_size: float, seed: int, announce: Callable[[HeldOut], None]
) -> FitResult:
    """Fit to a part of the rows, score on the others, then fit to all; after Ctrl-C return the last complete model.

    Both fits have the same options, so that the scores are those of the procedure whose model is saved.

    Parameters
    ----------
    data : FitData
    options : mapping
        Arguments of the estimator.
    test_size : float
        Share of the rows that are held out; 0 for a single fit without scores.
    seed : int
        Seed of the split.
    announce : callable
        It is called with the scored fit, before the second fit begins.
    """
    make: Callable[..., Estimator] = RFMClassifier if data.task.classifies else RFMRegressor
    scored = None
    with noticing_interrupts() as interrupted, without_repeated_remarks():
        if test_size > 0:
            train, test = split_rows(data, test_size, seed)
            own = {name: values[train] for name, values in data.split_by.items()}
            model = make(**options).fit(data.X.iloc[train], data.y.iloc[train].to_numpy(), **own)
            held_out = _scored(model, len(train), data, test)
            scored = FitResult(model, len(train), interrupted(), held_out)
            if held_out is not None:
                announce(held_out)
            if scored.interrupted:
                return scored
        try:
            model = make(**options).fit(data.X, data.y.to_numpy(), **data.split_by)
        except KeyboardInterrupt:
            if scored is None:
                raise
        if scored is None:
            return FitResult(model, len(data.y), interrupted())
        if interrupted():
            # The scored model is complete; the one whose fit was interrupted may be anything.
            return replace(scored, interrupted=True)
        return replace(scored, model=model, n_given=len(data.y))


def split_rows(data: FitData, test_size: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return training and held-out rows: whole groups, the latest, or at random with a share of each class."""
    n = len(data.y)
    condition = split_condition(data.split_by.get("groups"), data.split_by.get("time"))
    if condition is not None:
        test, train = hold_out(n, max(1, round(test_size * n)), seed, condition)
        return train.sort().values.numpy(), test.numpy()
    stratified = data.task.classifies and data.y.value_counts().min() >= 2
    least = data.y.nunique() if stratified else 1
    held_out = max(round(test_size * n), least)
    if n - held_out < least:
        raise ValueError(
            f"--test-size {test_size:g} leaves {n - held_out} of {n} rows for the fit, which needs {least} or more: "
            "give a smaller share"
        )
    strata = data.y if stratified else None
    train, test = train_test_split(np.arange(n), test_size=held_out, random_state=seed, stratify=strata)
    return train, test


def named_importances(model: Estimator) -> dict[str, float]:
    """Return the importances of the user's columns by name, largest first: those of the page about the model."""
    found = model.importances(interval="given this fit")  # the shares are the same, and no refits are needed
    return {found.columns[j]: float(found.shares[j]) for j in found.order}


def _scored(model: Estimator, n_fitted: int, data: FitData, test: NDArray[np.intp]) -> HeldOut | None:
    """Score a fit on the held-out rows, without those of a class that no training row has: none can be predicted."""
    X, y = data.X.iloc[test], data.y.iloc[test]
    classes = model.fitted().classes
    known = np.ones(len(y), dtype=bool) if classes is None else np.isin(y.to_numpy(), classes)
    if not known.all():
        labels = sorted({repr(str(label)) for label in y[~known]})
        more = len(labels) - _NAMED_CLASSES
        named = ", ".join(labels[:_NAMED_CLASSES]) + (f" and {more:,} more" if more > 0 else "")
        warn(
            f"{(~known).sum():,} of {len(known):,} held-out rows are left out of the scores: no training row has the "
            f"{data.target} {named}, so a fit without these rows cannot predict it"
        )
    if not known.any():
        return None
    predictions = predictions_for(model.fitted(), X[known], y[known].to_numpy(), held_out=True)
    return HeldOut(model, n_fitted, X[known], y[known], scores(predictions))
