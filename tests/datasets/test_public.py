"""Readers of public data: on small files in the same layout, and on the real ones where they are at hand."""

import gzip
import json
import sys

import numpy as np
import pytest
from PIL import Image

from gramian.datasets import cifar10, covertype, diamonds, grinsztajn, grinsztajn_names, mnist, sst2, uci, uci_names


def write_gz(path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wb") as file:
        file.write(content)


def idx(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes()


@pytest.fixture
def numbers():
    return np.random.default_rng(0)


@pytest.fixture
def digits(tmp_path, numbers):
    images, labels = numbers.integers(256, size=(5, 28, 28), dtype=np.uint8), np.arange(5, dtype=np.uint8)
    write_gz(tmp_path / "mnist/t10k-images-idx3-ubyte.gz", idx(images))
    write_gz(tmp_path / "mnist/t10k-labels-idx1-ubyte.gz", idx(labels))
    return tmp_path, images, labels


def test_mnist(digits):
    folder, images, labels = digits
    data = mnist("test", folder=folder)
    np.testing.assert_array_equal((data.X * 255).round().reshape(5, 28, 28), images)
    np.testing.assert_array_equal(data.y, labels)
    assert data.image_shape == (28, 28)
    assert data.feature_names[29] == "1,1"
    assert data.X.dtype == np.float32


def test_the_variable_names_the_folder(digits, monkeypatch):
    folder, images, _ = digits
    monkeypatch.setenv("GRAMIAN_DATA", str(folder))
    assert len(mnist("test").X) == len(images)


def test_damaged_idx(digits):
    folder, images, _ = digits
    write_gz(folder / "mnist/t10k-images-idx3-ubyte.gz", idx(images)[:-7])
    with pytest.raises(ValueError, match="cut short"):
        mnist("test", folder=folder)
    write_gz(folder / "mnist/t10k-images-idx3-ubyte.gz", b"not an idx file at all")
    with pytest.raises(ValueError, match="not an idx file"):
        mnist("test", folder=folder)


def test_cifar10_reads_sheets_in_order(tmp_path, numbers):
    pictures = numbers.integers(256, size=(1300, 32, 32, 3), dtype=np.uint8)
    labels = numbers.integers(10, size=1300, dtype=np.uint8)
    (tmp_path / "cifar10").mkdir()
    padded = np.concatenate([pictures, np.zeros((700, 32, 32, 3), dtype=np.uint8)])
    for i in range(2):
        grid = padded[1000 * i : 1000 * (i + 1)].reshape(40, 25, 32, 32, 3)
        sheet = np.vstack([np.hstack(list(row)) for row in grid])
        Image.fromarray(sheet).save(tmp_path / f"cifar10/test_{i:02d}.webp", lossless=True, method=0)
    np.savez(tmp_path / "cifar10/labels.npz", test=labels, train=labels[:0])
    data = cifar10("test", folder=tmp_path)
    np.testing.assert_array_equal((data.X * 255).round().reshape(pictures.shape), pictures)
    np.testing.assert_array_equal(data.y, labels)
    assert data.image_shape == (32, 32, 3)
    assert data.feature_names[:4] == ("0,0 red", "0,0 green", "0,0 blue", "0,1 red")
    np.savez(tmp_path / "cifar10/labels.npz", train=labels)
    with pytest.raises(FileNotFoundError, match=r"no cifar10/train_00.*GRAMIAN_DATA"):
        cifar10("train", folder=tmp_path)


def test_cifar10_refuses_a_sheet_of_another_size(tmp_path):
    (tmp_path / "cifar10").mkdir()
    Image.new("RGB", (32, 32)).save(tmp_path / "cifar10/test_00.webp")
    np.savez(tmp_path / "cifar10/labels.npz", test=np.zeros(1, dtype=np.uint8))
    with pytest.raises(ValueError, match="1280 × 800"):
        cifar10("test", folder=tmp_path)


def test_covertype(tmp_path, numbers):
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


def test_uci(tables):
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


def test_grinsztajn(benchmark_tables):
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


def test_sst2(tmp_path):
    write_gz(tmp_path / "text/sst2_dev.tsv.gz", "a fine film\t1\nmüde , and long\t0\n".encode())
    data = sst2("dev", tmp_path)
    assert data.X.tolist() == ["a fine film", "müde , and long"]
    assert data.y.tolist() == [1, 0]
    write_gz(tmp_path / "text/sst2_dev.tsv.gz", b"a fine film\t1\nno label\n")
    with pytest.raises(ValueError, match="line 2"):
        sst2("dev", tmp_path)


@pytest.mark.parametrize(
    "read", [mnist, cifar10, covertype, diamonds, sst2, grinsztajn_names, uci_names, lambda: uci("iris")]
)
def test_no_folder_says_how_to_name_one(read, monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"GRAMIAN_DATA.*folder="):
        read()


@pytest.mark.parametrize("read", [mnist, cifar10, sst2])
def test_unknown_split(read):
    with pytest.raises(ValueError, match="split must be one of train"):
        read("validation")


class TestRealData:
    def test_mnist(self, data_dir):
        data = mnist("test", data_dir)
        assert data.X.shape == (10_000, 784)
        assert np.bincount(data.y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
        assert data.y[:5].tolist() == [7, 2, 1, 0, 4]
        np.testing.assert_allclose(data.X.mean(), 0.1325, atol=2e-3)

    def test_cifar10(self, data_dir):
        data = cifar10("test", data_dir)
        assert data.X.shape == (10_000, 3072)
        assert np.bincount(data.y).tolist() == [1000] * 10
        assert data.y[:4].tolist() == [3, 8, 8, 0]
        # A picture is smooth, a wrong reading order is not.
        image = data.X.reshape(-1, 32, 32, 3)
        assert np.abs(np.diff(image, axis=1)).mean() < 0.08
        assert np.abs(np.diff(image, axis=2)).mean() < 0.08

    def test_covertype(self, data_dir):
        data = covertype(data_dir)
        assert data.X.shape == (581_012, 54)
        assert np.bincount(data.y).tolist() == [0, 211840, 283301, 35754, 2747, 9493, 17367, 20510]

    def test_diamonds(self, data_dir):
        data = diamonds(data_dir)
        assert data.X.shape == (53_940, 9)
        assert not data.X.isna().any().any()
        assert data.y.max() == 18823

    def test_uci(self, data_dir):
        names = uci_names(data_dir)
        assert len(names) == 120
        assert len(uci_names(data_dir, small=True)) == 90
        for name in ("iris", "zoo", "abalone"):
            data = uci(name, data_dir)
            assert name in names
            for split in (*data.splits, data.tuning):
                assert not set(split.train) & set(split.test)
                assert max(split.train.max(), split.test.max()) < len(data.X)

    def test_grinsztajn(self, data_dir):
        assert len(grinsztajn_names(folder=data_dir)) == 15
        data = grinsztajn("wine_quality", folder=data_dir)
        assert data.X.shape == (6497, 11)
        assert sorted(set(data.y)) == [3, 4, 5, 6, 7, 8, 9]

    @pytest.mark.parametrize(("split", "n"), [("train", 6920), ("dev", 872), ("test", 1821)])
    def test_sst2(self, data_dir, split, n):
        data = sst2(split, data_dir)
        assert len(data.X) == n
        assert set(data.y) == {0, 1}
