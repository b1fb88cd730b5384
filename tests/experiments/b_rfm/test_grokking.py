"""Fig. 7: the rows as both descriptions have them."""

import numpy as np
import pytest
import torch

from gramian.experiments.b_rfm.grokking import Marked, as_picture, late_growth, marked_rows


@pytest.mark.parametrize(("path", "counts"), [("text", [40, 8]), ("code", [8, 40])])
def test_the_mark_tells_the_class_and_the_classes_are_unequal(path, counts):
    spec = Marked(path, "made", 16, 10, 1, 1e-3, 50, 10)
    (X, Y, y), (X_test, y_test), mask = marked_rows(spec, seed=0)
    assert Y.sum(0).tolist() == counts
    assert torch.bincount(y_test).tolist() == [10, 10]
    for rows, labels in ((X, y), (X_test, y_test)):
        brightest = rows[:, mask].amax(1)
        np.testing.assert_array_equal(brightest.numpy(), labels.numpy())
    assert int(mask.sum()) == 3 * (28 if path == "text" else 25)


def test_a_large_diagonal_is_drawn_small_and_keeps_its_largest_entry():
    diagonal = torch.zeros(96, 96, 3)
    diagonal[50, 61, 1] = 3.0
    picture = np.asarray(as_picture(diagonal.flatten(), 96))
    assert picture.shape == (48, 48)
    assert np.argwhere(picture == 99).tolist() == [[25, 30]]


def test_late_growth_is_growth_after_the_fit_minus_growth_before():
    network = {"train": [0.5, 0.99, 1.0], "share": [0.1, 0.3, 0.8]}
    assert late_growth([{"arrays": {"network": network}}])["nn/grown late"] == pytest.approx(0.5 - 0.2)
    assert late_growth([{"arrays": {}}]) == {}
