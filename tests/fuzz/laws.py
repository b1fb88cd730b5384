"""Laws of a fit, over the tables of :mod:`fuzz.tables`."""

import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import gramian
from fuzz.columns import TEXTS
from fuzz.outcomes import GOOD, WRONG, Outcome, of_error
from fuzz.tables import build
from gramian.files import ModelFileError

WEIGHTS_ARE_ROWS = True
"""Whether the law of weights is tested: weight 2 is the row twice, weight 0 is no row."""
TOLERANCE = 1e-6
"""Relative to the range of the predictions: other orders of rows or sums may round in another way."""


class BrokenLaw(AssertionError):
    """A law does not hold; the message is its name and by how much."""


def judge(case):
    """Fit a case and try all laws."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        made = build(case)
        try:
            model = fit(case, made.X, made.y, made.weights)
        except Exception as error:
            return of_error(error, "fit")
        if case.must_refuse is not None and not _was_readable(case, made):
            return Outcome(WRONG, f"accepted: {case.must_refuse}")
        for law in LAWS:
            try:
                law(case, made, model)
            except BrokenLaw as error:
                return Outcome(WRONG, f"{law.__name__}: {error}")
            except Exception as error:
                outcome = of_error(error, law.__name__)
                return Outcome(WRONG if outcome.kind == "clear error" else outcome.kind, outcome.detail)
    return Outcome(GOOD)


def _was_readable(case, made):
    """Return whether the trouble disappeared when the table was made: NaN in the place of a value, for example."""
    return case.container == "float array" and made.container == "float array" and "column" in case.must_refuse


def fit(case, X, y, weights):
    model = gramian.RFMClassifier if case.classifies else gramian.RFMRegressor
    return model(preset="fast", n_rounds=1).fit(X, y, sample_weight=weights)


def values_of(model, X):
    """Return what a model says about rows: probabilities of a classifier, predictions of a regression."""
    found = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    return np.asarray(found, dtype=np.float64)


def seen(made):
    """Return the rows of the table that the fit has seen."""
    return made.X if len(made.present) == len(made.frame) else _take(made.X, made.present)


def equal_bits(name, one, other):
    if not np.array_equal(one, other):
        raise BrokenLaw(f"{name} differs by {np.abs(one - other).max():.3g}")


def close(name, one, other, size=None):
    """Compare with the range of the values, and not with their size: a constant added to a target is no information."""
    size = np.ptp(one, axis=0).max() + 1e-9 * np.abs(one).max() if size is None else size
    far = np.abs(one / (size or 1.0) - other / (size or 1.0)).max()
    if not far <= TOLERANCE:
        raise BrokenLaw(f"{name} differs by {far:.3g} of the range")


def finite_and_sum_of_one(case, made, model):
    found = values_of(model, seen(made))
    if not np.isfinite(found).all():
        raise BrokenLaw("a prediction is not finite")
    if case.classifies and not np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12):
        raise BrokenLaw("probabilities do not sum to 1")
    if len(found) != len(made.present):
        raise BrokenLaw(f"{len(found)} predictions for {len(made.present)} rows")


def saved_and_loaded(case, made, model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gramian"
        model.save(path)
        try:
            loaded = gramian.load(path)
        except ModelFileError as error:
            raise BrokenLaw(f"a saved model is refused: {error}") from error
    equal_bits("a loaded model", values_of(model, seen(made)), values_of(loaded, seen(made)))


def pickled(case, made, model):
    equal_bits(
        "a pickled model", values_of(model, seen(made)), values_of(pickle.loads(pickle.dumps(model)), seen(made))
    )


def batch(case, made, model):
    whole = values_of(model, seen(made))
    half = len(whole) // 2
    first, one = (_take(made.X, made.present[rows]) for rows in (slice(half), slice(half, half + 1)))
    size = np.ptp(whole, axis=0).max() + np.abs(whole).max()
    for part, rows in ((first, whole[:half]), (one, whole[half : half + 1])):
        found = values_of(model, part)
        if np.abs(found / (size or 1) - rows / (size or 1)).max() > 1e-12:
            raise BrokenLaw("a prediction depends on its batch")


def another_order_of_columns(case, made, model):
    """Columns are found by name where there are names: another order is refused, or changes nothing."""
    if made.container not in ("pandas", "odd index") or made.frame.shape[1] < 2:
        return
    turned = seen(made).iloc[:, ::-1]
    try:
        found = values_of(model, turned)
    except (TypeError, ValueError):
        return
    if hasattr(model, "feature_names_in_"):
        equal_bits("another order of columns", values_of(model, seen(made)), found)


def other_columns(case, made, model):
    if made.container not in ("pandas", "odd index"):
        return
    tables = [made.X.assign(**{"one more": 1.0})] + ([made.X.iloc[:, 1:]] if made.frame.shape[1] > 1 else [])
    tables.append(made.X.iloc[:, :0])
    for table in tables:
        try:
            model.predict(table)
        except Exception as error:
            outcome = of_error(error, "predict")
            if outcome.kind != "clear error":
                raise
            continue
        raise BrokenLaw(f"a table of {table.shape[1]} columns is accepted")


def unseen_and_missing(case, made, model):
    """A level that no training row has, and a row without any value, have finite predictions."""
    if made.container != "pandas" or made.frame.columns.has_duplicates or model.encoder_ is None:
        return
    kinds = [kind for kind, _ in case.columns]
    row = made.frame.iloc[made.present[:2]].astype(object).copy()
    for j, kind in enumerate(model.encoder_.kinds_[: len(kinds)]):
        if kind in ("category", "many-levels") and kinds[j] in TEXTS:
            row.isetitem(j, np.array(["no such level"] * len(row), dtype=object))
    gone = row.copy()
    for j in range(gone.shape[1]):
        gone.isetitem(j, np.array([None] * len(gone), dtype=object))
    for table in (row, gone):
        if not np.isfinite(values_of(model, table)).all():
            raise BrokenLaw("a prediction is not finite")


def permuted_rows(case, made, model):
    if case.seed % 3 or _is_large(case):
        return
    order = np.random.default_rng(case.seed).permutation(len(made.frame))
    other = fit(case, _take(made.X, order), _take(made.y, order), _take(made.weights, order))
    close(
        "a fit to rows in another order", values_of(model, seen(made)), values_of(other, seen(made)), size=_size(case)
    )


def constant_column(case, made, model):
    if case.seed % 3 != 1 or made.container != "pandas" or case.names != "plain" or _is_large(case):
        return
    more = made.X.assign(constant=1.0)
    other = fit(case, more, made.y, made.weights)
    close(
        "a fit with a constant column",
        values_of(model, seen(made)),
        values_of(other, _take(more, made.present)),
        size=_size(case),
    )


def weights_are_rows(case, made, model):
    """Rows of weight 2 stand twice in the table, rows of weight 0 do not."""
    if not WEIGHTS_ARE_ROWS or case.weights != "whole" or _is_large(case):
        return
    times = np.repeat(np.arange(len(made.frame)), np.asarray(made.weights, dtype=int))
    try:
        other = fit(case, _take(made.X, times), _take(made.y, times), None)
    except ValueError:
        raise BrokenLaw("rows cannot be fitted, and their weights can") from None
    if case.classifies and not np.array_equal(model.classes_, other.classes_):
        raise BrokenLaw("the classes differ")
    close("a fit to repeated rows", values_of(model, seen(made)), values_of(other, seen(made)), size=_size(case))


LAWS = (
    finite_and_sum_of_one,
    saved_and_loaded,
    pickled,
    batch,
    another_order_of_columns,
    other_columns,
    unseen_and_missing,
    permuted_rows,
    constant_column,
    weights_are_rows,
)


def _size(case):
    """Probabilities are compared with 1, whatever their range: it is 0.0006 where a table says hardly anything."""
    return 1.0 if case.classifies else None


def _is_large(case):
    """Numbers near the end of the range: sums of them in another order overflow or cancel in another way."""
    return any(kind in ("largest", "huge", "uint64") for kind, _ in case.columns)


def _take(values, rows):
    if not isinstance(values, list | np.ndarray) and not hasattr(values, "iloc") and not hasattr(values, "shape"):
        return values
    if isinstance(values, pd.DataFrame | pd.Series):
        return values.iloc[rows]
    if isinstance(values, list):
        return [values[i] for i in rows]
    return values.take(rows) if type(values).__module__.startswith("pyarrow") else values[rows]
