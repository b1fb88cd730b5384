"""Splits of the rows: partitions over the copies of the rows, with a share of each label, at random."""

import numpy as np
import pytest
import torch

from gramian.core.rows import Rows
from gramian.core.splits import RowSplit, SplitBy, draw_splits, hold_out
from small_training import make_rows


def counted(rows, copies, n):
    """The number of copies of each of n rows in one part of a split."""
    out = np.zeros(n)
    out[rows.numpy()] = 1 if copies is None else copies.numpy()
    return out


class TestFifths:
    @pytest.mark.parametrize("count", [3, 5])
    def test_fifths_of_the_rows_are_held_out_in_turn(self, count):
        drawn = list(draw_splits(53, count, seed=0))
        assert len(drawn) == count
        held_out = torch.cat([split.held_out for split in drawn])
        assert len(held_out.unique()) == len(held_out)
        assert all(len(split.held_out) in (10, 11) for split in drawn)
        for split in drawn:
            assert torch.equal(torch.cat([split.train, split.held_out]).sort().values, torch.arange(53))

    def test_every_fold_has_its_share_of_each_label(self):
        strata = np.repeat([0, 1, 2], [100, 45, 5])
        for split in draw_splits(150, 5, seed=1, strata=strata):
            assert np.bincount(strata[split.held_out.numpy()]).tolist() == [20, 9, 1]

    def test_parts_of_four_fifths_are_folds(self):
        one, other = (list(draw_splits(50, 5, train_rows=rows, held_out_rows=10)) for rows in (40, 0))
        assert all(torch.equal(a.train, b.train) for a, b in zip(one, other, strict=True))

    def test_folds_depend_on_the_seed_only(self):
        one, same, other = (next(draw_splits(40, 5, seed=seed)).held_out for seed in (0, 0, 1))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)


class TestParts:
    def test_parts_and_held_out_rows_have_no_row_twice_and_are_drawn_at_random(self):
        for split in draw_splits(1000, 3, train_rows=300, held_out_rows=200, seed=0):
            assert (len(split.train), len(split.held_out)) == (300, 200)
            assert len(torch.cat([split.train, split.held_out]).unique()) == 500
            assert float(split.train.double().mean()) == pytest.approx(500, abs=60), "not the first rows"
            assert torch.equal(split.train, split.train.sort().values)

    def test_parts_of_a_large_table_are_disjoint(self):
        drawn = list(draw_splits(1000, 3, train_rows=300, held_out_rows=200))
        assert len(torch.cat([split.train for split in drawn]).unique()) == 900
        assert set(drawn[0].held_out.tolist()) <= set(drawn[1].train.tolist()), "the next part follows"

    def test_after_the_last_row_comes_the_first(self):
        first, second = draw_splits(100, 2, train_rows=60, held_out_rows=40)
        assert set(first.held_out.tolist()) <= set(second.train.tolist())
        assert set(second.held_out.tolist()) <= set(first.train.tolist())
        assert len(second.held_out) == 40

    @pytest.mark.parametrize("number", range(3))
    def test_every_part_has_its_share_of_each_label(self, number):
        strata = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 300, 100]))
        split = list(draw_splits(1000, 3, train_rows=200, held_out_rows=400, strata=strata))[number]
        for rows, expected in ((split.train, [120, 60, 20]), (split.held_out, [240, 120, 40])):
            assert np.abs(np.bincount(strata[rows.numpy()]) - expected).max() <= 1


