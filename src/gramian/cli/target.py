"""What to predict: the task a target column asks for, with the reason, and how good a prediction is."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

TASKS = ("auto", "regression", "classification")
_FEW = 20
_SHARE = 0.05
MOSTLY = 0.5
"""A column with more numbers than this was meant to hold numbers."""


@dataclass(frozen=True)
class Task:
    """Regression or classification, and why."""

    name: str
    reason: str
    other: str | None = None
    """The task one could also think of."""

    @property
    def classifies(self) -> bool:
        """Whether the target is a label."""
        return self.name == "classification"


def typed(y: Any) -> Any:
    """A target column that was read as text, as numbers or booleans where every entry is one.

    >>> import pandas as pd
    >>> typed(pd.Series(["3", "4.5"])).tolist(), typed(pd.Series(["NA", "4"])).tolist()
    ([3.0, 4.5], ['NA', '4'])
    """
    from pandas import to_numeric
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(y) or not all(isinstance(value, str) for value in y):
        return y
    if set(y) <= {"True", "False"}:
        return y == "True"
    numbers = to_numeric(y, errors="coerce")
    return y if numbers.isna().any() else numbers


def read_target(column: Any) -> tuple[Any, Any]:
    """Which rows have a target, and the targets of those in their own type.

    Numbers with a few words between them are a mistake in the table more often than classes: that is refused with the
    words, so that they can be named as missing.

    >>> import pandas as pd
    >>> known, y = read_target(pd.Series(["3", None, "4.5"]))
    >>> known.tolist(), y.tolist()
    ([True, False, True], [3.0, 4.5])
    """
    known = column.notna()
    y = typed(column[known])
    words, share = odd_words(y)
    if words and share > MOSTLY:
        named = " ".join(f"--missing {shlex.quote(word)}" for word in words[:5])
        raise ValueError(
            f"{share:.0%} of the target {column.name!r} are numbers, the rest is text such as "
            f"{', '.join(map(repr, words[:5]))}: {named} leaves those rows out (or make it text throughout)"
        )
    return known, y


def odd_words(column: Any) -> tuple[list[str], float]:
    """The texts in a column that are no numbers, most frequent first, and the share of entries that are numbers.

    >>> import pandas as pd
    >>> odd_words(pd.Series(["1", "2", "?", None]))[0]
    ['?']
    """
    from pandas import to_numeric
    from pandas.api.types import is_numeric_dtype

    values = column.dropna()
    if is_numeric_dtype(values) or not len(values) or not all(isinstance(value, str) for value in values):
        return [], 0.0
    odd = to_numeric(values, errors="coerce").isna()
    return values[odd].value_counts().index.tolist(), 1 - float(odd.mean())


def choose_task(y: Any, asked: str = "auto") -> Task:
    """The task for a target (a pandas series without missing values).

    What is no number is a class. Whole numbers are classes where there are two of them, or at most 20 with 20 rows each
    on average. Everything else is regression.

    >>> import pandas as pd
    >>> choose_task(pd.Series(["a", "b", "a"]))
    Task(name='classification', reason='it holds text', other=None)
    >>> choose_task(pd.Series([0.5, 1.25]))
    Task(name='regression', reason='it holds numbers with decimals', other=None)
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    numeric = is_numeric_dtype(y) and not is_bool_dtype(y)
    if asked == "regression" and not numeric:
        raise ValueError(f"the target {y.name!r} holds {_words(y)}, and regression needs numbers")
    if asked != "auto":
        return Task(asked, "as asked for")
    if not numeric:
        return Task("classification", f"it holds {_words(y)}")
    if not bool((y == y.round()).all()):
        return Task("regression", "it holds numbers with decimals")
    distinct = y.nunique()
    reason = f"it holds {distinct:,} distinct whole numbers in {len(y):,} rows"
    if distinct <= 2 or (distinct <= _FEW and distinct <= _SHARE * len(y)):
        return Task("classification", reason, "regression")
    return Task("regression", reason, "classification")


def measure(model: Any, X: Any, y: Any, seen: Any) -> dict[str, dict[str, float]]:
    """Scores of a model on held-out rows, and of always saying the mean or the most frequent class of ``seen``."""
    from sklearn.metrics import (  # here: help needs none of it
        accuracy_score,
        log_loss,
        mean_absolute_error,
        r2_score,
        roc_auc_score,
        root_mean_squared_error,
    )

    if not hasattr(model, "classes_"):
        truth, made = np.asarray(y, dtype=float), model.predict(X)
        plain = np.full(len(truth), float(np.mean(seen)))
        scores = {"R²": r2_score, "RMSE": root_mean_squared_error, "MAE": mean_absolute_error}
        return {name: {"model": f(truth, made), "baseline": f(truth, plain)} for name, f in scores.items()}
    truth = np.asarray(y)
    shares = np.array([np.mean(np.asarray(seen) == label) for label in model.classes_])
    often = np.full(len(truth), model.classes_[shares.argmax()], dtype=model.classes_.dtype)
    proba = model.predict_proba(X)
    found = {"accuracy": {"model": accuracy_score(truth, model.predict(X)), "baseline": accuracy_score(truth, often)}}
    known = np.isin(truth, model.classes_)
    if known.all():
        flat = np.tile(shares, (len(truth), 1))
        losses = (log_loss(truth, p, labels=model.classes_) for p in (proba, flat))
        found["log loss"] = dict(zip(("model", "baseline"), losses, strict=True))
        if len(model.classes_) == 2 and len(np.unique(truth)) == 2:
            found["AUC"] = {"model": roc_auc_score(truth, proba[:, 1]), "baseline": 0.5}
    return found


def _words(y: Any) -> str:
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype

    return "yes or no" if is_bool_dtype(y) else "dates" if is_datetime64_any_dtype(y) else "text"
