"""Fig. 7: the rows as both descriptions have them."""

import numpy as np
import pytest
import torch

from gramian.experiments.b_rfm.grokking import Marked, as_picture, marked_rows, rises


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


def record(**network):
    arrays = {"test": [0.5, 0.9, 1.0]} | ({"network": network} if network else {})
    return {"spec": {"path": "text"}, "arrays": arrays}


CURVES = {"epoch": [0.0, 5.0, 15.0], "test": [0.5, 0.8, 0.95], "share": [0.10, 0.11, 0.14]}


def test_growth_is_per_epoch_and_the_rise_is_that_after_the_fit():
    """A point in 5 epochs before and 3 points in 10 epochs after the fit: 20 and 30 points per 100 epochs."""
    found = rises([record(train=[0.5, 0.99, 1.0], **CURVES)])
    assert found == pytest.approx({"text/rise": 0.5, "nn/rise": 0.15, "nn/grown faster": 10.0})


@pytest.mark.parametrize("train", [[0.5, 0.9, 0.98], [0.5, 0.9, 1.0], [1.0, 1.0, 1.0]])
def test_a_network_without_a_stage_before_or_after_the_fit_has_no_numbers(train):
    assert rises([record(train=train, **CURVES)]) == {"text/rise": 0.5}
    assert rises([record()]) == {"text/rise": 0.5}


def test_a_constant_has_no_rise():
    constant = CURVES | {"test": [0.5, 0.5, 0.5], "train": [0.5, 1.0, 1.0]}
    assert rises([record(**constant)])["nn/rise"] == 0