class TestCopies:
    """A row that is several times in the table is fitted and held out as often as its copies are."""

    COUNTS = np.array([1, 7, 1, 2, 1, 12, 1, 1, 3, 1])

    def test_the_copies_of_a_row_are_fitted_or_held_out(self):
        for split in draw_splits(10, 5, copies=self.COUNTS):
            fitted = counted(split.train, split.train_copies, 10)
            held_out = counted(split.held_out, split.held_out_copies, 10)
            assert (fitted + held_out == self.COUNTS).all()
            assert held_out.sum() == 6

    def test_every_copy_is_held_out_once(self):
        drawn = list(draw_splits(10, 5, copies=self.COUNTS))
        assert (sum(counted(s.held_out, s.held_out_copies, 10) for s in drawn) == self.COUNTS).all()

    def test_splits_are_those_of_the_table_with_its_copies(self):
        """Rows that are merged are split like the rows they are made of."""
        owner = np.repeat(np.arange(10), self.COUNTS)
        merged = draw_splits(10, 5, seed=3, copies=self.COUNTS)
        for split, whole in zip(merged, draw_splits(len(owner), 5, seed=3), strict=True):
            expected = np.bincount(owner[whole.train.numpy()], minlength=10)
            assert (counted(split.train, split.train_copies, 10) == expected).all()

    def test_parts_count_copies(self):
        counts = np.full(100, 3)
        split = next(draw_splits(100, 1, train_rows=60, held_out_rows=40, copies=counts))
        assert split.train_copies.sum() == 60
        assert split.held_out_copies.sum() == 40
        total = counted(split.train, split.train_copies, 100) + counted(split.held_out, split.held_out_copies, 100)
        assert (total <= counts).all()

    def test_labels_are_spread_over_copies(self):
        counts, strata = np.tile([1, 4], 50), np.tile([0, 1], 50)
        for split in draw_splits(100, 5, copies=counts, strata=strata):
            held_out = counted(split.held_out, split.held_out_copies, 100)
            assert [held_out[strata == label].sum() for label in (0, 1)] == [10, 40]


class TestRowsOfASplit:
    def test_rows_without_copies_are_taken_as_they_are(self):
        data = make_rows(20, weighted=True)
        split = next(draw_splits(20, 5))
        for rows, found in ((split.train, split.fitted(data)), (split.held_out, split.compared(data))):
            assert torch.equal(found.X, data.X[rows])
            assert torch.equal(found.Y, data.Y[rows])
            assert torch.equal(found.weights, data.weights[rows])
            assert found.copies is None

    def test_weights_are_those_of_the_copies_that_are_there(self):
        data = make_rows(4)
        copies = torch.tensor([1.0, 4.0, 2.0, 1.0], dtype=torch.float64)
        data = Rows(data.X, data.Y, 0.5 * copies, copies=copies)
        split = RowSplit(torch.tensor([1, 2]), torch.tensor([0, 1]), torch.tensor([3.0, 2.0]), torch.tensor([1.0, 1.0]))
        assert split.fitted(data).weights.tolist() == [1.5, 1.0]
        assert split.fitted(data).copies.tolist() == [3, 2]
        assert split.compared(data).weights.tolist() == [0.5, 0.5]
        assert split.compared(data).copies.tolist() == [1, 1]

    def test_both_parts_together_have_the_weight_of_the_table(self):
        data = make_rows(10)
        copies = torch.from_numpy(TestCopies.COUNTS).double()
        weights = copies * torch.linspace(1, 2, 10, dtype=torch.float64)  # for example class weights
        data = Rows(data.X, data.Y, weights, copies=copies)
        for split in draw_splits(10, 5, copies=TestCopies.COUNTS):
            total = split.fitted(data).total_weight + split.compared(data).total_weight
            assert total == pytest.approx(data.total_weight)


