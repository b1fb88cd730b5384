"""The folder of local data."""

import gzip

import numpy as np
import pytest

from gramian.datasets import cifar10, covertype, diamonds, grinsztajn_names, mnist, sst2, uci, uci_names


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


def test_the_variable_names_the_folder(digits, monkeypatch):
    folder, images, _ = digits
    monkeypatch.setenv("GRAMIAN_DATA", str(folder))
    assert len(mnist("test").X) == len(images)


@pytest.mark.parametrize(
    "read", [mnist, cifar10, covertype, diamonds, sst2, grinsztajn_names, uci_names, lambda: uci("iris")]
)
def test_no_folder_says_how_to_name_one(read, monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"GRAMIAN_DATA.*folder="):
        read()
