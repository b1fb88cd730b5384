"""Inputs that once had an unclear error or a silent mistake: each names the column or argument, and the remedy."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.tables import TableEncoder

pa = pytest.importorskip("pyarrow")
N = 24
A = np.random.default_rng(0).normal(size=N)
EAST = dt.timezone(dt.timedelta(hours=5))
FAST = {"preset": "fast", "n_rounds": 1}


def column(values, special=None):
    values = list(values)
    if special is not None:
        values[3] = special
    return pd.DataFrame({"a": A, "b": pd.Series(np.fromiter(values, dtype=object, count=N), dtype=object)})


def rows(frame):
    return frame.to_numpy(dtype=object)


INSTANTS = [dt.datetime(2020, 1, 1 + k, tzinfo=EAST) for k in range(N)]
UNREADABLE = {
    "a date before the year 1": (column(INSTANTS, dt.datetime(1, 1, 1, tzinfo=EAST)), "the date 0001-01-01"),
    "an integer beyond floats": (column(range(N), 10**400), "an integer too large for a float"),
    "a fraction beyond floats": (column([Fraction(k, 3) for k in range(N)], Fraction(10**400)), "an integer too large"),
    "an integer of many digits": (column([f"t{k % 3}" for k in range(N)], 10**5000), "a number of too many digits"),
    "a far date": (pd.DataFrame({"a": A, "b": (np.arange(N) % 2 * 2**62).astype("M8[s]")}), "dates more than 290,000"),
    "a far date among objects": (column([np.datetime64(k, "s") for k in range(N)], np.datetime64(2**62, "s")),
                                 "dates more than 290,000"),
    "a long duration": (column([dt.timedelta(k) for k in range(N)], dt.timedelta.max), "the duration 999999999 days"),
    "a long duration of NumPy": (column([np.timedelta64(k, "D") for k in range(N)], np.timedelta64(2**62, "D")),
                                 "durations more than 290,000"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_value_that_cannot_be_read_is_named_with_its_column(name):
    frame, message = UNREADABLE[name]
    with pytest.raises(ValueError, match=rf"column 'b' holds {message}.*leave the column"):
        TableEncoder().fit(frame)
    with pytest.raises(ValueError, match="column 'x1' holds"):
        RFMRegressor(**FAST).fit(rows(frame), A)


def test_a_signalling_nan_is_missing():
    frame = column(map(Decimal, range(N)), Decimal("sNaN"))
    gap = column(range(N)).assign(b=np.where(np.arange(N) == 3, np.nan, np.arange(N)))
    assert np.array_equal(TableEncoder().fit_transform(frame), TableEncoder().fit_transform(gap))


def test_text_of_a_date_that_has_no_instant_is_text():
    frame = column([when.isoformat() for when in INSTANTS], "0001-01-01T00:00+05:00")
    assert TableEncoder().fit(frame).kinds_[1] in ("identifier", "many-levels", "category")


@pytest.mark.parametrize("model", [RFMRegressor, RFMClassifier])
def test_numbers_at_both_ends_of_the_range(model):
    for far in (1.7e308, 5e-324):
        X = np.column_stack([A, np.where(A > 0, far, -far)])
        fitted = model(**FAST).fit(X, A if model is RFMRegressor else A > 0)
        with pytest.warns(UserWarning, match="missing in column 1"):
            assert np.isfinite(fitted.predict(np.array([[0.0, np.nan]]))).all()


NO_TABLES = {
    "dict": ({"a": A}, "X is a dict: pass a frame"),
    "list of dicts": ([{"a": 1.0}] * N, "X is a list of dicts: pass a frame"),
    "structured array": (np.zeros(N, [("a", float), ("b", "U2")]), "structured array with the fields 'a', 'b'"),
    "None": (None, "X is None"),
    "ragged": ([[1.0], [1.0, 2.0]] * (N // 2), "row 0 has 1 values and row 1 has 2"),
    "dimensions": (np.zeros((N, 2, 2)), "X has 3 dimensions"),
    "equal names": (pd.DataFrame(np.ones((N, 2)), columns=["b", "b"]), "more than one column has the name 'b'"),
    "no columns": (pd.DataFrame(index=range(N)), "X has no columns"),
}


@pytest.mark.parametrize("weights", [None, np.r_[0.0, np.ones(N - 1)]], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", NO_TABLES)
def test_what_is_no_table_is_named(name, weights):
    X, message = NO_TABLES[name]
    with pytest.raises(ValueError, match=message):
        RFMRegressor(**FAST).fit(X, A, sample_weight=weights)


def test_a_prediction_of_a_frame_without_columns_names_those_of_the_model():
    for frame in (pd.DataFrame({"a": A}), pd.DataFrame({"a": A, "b": ["x", "y"] * (N // 2)})):
        model = RFMRegressor(**FAST).fit(frame, A)
        with pytest.raises(ValueError, match=r"X has no columns.*the model needs 'a'"):
            model.predict(frame.iloc[:, :0])


def test_different_numbers_of_rows_are_named():
    for weights in (None, np.r_[0.0, np.ones(N - 1)]):
        with pytest.raises(ValueError, match=f"X has {N} rows and y has {N - 1}"):
            RFMRegressor(**FAST).fit(A[:, None], A[1:], sample_weight=weights)


def test_one_class_is_named_as_it_is_printed():
    with pytest.raises(ValueError, match=r"one class only \(0\)"):
        RFMClassifier(**FAST).fit(A[:, None], np.zeros(N, dtype=np.int64))


def test_weights_of_text_are_named():
    for X in (A[:, None], pd.DataFrame({"a": A}), pa.table({"a": A})):
        with pytest.raises(ValueError, match="sample_weight must be numbers"):
            RFMRegressor(**FAST).fit(X, A, sample_weight=["a"] * N)
    with pytest.raises(ValueError, match="sample_weight must have one entry per row"):
        RFMRegressor(**FAST).fit(pa.table({"a": A}), A, sample_weight=2.0)


def test_a_sparse_frame_is_a_frame():
    dense = np.where(A > 0, A, np.nan)
    for fill in (0.0, np.nan):
        frame = pd.DataFrame({"a": pd.arrays.SparseArray(np.where(np.isnan(dense), fill, dense), fill_value=fill)})
        other = frame.astype(float)
        found, expected = (RFMRegressor(**FAST).fit(X, A).predict(X) for X in (frame, other))
        assert np.array_equal(found, expected)


def test_arrow_types_in_the_metadata_of_pandas():
    texts = pa.array(["x", "y", "z"] * (N // 3))
    frame = pa.table({"a": A, "k": texts.dictionary_encode()}).to_pandas(types_mapper=pd.ArrowDtype)
    table = pa.Table.from_pandas(frame)
    expected = RFMRegressor(**FAST).fit(pd.DataFrame({"a": A, "k": texts.to_pylist()}), A)
    found = RFMRegressor(**FAST).fit(table, A)
    assert np.array_equal(found.predict(table), expected.predict(pd.DataFrame({"a": A, "k": texts.to_pylist()})))
