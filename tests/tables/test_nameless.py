"""Classes and groups are numbered by their rows, and not by their names."""

import numpy as np
import pytest

from gramian.core.splits import SplitBy
from gramian.tables.merging import merge_rows
from gramian.tables.nameless import order_without_names, rank_labels

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, size=(60, 2)).astype(float)
Y, GROUPS = RNG.integers(0, 4, size=60), RNG.integers(0, 6, size=60)


def ordered(y, groups, ordered=False):
    by = SplitBy(groups, ordered)
    return order_without_names(merge_rows(X, y.astype(float), None, groups), by, classify=True)


@pytest.mark.parametrize("seed", range(5))
def test_names_change_neither_the_order_of_rows_nor_the_numbers(seed):
    rng = np.random.default_rng(seed)
    classes, names = rng.permutation(4), rng.permutation(6)
    rows, strata, by = ordered(Y, GROUPS)
    same, same_strata, same_by = ordered(classes[Y], names[GROUPS])
    assert np.array_equal(same.X, rows.X)
    assert np.array_equal(same.y, classes[rows.y.astype(int)])
    assert np.array_equal(same_strata, strata)
    assert np.array_equal(same_by.codes, by.codes)
    assert np.array_equal(GROUPS[same.index], GROUPS[rows.index])


def test_the_numbers_belong_to_the_same_rows():
    rows, strata, by = ordered(Y, GROUPS)
    assert np.array_equal(X[rows.index], rows.X)
    assert np.array_equal(Y[rows.index], rows.y)
    for labels, numbers in ((Y, strata), (GROUPS, by.codes)):
        assert len(set(zip(labels[rows.index], numbers, strict=True))) == len(np.unique(labels)) == numbers.max() + 1


def test_times_keep_their_order():
    rows, _, by = ordered(Y, GROUPS, ordered=True)
    assert np.array_equal(by.codes, GROUPS[rows.index])


def test_the_largest_class_comes_first_and_copies_count():
    labels, place = np.array([0, 1, 1]), np.arange(3)
    assert rank_labels(labels, place, None).tolist() == [1, 0, 0]
    assert rank_labels(labels, place, np.array([5.0, 1.0, 1.0])).tolist() == [0, 1, 1]


def test_of_equal_classes_the_one_with_the_first_row_comes_first():
    assert rank_labels(np.array([1, 0, 0, 1]), np.array([0, 0, 1, 2]), None).tolist() == [1, 0, 0, 1]


def test_a_regression_without_groups_is_unchanged():
    merged = merge_rows(X, Y.astype(float), None)
    rows, strata, by = order_without_names(merged, None, classify=False)
    assert rows is merged
    assert strata is None
    assert by is None
