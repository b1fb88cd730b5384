"""A forged folder of digits."""

import numpy as np
import pytest

from data_files import idx, write_gz


@pytest.fixture
def numbers():
    return np.random.default_rng(0)


@pytest.fixture
def digits(tmp_path, numbers):
    images, labels = numbers.integers(256, size=(5, 28, 28), dtype=np.uint8), np.arange(5, dtype=np.uint8)
    write_gz(tmp_path / "mnist/t10k-images-idx3-ubyte.gz", idx(images))
    write_gz(tmp_path / "mnist/t10k-labels-idx1-ubyte.gz", idx(labels))
    return tmp_path, images, labels
