"""Pictures of two classes."""

import numpy as np
import pytest
import torch

from gramian.experiments.b_rfm.picture_data import read, tensors, two_classes


def test_two_classes_have_their_counts_and_no_row_twice():
    data = two_classes("made", "train", (3, 5), (20, 60), torch.Generator().manual_seed(0))
    assert np.bincount(data.y).tolist() == [0, 0, 0, 20, 0, 60]
    assert len(np.unique(data.X, axis=0)) == 80
    _, Y, y = tensors(data, (5, 3))
    np.testing.assert_array_equal(Y.argmax(1).numpy(), y.numpy())
    np.testing.assert_array_equal(y.numpy(), (data.y == 3).astype(int))


def test_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="name must be one of cifar10"):
        read("faces", "train")
    with pytest.raises(ValueError, match="61 pictures of class 0, and made has 60"):
        two_classes("made", "train", (0, 1), (61, 1), torch.Generator())
