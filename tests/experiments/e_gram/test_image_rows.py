"""Images of paper E."""

import numpy as np
import pytest
import torch

from gramian.datasets import Dataset
from gramian.experiments.e_gram.image_rows import ImageData, channels_first, image_rows


def test_training_and_test_digits_are_disjoint_and_drawn_by_the_seed():
    found = image_rows(ImageData("digits"), torch.Generator().manual_seed(0))
    rows = {tuple(row) for row in found.X.tolist()}
    assert len(found.X) + len(found.X_test) == 1797
    assert not any(tuple(row) in rows for row in found.X_test.tolist())
    other = image_rows(ImageData("digits"), torch.Generator().manual_seed(1))
    assert not torch.equal(found.y, other.y)


def test_pixels_are_channel_by_channel_and_averaged():
    pictures = np.random.default_rng(0).random((2, 4, 4, 3))
    data = Dataset(pictures.reshape(2, -1), np.zeros(2), (), "", image_shape=(4, 4, 3))
    X, shape = channels_first(data, pool=2)
    assert shape == (3, 2, 2)
    naive = [
        [pictures[i, 2 * r : 2 * r + 2, 2 * c : 2 * c + 2, k].mean() for k in range(3) for r in (0, 1) for c in (0, 1)]
        for i in (0, 1)
    ]
    np.testing.assert_allclose(X.numpy(), naive, rtol=1e-12)


def test_an_unknown_set_is_named():
    with pytest.raises(ValueError, match="name must be one of digits, mnist, cifar10, cifar100, got 'faces'"):
        image_rows(ImageData("faces"), torch.Generator())
