"""Laws of merged rows: canonical order, weights that count copies, rows of weight 0."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from gramian.tables import merging
from gramian.tables.merging import check_weights, counts_rows, merge_rows

values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, -1e300, 1e-300])
tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, (n, 2), elements=values),
        hnp.arrays(np.float64, (n,), elements=st.sampled_from([0.0, 1.0])),
        hnp.arrays(np.float64, (n,), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0])),
    )
)


def same(one, other):
    assert np.array_equal(one.X, other.X)
    assert np.array_equal(one.y, other.y)
    assert np.array_equal(one.weights_or_ones, other.weights_or_ones)
    assert (one.copies is None) == (other.copies is None)
    assert one.copies is None or np.array_equal(one.copies, other.copies)


@settings(max_examples=80)
@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_rows_has_no_effect(table, random):
    X, y, weights = table
    weights = weights / 3 + 0.1
    order = list(range(len(X)))
    random.shuffle(order)
    same(merge_rows(X, y, weights), merge_rows(X[order], y[order], weights[order]))


@settings(max_examples=80)
@given(tables)
def test_rows_are_distinct_and_in_lexicographic_order(table):
    X, y, _ = table
    rows = merge_rows(X, y, None)
    listed = [tuple(row) for row in np.column_stack([rows.X, rows.y])]
    assert listed == sorted(set(listed))
    assert set(listed) == {tuple(row) for row in np.column_stack([X, y])}
    assert float(rows.weights_or_ones.sum()) == len(X)
    assert np.array_equal(X[rows.index], rows.X)


@settings(max_examples=80)
@given(tables)
def test_a_weight_of_two_is_a_repeated_row(table):
    X, y, _ = table
    counts = np.arange(len(X)) % 3 + 1
    same(merge_rows(X, y, counts.astype(float)), merge_rows(X.repeat(counts, axis=0), y.repeat(counts), None))


def test_the_index_is_the_first_copy_in_the_users_table():
    rows = merge_rows(np.array([[5.0], [5.0], [3.0]]), np.zeros(3), np.array([1.0, 1.0, 1.0]))
    assert rows.index.tolist() == [2, 0]
    assert rows.weights.tolist() == [1, 2]
    assert len(rows) == 2


def test_rows_that_all_count_once_have_no_weights():
    rows = merge_rows(np.array([[2.0], [1.0]]), np.zeros(2), np.ones(2))
    assert rows.weights is None
    assert rows.weights_or_ones.tolist() == [1, 1]


class TestCopies:
    """Whole numbers that are small in the mean count the copies of a row; other weights state importance."""

    def merged(self, weights):
        return merge_rows(np.arange(len(weights), dtype=float)[:, None], np.zeros(len(weights)), np.array(weights))

    def test_repeated_rows_are_counted(self):
        rows = merge_rows(np.array([[2.0], [1.0], [2.0], [3.0], [2.0]]), np.zeros(5), None)
        assert rows.copies.tolist() == [1, 3, 1]

    def test_a_weight_of_two_is_two_copies(self):
        X, y, counts = np.arange(6.0)[:, None], np.zeros(6), np.array([1, 2, 1, 3, 2, 1])
        weighted, repeated = (
            merge_rows(X, y, counts.astype(float)),
            merge_rows(X.repeat(counts, axis=0), y.repeat(counts), None),
        )
        assert weighted.copies.tolist() == repeated.copies.tolist() == counts.tolist()

    def test_every_row_doubled_is_every_weight_doubled(self):
        X, y = np.arange(3.0)[:, None], np.zeros(3)
        doubled = merge_rows(np.vstack([X, X]), np.zeros(6), None)
        assert doubled.copies.tolist() == merge_rows(X, y, np.full(3, 2.0)).copies.tolist() == [2, 2, 2]

    def test_rows_that_count_once_each_have_no_copies(self):
        assert merge_rows(np.array([[1.0], [2.0]]), np.zeros(2), None).copies is None
        assert self.merged([0.7, 0.7, 0.7]).copies is None

    @pytest.mark.parametrize("weights", [[1.0, 1.5], [0.5, 1.0], [1.0, 2.0, 2.001], [1.0, 1e9], [1e6, 1e6]])
    def test_other_weights_state_importance(self, weights):
        assert self.merged(weights).copies is None

    @pytest.mark.parametrize("weights", [[0.5] * 5, [20.0] * 5, [0.3, 1.7, 0.2, 1.0, 0.6]])
    def test_weights_of_importance_leave_the_number_of_copies_alone(self, weights):
        X, weights = np.array([[2.0], [1.0], [2.0], [3.0], [2.0]]), np.array(weights)
        rows = merge_rows(X, np.zeros(5), weights)
        assert rows.copies.tolist() == [1, 3, 1]
        np.testing.assert_allclose(rows.weights, [weights[1], weights[[0, 2, 4]].sum(), weights[3]], rtol=1e-15)

    def test_rows_of_weight_0_are_no_copies(self):
        assert counts_rows(np.array([0.0, 10.0]))  # the mean over rows that are there is 10, not 5
        assert not counts_rows(np.array([0.0, 11.0]))


def test_equal_rows_with_different_targets_are_different():
    assert len(merge_rows(np.ones((3, 1)), np.array([1.0, 2.0, 1.0]), None)) == 2
    assert len(merge_rows(np.ones((2, 1)), np.array([[1.0, 2.0], [1.0, 3.0]]), None)) == 2


def test_blocks_of_rows_give_the_same_rows(monkeypatch):
    X, y = np.random.default_rng(0).integers(0, 3, size=(60, 2)).astype(float), np.zeros(60)
    whole = merge_rows(X, y, None)
    monkeypatch.setattr(merging, "_BLOCK_ROWS", 7)
    same(merge_rows(X, y, None), whole)


def test_the_table_is_not_changed():
    X, y = np.array([[-0.0], [1.0]]), np.array([-0.0, 1.0])
    merge_rows(X, y, None)
    assert np.signbit(X[0, 0])
    assert np.signbit(y[0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0, -2.0], r"must not be negative, got -2.0 at row 1"), ([0.0, 0.0], "sample_weight is zero for every row")],
)
def test_weights_that_leave_nothing_to_fit_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weights, 2)


def test_weights_are_checked():
    assert check_weights(None, 3) is None
    assert check_weights([1, 2], 2).tolist() == [1, 2]
    assert check_weights(0.5, 2).tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\), expected \(2,\): one weight per row"):
        check_weights([1, 2, 3], 2)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="sample_weight contains NaN or infinity"):
            check_weights([1.0, bad], 2)
    with pytest.raises(ValueError, match="sample_weight must be numbers, one per row"):
        check_weights(["1", "many"], 2)
