"""The table of gramian fit: rows, task, and what there is to say about its columns."""

import numpy as np
import pytest

from gramian.cli.fit_data import describe, read_fit_data
from quick_models import houses

pd = pytest.importorskip("pandas")


def write(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    return path


def test_rows_without_a_target_are_counted_and_left_out(tmp_path):
    frame = houses()
    frame.loc[::10, "price"] = np.nan
    data = read_fit_data(write(frame, tmp_path), "price", drop=("sold",))
    assert (len(data.y), data.without_target, data.target) == (108, 12, "price")
    assert list(data.X.columns) == ["area", "rooms", "noise"]
    assert data.task.name == "regression"


def test_a_column_that_splits_the_rows_is_no_feature(tmp_path):
    path = write(houses().assign(street=np.arange(120) // 4), tmp_path)
    data = read_fit_data(path, "price", groups="street")
    assert "street" not in data.X
    assert data.split_by["groups"].tolist() == (np.arange(120) // 4).tolist()


def test_a_table_without_names_has_numbered_columns(tmp_path):
    path = tmp_path / "t.csv"
    houses().drop(columns="sold").to_csv(path, index=False, header=False)
    data = read_fit_data(path, "x3", header=False)
    assert list(data.X.columns) == ["x0", "x1", "x2"]
    assert len(data.y) == 120


def test_each_column_has_a_record():
    X = pd.DataFrame({"area": ["1.5", "2.5", None, "4"], "town": ["a", "b", "a", "b"]})
    area, town = describe(X)
    assert (area["kind"], area["missing"], area["distinct"]) == ("number", 1, 3)
    assert "median" in area["use"]
    assert (town["kind"], town["missing"]) == ("category", 0)


def test_a_target_of_money_is_a_regression(tmp_path):
    frame = houses().drop(columns="sold")
    priced = frame.assign(price=[f"${price:,.2f}" for price in frame["price"]])
    data = read_fit_data(write(priced, tmp_path), "price")
    assert data.task.name == "regression"
    assert data.y.to_numpy() == pytest.approx(frame["price"].to_numpy(), abs=0.006)
    assert any("the target 'price' is read as numbers: money in $" in note for note in data.notes)


@pytest.mark.parametrize(("target", "task"), [("price", "regression"), ("sold", "classification")])
def test_words_for_empty_cells_are_no_targets(tmp_path, target, task):
    frame = houses().astype(str)
    frame.loc[:8, target] = "NA"
    frame.loc[9, target] = "n/a"
    data = read_fit_data(write(frame, tmp_path), target)
    assert (len(data.y), data.without_target, data.task.name) == (110, 10, task)
    assert f"the target '{target}': 'NA' (9 rows) is read as missing" in data.notes
    assert f"the target '{target}': 'n/a' (1 row) is read as missing" in data.notes


@pytest.mark.parametrize(
    ("no", "yes", "labels"),
    [
        ("001", "002", ["001", "002"]),
        ("-1", "+1", ["+1", "-1"]),
        ("1", "2", [1, 2]),
        (" 1", "2", [1, 2]),
        ("12345678901234567890", "12345678901234567891", ["12345678901234567890", "12345678901234567891"]),
    ],
)
def test_labels_are_as_the_table_writes_them(tmp_path, no, yes, labels):
    frame = houses().assign(sold=np.where(houses()["area"] > 110, yes, no))
    data = read_fit_data(write(frame, tmp_path), "sold")
    assert data.task.name == "classification"
    assert sorted(set(data.y)) == labels


def test_numbers_that_are_written_in_two_ways_are_one_class(tmp_path):
    for written, example in (
        (["1", "1.0", "2"], "'1.0' is 1"),
        (["01", "1", "2"], "'01' is 1"),
        (["2.0"], "'2.0' is 2"),
    ):
        frame = houses().assign(sold=np.resize([*written, "3.0"], len(houses())))
        data = read_fit_data(write(frame, tmp_path), "sold", task="classification")
        assert data.y.dtype.kind == "i"
        assert f"the target 'sold': its classes are whole numbers, {example}" in data.notes
