"""The user's columns and the encoded ones."""

import numpy as np
import pytest

from gramian.tables.column_map import ColumnMap, is_missing, row_as_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COLUMNS = ColumnMap(
    ("age", "city", "size"),
    ("age", "age__missing", "city=Bonn", "city=Rome", "size", "size__gauss"),
    np.array([0, 0, 1, 1, 2, 2]),
    (True, False, True),
)


def test_sums_over_encoded_columns_keep_the_total():
    values = np.arange(24.0).reshape(2, 2, 6)
    folded = COLUMNS.fold(values)
    assert folded.shape == (2, 2, 3)
    assert folded[0, 0].tolist() == [0 + 1, 2 + 3, 4 + 5]
    assert np.array_equal(folded.sum(axis=-1), values.sum(axis=-1))


def test_only_a_number_without_dependent_columns_has_a_value_of_its_own():
    own = COLUMNS.own(np.arange(6.0))
    assert own[0] == 0  # the indicator of missing values does not depend on the number
    assert np.isnan(own[1:]).all()  # levels have no number, and two columns depend on size


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_and_cells_of_a_frame_are_found_by_name(kind):
    frame = kind({"size": [3.5, 1.0], "city": ["Rome", None], "age": [7, 8]})
    assert COLUMNS.column(frame, 0).tolist() == [7, 8]
    assert COLUMNS.cells(frame, 0) == (7, "Rome", 3.5)
    assert list(COLUMNS.select(frame, [2, 0]).columns) == ["size", "age"]


def test_columns_and_cells_of_an_array_are_found_by_position():
    array = np.arange(6.0).reshape(2, 3)
    assert COLUMNS.column(array, 1).tolist() == [1, 4]
    assert COLUMNS.cells(array, 1) == (3.0, 4.0, 5.0)
    assert COLUMNS.select(array, [2, 0]).tolist() == [[2, 0], [5, 3]]


def test_names_that_are_numbers_are_found():
    columns = ColumnMap(("0", "1"), ("0", "1"), np.arange(2), (True, True))
    frame = pd.DataFrame({1: [1.0], 0: [0.0]})
    assert columns.cells(frame, 0) == (0.0, 1.0)
    assert columns.select(frame, [1]).to_numpy().tolist() == [[1.0]]


@pytest.mark.parametrize("value", [None, float("nan"), np.datetime64("NaT"), pd.NA, pd.NaT])
def test_missing_values_are_recognised(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", ["", "nan", 0, False, np.float32(1.0)])
def test_other_values_are_not_missing(value):
    assert not is_missing(value)


def test_one_row_becomes_a_table_and_a_table_is_unchanged():
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    row = row_as_table(frame.iloc[1])
    assert row.to_dict("list") == {"a": [2.5], "b": ["y"]}
    assert row["a"].dtype.kind == "f"
    assert row_as_table(frame) is frame
    assert row_as_table([1.5, "x"]).tolist() == [[1.5, "x"]]
    assert row_as_table(np.ones(3)).shape == (1, 3)
    assert row_as_table(np.ones((2, 3))).shape == (2, 3)


def test_a_dict_is_no_row():
    with pytest.raises(
        ValueError, match=r"X is a dict: pass a frame of one row, for example pandas.DataFrame\(\[X\]\)"
    ):
        row_as_table({"a": 1.5, "b": "x"})


def test_a_column_without_encoded_ones_has_the_sum_zero():
    columns = ColumnMap(("a", "b", "c"), ("a", "c=u", "c=v"), np.array([0, 2, 2]), (True, True, False))
    values = np.arange(12.0).reshape(2, 2, 3)
    expected = np.stack([values[..., 0], 0 * values[..., 0], values[..., 1] + values[..., 2]], axis=-1)
    np.testing.assert_array_equal(columns.fold(values), expected)
