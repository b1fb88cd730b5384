"""Names of columns, and which tables need encoding at all."""

import numpy as np
import pytest

from gramian.tables import TableEncoder, needs_encoding

pd = pytest.importorskip("pandas")

NAN = float("nan")

# ---- names ---------------------------------------------------------------------------------------------------------


def test_repeated_names_are_refused():
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "a"])
    with pytest.raises(ValueError, match="'a' stands over more than one column"):
        TableEncoder().fit(frame)


def test_a_missing_or_foreign_column_is_named():
    frame = pd.DataFrame({"a": [1, 2, 4], "b": ["x", "y", "x"]})
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match=r"(?s)missing.*- b"):
        encoder.transform(frame[["a"]])
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*- z"):
        encoder.transform(frame.assign(z=1))
    with pytest.raises(ValueError, match="same order"):
        encoder.transform(frame[["b", "a"]])


def test_encoded_names_differ_even_from_the_users():
    frame = pd.DataFrame({"a__missing": [1.0, 2.0, 5.0], "a": [1.0, None, 3.0]})
    assert TableEncoder().fit(frame).get_feature_names_out().tolist() == ["a__missing", "a", "a__missing_"]


def test_numbers_as_column_names():
    encoder = TableEncoder().fit(pd.DataFrame({0: [1, 2], 1: ["a", "b"]}))
    assert encoder.columns_ == ("0", "1")


# ---- what needs encoding -------------------------------------------------------------------------------------------


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
def test_everything_else_does(X):
    assert needs_encoding(X)


@pytest.mark.parametrize("X", [np.ones(3), "text", None, np.ones((2, 2), dtype=complex), 3])
def test_what_is_no_table_is_left_to_the_estimator(X):
    assert not needs_encoding(X)
