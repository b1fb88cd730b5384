"""Labels of each kind become numbers between 0 and 1, and folds hold their share of each label."""

import numpy as np
import pytest
import torch

from gramian.concepts.targets import make_target


@pytest.mark.parametrize(
    ("labels", "kind", "classes", "columns"),
    [
        (["b", "a"] * 5, "classes", ("a", "b"), ("b",)),
        ([True, False] * 5, "classes", ("False", "True"), ("True",)),
        ([0, 1, 2] * 5, "classes", ("0", "1", "2"), ("0", "1", "2")),
        (np.linspace(-3, 7, 11), "graded", ("more",), ("more",)),
        (list(range(30)), "graded", ("more",), ("more",)),
        (torch.tensor([[0.2, 0.8], [0.9, 0.1]] * 5), "soft", ("0", "1"), ("1",)),
        (np.full((10, 4), 0.25), "soft", ("0", "1", "2", "3"), ("0", "1", "2", "3")),
    ],
)
def test_kinds_of_labels(labels, kind, classes, columns):
    target = make_target(labels)
    assert (target.kind, target.classes, target.names) == (kind, classes, columns)
    assert target.Y.shape == (len(labels), len(columns))
    assert float(target.Y.min()) >= 0
    assert float(target.Y.max()) <= 1
    if kind == "graded":
        back = target.low + (target.high - target.low) * target.Y[:, 0]
        np.testing.assert_allclose(back, np.asarray(labels), atol=1e-5)


def test_the_kind_can_be_stated():
    assert make_target([0.0, 1.0] * 5).kind == "classes"
    assert make_target([0.0, 1.0] * 5, "graded").kind == "graded"
    soft = make_target([0.25, 0.5] * 5, "soft")
    assert (soft.kind, soft.classes, soft.Y[:2, 0].tolist()) == ("soft", ("no", "yes"), [0.25, 0.5])


@pytest.mark.parametrize("labels", [["a"] * 10 + ["b"] * 20, ["a", "b", "c"] * 10, np.linspace(0, 1, 30) ** 2])
def test_each_row_is_held_out_once_and_folds_are_alike(labels):
    target = make_target(labels)
    folds = target.folds(seed=0)
    assert sorted(torch.cat([held_out for _, held_out in folds]).tolist()) == list(range(30))
    for train, held_out in folds:
        assert sorted([*train.tolist(), *held_out.tolist()]) == list(range(30))
        torch.testing.assert_close(target.Y[held_out].mean(dim=0), target.Y.mean(dim=0), atol=0.1, rtol=0)


def test_bad_labels_are_explained():
    for labels, kind, words in (
        ([], "auto", "one label per row"),
        (["a"] * 9, "auto", "at least two classes"),
        (["a"] * 9 + ["b"], "auto", "at least 5 rows of each class"),
        ([0.5, float("nan")] * 5, "auto", "finite"),
        ([1.5] * 20, "graded", "must differ"),
        ([0.1, 0.2], "soft", "too few"),
        ([0.1, 1.2] * 5, "soft", "between 0 and 1"),
        (["a", "b"] * 5, "graded", "must be numbers"),
        (np.ones((10, 2)), "auto", "sum of 1"),
        (np.ones((10, 1)), "auto", "at least two classes"),
    ):
        with pytest.raises(ValueError, match=words):
            make_target(labels, kind)
