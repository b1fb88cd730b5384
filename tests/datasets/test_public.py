"""Readers of public tables and text."""

import json
import sys

import numpy as np
import pytest

from data_files import write_gz
from gramian.datasets import (
    covertype,
    diamonds,
    grinsztajn,
    grinsztajn_names,
    sst2,
    uci,
    uci_names,
    uci_regression,
    uci_regression_names,
)


def test_covertype_reads_columns_and_classes(tmp_path, numbers):
    (tmp_path / "covertype").mkdir()
    X, y = numbers.integers(100, size=(6, 54)).astype(np.int16), np.arange(1, 7, dtype=np.int8)
    np.savez(tmp_path / "covertype/covertype.npz", X=X, y=y)
    data = covertype(tmp_path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert len(data.feature_names) == 54


def test_diamonds_keep_their_order(tmp_path):
    lines = (
        "carat,cut,color,clarity,depth,table,price,x,y,z\n0.2,Ideal,E,SI2,61,55,326,3,3,2\n0.3,Fair,J,IF,60,5,9,1,2,3\n"
    )
    write_gz(tmp_path / "diamonds/diamonds.csv.gz", lines.encode())
    data = diamonds(tmp_path)
    assert data.y.tolist() == [326.0, 9.0]
    assert data.feature_names == ("carat", "cut", "color", "clarity", "depth", "table", "x", "y", "z")
    assert data.X["cut"].max() == "Ideal"
    assert data.X["clarity"].max() == "IF"
    assert data.X["color"].cat.codes.tolist() == [5, 0]


def test_diamonds_say_what_is_missing(tmp_path, monkeypatch):
    write_gz(tmp_path / "diamonds/diamonds.csv.gz", b"carat,price\n1,2\n")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        diamonds(tmp_path)


@pytest.fixture
def tables(tmp_path, numbers):
    (tmp_path / "uci121").mkdir()
    arrays = {"toy/X": numbers.normal(size=(8, 3)).astype(np.float32), "toy/y": np.arange(8) % 2}
    arrays |= {"toy/fold0": np.arange(4), "toy/fold1": np.arange(4, 8)}
    for i in range(4):
        arrays |= {
            f"toy/kfold{2 * i}": np.delete(np.arange(8), [i, i + 4]),
            f"toy/kfold{2 * i + 1}": np.array([i, i + 4]),
        }
    np.savez(tmp_path / "uci121/uci121.npz", **arrays)
    entries = [
        {"name": "toy", "n1": 8, "n2": 0, "ok": True},
        {"name": "two-files", "n1": 8, "n2": 8, "ok": True},
        {"name": "large", "n1": 5001, "n2": 0, "ok": True},
        {"name": "absent", "n1": 8, "n2": 0, "ok": False},
    ]
    (tmp_path / "uci121/manifest.json").write_text(json.dumps(entries))
    return tmp_path, arrays


def test_uci_reads_rows_and_the_authors_splits(tables):
    folder, arrays = tables
    assert uci_names(folder) == ["toy", "two-files", "large"]
    assert uci_names(folder, small=True) == ["toy"]
    data = uci("toy", folder)
    np.testing.assert_array_equal(data.X, arrays["toy/X"])
    np.testing.assert_array_equal(data.tuning.test, [4, 5, 6, 7])
    assert [s.test.tolist() for s in data.splits] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    with pytest.raises(ValueError, match=r"name='toys'.*toy"):
        uci("toys", folder)


def test_uci_names_by_rows(tables):
    folder, _ = tables
    assert uci_names(folder, by_rows=True) == ["toy", "two-files", "large"]
    entries = json.loads((folder / "uci121/manifest.json").read_text())
    entries[0]["n1"] = 6000
    (folder / "uci121/manifest.json").write_text(json.dumps(entries))
    assert uci_names(folder, by_rows=True) == ["two-files", "large", "toy"]


@pytest.fixture
def benchmark_tables(tmp_path):
    write_gz(tmp_path / "grinsztajn/reg_num/pond.csv.gz", b'depth,"width, m",fish\n1,2.5,7\n3,-4e2,9.5\n')
    write_gz(tmp_path / "grinsztajn/clf_num/coin.csv.gz", b"side,heads\n0.5,1\n0.25,0\n0.125,1\n")
    entries = [("reg_num", "pond", 2), ("clf_num", "coin", 3), ("reg_num", "lake", 1)]
    text = json.dumps([{"kind": kind, "name": name, "rows": rows} for kind, name, rows in entries])
    (tmp_path / "grinsztajn/manifest.json").write_text(text)
    return tmp_path


def test_grinsztajn_reads_tables_by_name(benchmark_tables):
    assert grinsztajn_names(folder=benchmark_tables) == ["lake", "pond"]
    data = grinsztajn("pond", folder=benchmark_tables)
    assert data.feature_names == ("depth", "width, m")
    assert data.X.tolist() == [[1, 2.5], [3, -400]]
    assert data.y.tolist() == [7, 9.5]
    labels = grinsztajn("coin", "clf_num", benchmark_tables).y
    assert labels.tolist() == [1, 0, 1]
    assert labels.dtype == np.int64


def test_grinsztajn_says_what_is_wrong(benchmark_tables):
    with pytest.raises(ValueError, match=r"kind='clf_cat'.*clf_num, reg_num"):
        grinsztajn_names("clf_cat", benchmark_tables)
    with pytest.raises(FileNotFoundError, match=r"no grinsztajn/reg_num/lake\.csv\.gz"):
        grinsztajn("lake", folder=benchmark_tables)
    write_gz(benchmark_tables / "grinsztajn/reg_num/pond.csv.gz", b"a,b,c\n1,2\n")
    with pytest.raises(ValueError, match="3 names in the first line but 2 numbers"):
        grinsztajn("pond", folder=benchmark_tables)


def test_sst2_reads_sentences_and_labels(tmp_path):
    write_gz(tmp_path / "text/sst2_dev.tsv.gz", "a fine film\t1\nmüde , and long\t0\n".encode())
    data = sst2("dev", tmp_path)
    assert data.X.tolist() == ["a fine film", "müde , and long"]
    assert data.y.tolist() == [1, 0]
    write_gz(tmp_path / "text/sst2_dev.tsv.gz", b"a fine film\t1\nno label\n")
    with pytest.raises(ValueError, match="line 2"):
        sst2("dev", tmp_path)


@pytest.mark.parametrize("read", [sst2])
def test_an_unknown_split_is_refused(read):
    with pytest.raises(ValueError, match="split must be one of train"):
        read("validation")


class TestRealTables:
    def test_covertype_has_its_counts(self, data_dir):
        data = covertype(data_dir)
        assert data.X.shape == (581_012, 54)
        assert np.bincount(data.y).tolist() == [0, 211840, 283301, 35754, 2747, 9493, 17367, 20510]

    def test_diamonds_have_no_gaps(self, data_dir):
        data = diamonds(data_dir)
        assert data.X.shape == (53_940, 9)
        assert not data.X.isna().any().any()
        assert data.y.max() == 18823

    def test_uci_has_120_sets_with_disjoint_splits(self, data_dir):
        names = uci_names(data_dir)
        assert len(names) == 120
        assert len(uci_names(data_dir, small=True)) == 90
        for name in ("iris", "zoo", "abalone"):
            data = uci(name, data_dir)
            assert name in names
            for split in (*data.splits, data.tuning):
                assert not set(split.train) & set(split.test)
                assert max(split.train.max(), split.test.max()) < len(data.X)

    def test_grinsztajn_has_15_regressions(self, data_dir):
        assert len(grinsztajn_names(folder=data_dir)) == 15
        data = grinsztajn("wine_quality", folder=data_dir)
        assert data.X.shape == (6497, 11)
        assert sorted(set(data.y)) == [3, 4, 5, 6, 7, 8, 9]

    @pytest.mark.parametrize(("split", "n"), [("train", 6920), ("dev", 872), ("test", 1821)])
    def test_sst2_has_its_sizes(self, data_dir, split, n):
        data = sst2(split, data_dir)
        assert len(data.X) == n
        assert set(data.y) == {0, 1}


def test_uci_regression_takes_the_last_column_as_the_target(tmp_path):
    write_gz(tmp_path / "uci_regression/yacht/data.csv.gz", b"1,2,3.5\n4,5,-6\n")
    write_gz(tmp_path / "uci_regression/concrete/data.csv.gz", b"\n".join(b"%d,%d" % (i * i, i) for i in range(99)))
    assert uci_regression_names(tmp_path) == ["yacht", "concrete"]
    data = uci_regression("yacht", tmp_path)
    assert data.X.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert data.y.tolist() == [3.5, -6.0]
    assert len(data.feature_names) == 2
    with pytest.raises(FileNotFoundError, match="uci_regression/boat"):
        uci_regression("boat", tmp_path)
