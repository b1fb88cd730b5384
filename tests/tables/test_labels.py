"""One test per kind of ugly label or target."""

import datetime as dt

import numpy as np
import pytest
import torch

from gramian.tables import encode_labels, label_codes, read_target

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
NAN = float("nan")
STRINGS = ["b", "a", "b"]


@pytest.mark.parametrize(
    "y",
    [
        STRINGS,
        np.array(STRINGS),
        np.array(STRINGS, dtype=object),
        pd.Series(STRINGS),
        pd.Series(STRINGS, dtype="category"),
        pd.Categorical(STRINGS, ["b", "a"], ordered=True),
        pd.DataFrame({"y": STRINGS}),
        pl.Series(STRINGS),
        pl.Series(STRINGS).cast(pl.Enum(["b", "a"])),
        pl.DataFrame({"y": STRINGS}),
    ],
)
def test_strings_from_anywhere(y):
    classes, codes = encode_labels(y)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    assert label_codes(y, classes).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "y",
    [
        [7, -1, 7],
        np.array([7, -1, 7], dtype=object),
        pd.Series([7, -1, 7], dtype="Int64"),
        pd.Series([7, -1, 7], dtype="category"),
        pd.Series([7, -1, 7], index=[5, 5, 5]),
        pl.Series([7, -1, 7]),
    ],
)
def test_integers_in_any_order(y):
    classes, codes = encode_labels(y)
    assert classes.tolist() == [-1, 7]
    assert classes.dtype.kind == "i"
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize("y", [[True, False], pd.Series([True, False], dtype="boolean"), pl.Series([True, False])])
def test_booleans(y):
    classes, codes = encode_labels(y)
    assert classes.tolist() == [False, True]
    assert codes.tolist() == [1, 0]


def test_whole_floats_are_labels_and_others_are_not():
    assert encode_labels([1.0, 2.0, 1.0])[0].tolist() == [1, 2]
    with pytest.raises(ValueError, match="Unknown label type"):
        encode_labels([0.5, 1.5, 2.25])


@pytest.mark.parametrize(
    "y",
    [
        ["a", None, "b", None],
        np.array([1.0, NAN, 0.0, NAN]),
        pd.Series([1, None, 0, None], dtype="Int64"),
        pd.Series(["a", None, "b", None]),
        pd.Series(["a", None, "b", None], dtype="category"),
        pl.Series(["a", None, "b", None]),
        pl.Series([1, None, 0, None]),
    ],
)
def test_missing_labels_are_counted(y):
    with pytest.raises(ValueError, match=r"missing .* in 2 of 4 rows"):
        encode_labels(y)


def test_strings_among_numbers():
    with pytest.raises(ValueError, match="mixes labels of the types int and str"):
        encode_labels(np.array([1, "a", 1], dtype=object))
    with pytest.raises(ValueError, match="mixes labels of the types int and str"):
        encode_labels([1, "a", 1])


def test_no_labels_at_all():
    with pytest.raises(ValueError, match="y to be passed"):
        encode_labels(None)


def test_unknown_labels_are_named():
    with pytest.raises(ValueError, match="the label 'c'"):
        label_codes(["a", "c"], np.array(["a", "b"]))


def test_several_columns_are_no_labels():
    with pytest.raises(ValueError, match="2 columns"):
        encode_labels(pd.DataFrame({"a": [1, 0], "b": [0, 1]}))


@pytest.mark.parametrize(
    "y",
    [
        [1, 2.5, 4],
        pd.Series([1, 2.5, 4]),
        pd.Series([1, 2.5, 4], dtype="Float64"),
        pl.Series([1.0, 2.5, 4.0]),
        np.array([1, 2.5, 4], dtype=object),
        np.array([1, 2.5, 4], dtype=np.float32),
    ],
)
def test_numbers_from_anywhere(y):
    out = read_target(y)
    assert out.dtype == np.float64
    assert out.tolist() == [1, 2.5, 4]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda table: np.array(list(table.values())).T])
def test_several_targets(kind):
    assert read_target(kind({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})).tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]]


@pytest.mark.parametrize("y", [[1.0, NAN, None], pd.Series([1, None, None], dtype="Int64"), pl.Series([1, None, None])])
def test_missing_targets_are_counted(y):
    with pytest.raises(ValueError, match=r"y is missing .* in 2 of 3 rows"):
        read_target(y)
    with pytest.raises(ValueError, match="the target 'b' is missing"):
        read_target(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, None]}))


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (["1.5", "2"], "text"),
        (pd.Series(["low", "high"]), "text"),
        (pd.Series([1, 2], dtype="category").astype(str), "text"),
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], "date"),
        ([1.0, float("inf")], "infinity in 1 of 2 rows"),
        (np.array([1j, 2]), "Complex data"),
        (None, "y to be passed"),
    ],
)
def test_what_is_no_number_is_refused(y, what):
    with pytest.raises(ValueError, match=what):
        read_target(y)


def test_tensors_are_targets():
    values = torch.tensor([2.0, 1.0, 2.0], requires_grad=True)
    assert read_target(values).tolist() == [2.0, 1.0, 2.0]
    assert read_target(values[:, None] * torch.ones(2)).tolist() == [[2.0, 2.0], [1.0, 1.0], [2.0, 2.0]]
    classes, codes = encode_labels(torch.tensor([3, 1, 3]))
    assert classes.tolist() == [1, 3]
    assert codes.tolist() == [1, 0, 1]
    assert label_codes(torch.tensor([1, 1]), classes).tolist() == [0, 0]