class TestSplitBy:
    codes = np.random.default_rng(0).integers(12, size=200)

    def cases(self, ordered, **sizes):
        splits = list(draw_splits(200, 4, by=SplitBy(self.codes, ordered), **sizes))
        assert len(splits) == 4
        return [(self.codes[split.train], self.codes[split.held_out]) for split in splits]

    @pytest.mark.parametrize("sizes", [{}, {"train_rows": 60, "held_out_rows": 50}])
    @pytest.mark.parametrize("ordered", [False, True])
    def test_no_group_is_on_both_sides(self, ordered, sizes):
        for train, held_out in self.cases(ordered, **sizes):
            assert len(train)
            assert len(held_out)
            assert not set(train) & set(held_out)

    @pytest.mark.parametrize("sizes", [{}, {"train_rows": 60, "held_out_rows": 50}])
    def test_held_out_rows_come_later(self, sizes):
        cases = self.cases(True, **sizes)
        assert all(train.max() < held_out.min() for train, held_out in cases)
        assert cases[0][1].max() == self.codes.max()  # the first split is the one nearest to the future

    def test_folds_of_groups_hold_out_every_row_once_and_are_of_about_equal_size(self):
        splits = list(draw_splits(200, 4, by=SplitBy(self.codes, ordered=False)))
        rows = torch.cat([split.held_out for split in splits])
        assert sorted(rows.tolist()) == list(range(200))
        assert max(len(split.held_out) for split in splits) < 1.5 * 50

    @pytest.mark.parametrize("sizes", [(1600, *[4] * 100), (900, 900, 900), (3000, *[1] * 60), (5,) * 500])
    def test_splits_of_groups_have_as_many_rows_to_fit_as_the_other_groups_allow(self, sizes):
        codes = np.repeat(np.arange(len(sizes)), sizes)
        parts = list(SplitBy(codes, ordered=False).splits(3, 1000, 700, seed=0))
        assert len(parts) == 3
        for train, held_out in parts:
            assert not set(codes[train]) & set(codes[held_out])
            assert len(held_out) <= 700
            assert len(train) <= 1000
        others = len(codes) - min(np.bincount(codes).max(), len(codes) // 3)
        assert len(parts[0][0]) == min(1000, others), "candidates are screened on these"
        if max(sizes) < 1000:
            assert all(len(train) == 1000 for train, _ in parts)

    def test_fewer_groups_than_splits_give_fewer_splits(self):
        codes = np.repeat([0, 1, 2], [5, 50, 10])
        assert len(list(draw_splits(65, 5, by=SplitBy(codes, ordered=False)))) == 3
        for ordered in (False, True):
            split = next(draw_splits(55, 5, by=SplitBy(np.repeat([0, 1], [5, 50]), ordered)))
            assert len(split.train) + len(split.held_out) == 55

    @pytest.mark.parametrize("sizes", [[10, 10, 580], [5, 595], [300, 300], [100, 50, 450]])
    @pytest.mark.parametrize("seed", range(4))
    def test_parts_of_seven_tenths_hold_out_each_group_once_and_begin_with_the_most_rows_to_fit(self, sizes, seed):
        codes = np.repeat(np.arange(len(sizes)), sizes)
        drawn = list(draw_splits(600, 3, train_rows=420, held_out_rows=180, seed=seed, by=SplitBy(codes, False)))
        assert sorted(torch.cat([split.held_out for split in drawn]).tolist()) == list(range(600))
        assert len(drawn[0].train) == 600 - min(sizes)

    @pytest.mark.parametrize("ordered", [False, True])
    @pytest.mark.parametrize("count", [1, 40, 500])
    def test_whole_groups_are_held_out_of_a_large_fit(self, ordered, count):
        held_out, others = hold_out(200, count, 0, SplitBy(self.codes, ordered))
        assert sorted([*held_out.tolist(), *others.tolist()]) == list(range(200))
        assert len(held_out)
        assert len(others)
        assert not set(self.codes[held_out]) & set(self.codes[others])
        if ordered:
            assert self.codes[others].max() < self.codes[held_out].min()

    @pytest.mark.parametrize("sizes", [[5, 90, 5], [60, 40], [40, 60], [10, 10, 80], [80, 10, 10], [1, 1]])
    @pytest.mark.parametrize("ordered", [False, True])
    def test_at_most_half_of_the_rows_are_held_out_where_groups_allow_it(self, sizes, ordered):
        codes = np.repeat(np.arange(len(sizes)), sizes)
        least = sizes[-1] if ordered else min(sizes)
        for seed in range(6):
            held_out, others = hold_out(len(codes), 30, seed, SplitBy(codes, ordered))
            assert 0 < len(held_out) <= max(least, len(codes) // 2)
            assert len(others)
            assert not set(codes[held_out.numpy()]) & set(codes[others.numpy()])


@pytest.mark.parametrize("seed", range(20))
def test_no_row_is_held_out_twice_by_splits_in_time(seed):
    """A time with many rows reaches back over several parts; the next split ends where the last began."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.choice(8, size=200, p=rng.dirichlet(np.full(8, 0.5))))
    seen: set[int] = set()
    for train, held_out in SplitBy(codes, ordered=True).splits(5, 0, 0, 0):
        assert codes[train].max() < codes[held_out].min()
        assert not seen & set(held_out.tolist())
        seen |= set(held_out.tolist())


def test_splits_in_time_of_one_large_time_are_fewer():
    codes = np.r_[np.repeat(np.arange(5), 100), np.repeat(5, 500)]
    parts = [(len(train), len(held)) for train, held in SplitBy(codes, ordered=True).splits(5, 0, 0, 0)]
    assert parts == [(500, 500), (300, 200), (100, 200)]
