"""Readers of images: bytes, sheets, damaged files."""

import numpy as np
import pytest
from PIL import Image

from data_files import idx, write_gz
from gramian.datasets import cifar10, cifar100, mnist


def test_mnist_reads_images_and_labels(digits):
    folder, images, labels = digits
    data = mnist("test", folder=folder)
    np.testing.assert_array_equal((data.X * 255).round().reshape(5, 28, 28), images)
    np.testing.assert_array_equal(data.y, labels)
    assert data.image_shape == (28, 28)
    assert data.feature_names[29] == "1,1"
    assert data.X.dtype == np.float32


def test_damaged_idx_files_are_refused(digits):
    folder, images, _ = digits
    write_gz(folder / "mnist/t10k-images-idx3-ubyte.gz", idx(images)[:-7])
    with pytest.raises(ValueError, match="cut short"):
        mnist("test", folder=folder)
    write_gz(folder / "mnist/t10k-images-idx3-ubyte.gz", b"not an idx file at all")
    with pytest.raises(ValueError, match="not an idx file"):
        mnist("test", folder=folder)


@pytest.mark.parametrize("read", [cifar10, cifar100])
def test_cifar_reads_sheets_in_order(read, tmp_path, numbers):
    name = read.__name__
    pictures = numbers.integers(256, size=(1300, 32, 32, 3), dtype=np.uint8)
    labels = numbers.integers(10, size=1300, dtype=np.uint8)
    (tmp_path / name).mkdir()
    padded = np.concatenate([pictures, np.zeros((700, 32, 32, 3), dtype=np.uint8)])
    for i in range(2):
        grid = padded[1000 * i : 1000 * (i + 1)].reshape(40, 25, 32, 32, 3)
        sheet = np.vstack([np.hstack(list(row)) for row in grid])
        Image.fromarray(sheet).save(tmp_path / f"{name}/test_{i:02d}.webp", lossless=True, method=0)
    np.savez(tmp_path / f"{name}/labels.npz", test=labels, train=labels[:0])
    data = read("test", folder=tmp_path)
    np.testing.assert_array_equal((data.X * 255).round().reshape(pictures.shape), pictures)
    np.testing.assert_array_equal(data.y, labels)
    assert data.image_shape == (32, 32, 3)
    assert data.feature_names[:4] == ("0,0 red", "0,0 green", "0,0 blue", "0,1 red")
    np.savez(tmp_path / f"{name}/labels.npz", train=labels)
    with pytest.raises(FileNotFoundError, match=rf"no {name}/train_00.*GRAMIAN_DATA"):
        read("train", folder=tmp_path)


def test_cifar10_refuses_a_sheet_of_another_size(tmp_path):
    (tmp_path / "cifar10").mkdir()
    Image.new("RGB", (32, 32)).save(tmp_path / "cifar10/test_00.webp")
    np.savez(tmp_path / "cifar10/labels.npz", test=np.zeros(1, dtype=np.uint8))
    with pytest.raises(ValueError, match="1280 × 800"):
        cifar10("test", folder=tmp_path)


class TestRealImages:
    def test_mnist_has_its_counts(self, data_dir):
        data = mnist("test", data_dir)
        assert data.X.shape == (10_000, 784)
        assert np.bincount(data.y).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
        assert data.y[:5].tolist() == [7, 2, 1, 0, 4]
        np.testing.assert_allclose(data.X.mean(), 0.1325, atol=2e-3)

    def test_cifar10_has_its_counts_and_is_smooth(self, data_dir):
        data = cifar10("test", data_dir)
        assert data.X.shape == (10_000, 3072)
        assert np.bincount(data.y).tolist() == [1000] * 10
        assert data.y[:4].tolist() == [3, 8, 8, 0]
        # A picture is smooth, a wrong reading order is not.
        image = data.X.reshape(-1, 32, 32, 3)
        assert np.abs(np.diff(image, axis=1)).mean() < 0.08
        assert np.abs(np.diff(image, axis=2)).mean() < 0.08

    def test_cifar100_has_its_counts(self, data_dir):
        data = cifar100("test", data_dir)
        assert data.X.shape == (10_000, 3072)
        assert np.bincount(data.y).tolist() == [100] * 100
        assert np.abs(np.diff(data.X.reshape(-1, 32, 32, 3), axis=2)).mean() < 0.08


@pytest.mark.parametrize("read", [mnist, cifar10, cifar100])
def test_an_unknown_split_is_refused(read):
    with pytest.raises(ValueError, match="split must be one of train"):
        read("validation")
