"""Columns of a table, and tables that need encoding."""

import numpy as np
import pytest

from gramian.tables import TableEncoder, needs_encoding

pd = pytest.importorskip("pandas")
NAN = float("nan")


def test_repeated_names_are_refused():
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "a"])
    with pytest.raises(ValueError, match="more than one column has the name 'a'"):
        TableEncoder().fit(frame)


def test_plain_numbers_need_no_encoding():
    plain = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    for X in (plain, plain.to_numpy(), plain.astype(float).to_numpy(), plain.convert_dtypes(), [[1, 2.0]], [[True]]):
        assert not needs_encoding(X)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1, None]}),
        pd.DataFrame({"a": ["1", "2"]}),
        pd.DataFrame({"a": pd.Series([1, 2], dtype="category")}),
        pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}),
        pd.DataFrame({"a": pd.Series([1, None], dtype="Int64")}),
        np.array([[1.0, NAN]]),
        np.array([[1.0, "a"]], dtype=object),
        np.array([["a", "b"]]),
        np.ma.masked_array([[1.0, 2.0]], [[True, False]]),
        [[1, None]],
    ],
)
def test_everything_else_needs_encoding(X):
    assert needs_encoding(X)


@pytest.mark.parametrize("X", [np.ones(3), "text", None, np.ones((2, 2), dtype=complex), 3])
def test_input_that_is_not_a_table_is_left_to_the_validation(X):
    assert not needs_encoding(X)
