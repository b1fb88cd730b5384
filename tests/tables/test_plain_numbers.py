"""Tables of complete numbers: integers that are different and would be equal as floats."""

import warnings

import numpy as np
import pytest

from gramian.tables import TableEncoder
from gramian.tables.columns import RawColumn
from gramian.tables.plain_numbers import read_number_table, warn_of_rounded_integers
from gramian.tables.preprocessing import TableReader

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
LARGE = 2**60 + np.arange(100)
OTHER = np.arange(100) / 7
MESSAGE = r"the \d+ different whole numbers beyond 2\*\*53 in column 'c' become \d in float64"


@pytest.mark.parametrize(
    "values",
    [
        LARGE,
        LARGE.astype(np.uint64),
        -LARGE,
        LARGE.astype(object),
        pd.array(LARGE, dtype="Int64"),
        pd.array([None, *LARGE[1:]], dtype="Int64"),
    ],
    ids=["int64", "uint64", "negative", "objects", "nullable", "nullable with a gap"],
)
def test_integers_that_become_equal_are_named(values):
    frame = pd.DataFrame({"c": values, "d": OTHER})
    with pytest.warns(UserWarning, match=MESSAGE):
        TableReader.fit(frame, "auto", "RFMRegressor")
    with pytest.warns(UserWarning, match=MESSAGE):
        TableEncoder().fit(frame)


def test_of_polars_too():
    for values in (LARGE.tolist(), [None, *LARGE[1:].tolist()]):
        with pytest.warns(UserWarning, match=MESSAGE):
            TableEncoder().fit(pl.DataFrame({"c": values, "d": OTHER}))


@pytest.mark.parametrize(
    "values", [2**53 - np.arange(100), 2**60 + 1024 * np.arange(100), 1e18 + np.arange(100.0), LARGE.astype(str)]
)
def test_other_numbers_have_no_warning(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_rounded_integers([RawColumn("c", np.asarray(values))])


def test_categories_of_large_integers_are_exact():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = TableEncoder().fit(pd.DataFrame({"c": pd.Series(LARGE % 3 + 2**60, dtype="category")}))
    assert encoder.get_feature_names_out().tolist() == [f"c={2**60 + k}" for k in range(3)]


def test_an_array_of_numbers_is_converted_at_once():
    assert read_number_table(np.array([[1, 2]])).tolist() == [[1.0, 2.0]]


def test_large_integers_among_text_are_levels():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = TableEncoder().fit(np.array([[2**60 + k % 2 if k % 3 else "none"] for k in range(30)], dtype=object))
    assert encoder.get_feature_names_out().tolist() == [f"x0={2**60}", f"x0={2**60 + 1}", "x0=none"]
