"""Tables that are not in memory, in blocks of rows."""

import importlib

import numpy as np
import pytest

from gramian.tables import blocks as module
from gramian.tables.blocks import ArrayBlocks, as_blocks

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
dataset, feather, parquet = (importlib.import_module(f"pyarrow.{name}") for name in ("dataset", "feather", "parquet"))

N = 1500


def frame():
    X = np.random.default_rng(0).normal(size=(N, 4))
    city = np.random.default_rng(1).choice(["Oslo", "Rome", None], N, p=[0.5, 0.4, 0.1])
    return pd.DataFrame(X, columns=list("abcd")).assign(city=city, price=X[:, 0] + (city == "Rome"))


@pytest.mark.parametrize("size", [1, 400, 5000])
def test_blocks_of_an_array_cover_all_rows_in_order(size):
    X, y, w = np.arange(3000.0).reshape(N, 2), np.arange(N), np.ones(N)
    blocks = ArrayBlocks(X, y, w, size=size)
    assert (blocks.n_rows, blocks.n_columns, blocks.remote) == (N, 2, False)
    whole = blocks.whole()
    assert np.array_equal(whole.X, X)
    assert np.array_equal(whole.y, y)
    assert np.array_equal(whole.weights, w)
    assert list(blocks.each(lambda block: block.start)) == list(range(0, N, size))


def test_rows_are_found_by_their_indices():
    X, y = np.arange(3000.0).reshape(N, 2), np.arange(N)
    at = np.array([0, 399, 400, N - 1])
    found = ArrayBlocks(X, y, size=400).rows(at)
    assert np.array_equal(found.X, X[at])
    assert np.array_equal(found.y, at)
    assert found.weights is None


def test_rows_are_found_in_any_container(tmp_path):
    data = frame()
    parquet.write_table(pa.Table.from_pandas(data), tmp_path / "t.parquet", row_group_size=200)
    at = np.array([0, 199, 200, N - 1])
    for source in (tmp_path / "t.parquet", dataset.dataset(tmp_path / "t.parquet"), pa.Table.from_pandas(data)):
        blocks = as_blocks(source, "price")
        assert blocks.n_rows == N
        found = blocks.rows(at)
        pd.testing.assert_frame_equal(found.X, data.drop(columns="price").iloc[at].reset_index(drop=True))
        np.testing.assert_array_equal(found.y, data.price.iloc[at])


def test_a_folder_of_arrow_files_is_one_table(tmp_path):
    data = frame()
    for i, part in enumerate((data[:700], data[700:])):
        feather.write_feather(part.reset_index(drop=True), tmp_path / f"{i}.feather")
    whole = as_blocks(tmp_path, "price", "a").whole()
    assert list(whole.X.columns) == ["b", "c", "d", "city"]
    np.testing.assert_array_equal(whole.weights, data.a)


def test_a_memory_map_and_its_file_are_read_in_blocks(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    np.save(tmp_path / "X.npy", X)
    for source in (np.load(tmp_path / "X.npy", mmap_mode="r"), tmp_path / "X.npy", str(tmp_path / "X.npy")):
        assert np.array_equal(as_blocks(source, np.zeros(30)).whole().X, X)


@pytest.mark.parametrize("table", [np.zeros((3, 2)), [[1.0, 2.0]], frame()], ids=["array", "list", "frame"])
def test_a_table_in_memory_has_no_blocks(table):
    assert as_blocks(table) is None


def test_a_memory_map_of_another_shape_is_left_to_the_validation(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(5))
    assert as_blocks(np.load(tmp_path / "x.npy", mmap_mode="r")) is None


@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_targets_and_weights_need_one_entry_per_row(name, tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((5, 2)))
    arguments = {"y": (np.zeros(3), None), "sample_weight": (np.zeros(5), np.zeros(3))}[name]
    with pytest.raises(ValueError, match=f"X has 5 rows and {name} has 3: the numbers must be equal"):
        as_blocks(np.load(tmp_path / "X.npy", mmap_mode="r"), *arguments)


def test_paths_that_are_no_table_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(ValueError, match=r"a table is read from \.npy, \.parquet"):
        as_blocks(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"'nowhere\.parquet', and there is no such file or folder"):
        as_blocks("nowhere.parquet")
    parquet.write_table(pa.table({"a": [1.0]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="y='b' is no column of X, which has a"):
        as_blocks(tmp_path / "t.parquet", "b")


def test_other_objects_of_pyarrow_are_refused():
    with pytest.raises(ValueError, match="of pyarrow: pass a Table, a Dataset, or the path of a file"):
        as_blocks(pa.array([1.0, 2.0]))


def test_blocks_have_the_default_size_unless_told_otherwise():
    assert [len(block.X) for block in ArrayBlocks(np.zeros((module.BLOCK_ROWS + 1, 1))).each(lambda block: block)] == [
        module.BLOCK_ROWS,
        1,
    ]
