"""The growth of a tree: no row is lost, leaves are small, and interrupts fall back to a model that exists."""

import time
from threading import Lock

import pytest
import torch

from gramian.core.clock import Clock
from gramian.core.hardware import threads
from gramian.core.pool import Serial, Threads
from gramian.core.progress import Tick
from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import Gaussian, Identity
from gramian.rfm.options import TreePartition
from gramian.rfm.training import grow_tree
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.grow_tree import fit_tree, grow
from small_training import FakeTime, Stops, exact_machine, make_rows


def fit_leaf(rows):
    return exact_machine(rows, Gaussian(1.0))


@pytest.fixture(scope="module")
def source():
    return MemoryRows(make_rows(300), block=70)


def fallback(source):
    rows = torch.arange(40)
    return fit_leaf(source.take(rows))[0], rows


def fit(source, context=None, fit_leaf=fit_leaf, **options):
    partition = TreePartition(**{"leaf_rows": 100, "workers": 1} | options)
    spare = fallback(source)
    return *fit_tree(partition, source, Identity(3), fit_leaf, spare, context or FitContext()), spare


class TestSplits:
    def grow(self, source, **options):
        return grow(TreePartition(**options), source, fit_leaf, Serial(), Clock())

    @pytest.mark.parametrize("overlap", [0.0, 0.1, 0.3])
    def test_every_row_is_in_a_leaf_and_leaves_are_small(self, source, overlap):
        splits, leaves = self.grow(source, leaf_rows=60, overlap=overlap)
        assert torch.equal(torch.cat(leaves).unique(), torch.arange(300))
        assert max(map(len, leaves)) <= 60
        assert splits.n_leaves == len(leaves)
        if overlap == 0:
            assert sum(map(len, leaves)) == 300
        else:
            assert sum(map(len, leaves)) > 300

    def test_rows_are_in_the_leaves_that_have_a_share_in_predicting_them(self, source):
        splits, leaves = self.grow(source, leaf_rows=100, overlap=0.2)
        shares = splits.shares(source.rows.X)
        for leaf, rows in enumerate(leaves):
            assert set(shares[:, leaf].nonzero().squeeze(1).tolist()) <= set(rows.tolist())
        torch.testing.assert_close(shares.sum(dim=1), torch.ones(300, dtype=torch.float64))
        assert int((shares > 0).sum(dim=1).max()) > 1

    def test_equal_rows_stay_together(self):
        rows = Rows(torch.ones(50, 2, dtype=torch.float64), torch.arange(50.0, dtype=torch.float64)[:, None])
        splits, leaves = self.grow(MemoryRows(rows), leaf_rows=10)
        assert splits is None
        assert len(leaves[0]) == 50

    def test_rows_with_few_values_go_to_the_leaf_that_was_fitted_to_them(self):
        """Rows tie at every threshold; the projections of growth and of prediction agree to the last bit."""
        rng = torch.Generator().manual_seed(0)
        X = torch.randint(0, 2, (400, 6), generator=rng).double()
        Y = X[:, :1] + 0.7 * X[:, 1:2] - 0.4 * X[:, 2:3]
        splits, leaves = self.grow(MemoryRows(Rows(X, Y)), leaf_rows=100)
        shares = splits.shares(X)
        for leaf, rows in enumerate(leaves):
            assert set(shares[:, leaf].nonzero().squeeze(1).tolist()) <= set(rows.tolist())

    def test_many_rows_that_cannot_be_split_are_logged(self, caplog):
        X = torch.zeros(50, 1, dtype=torch.float64)
        X[0] = 1.0
        self.grow(MemoryRows(Rows(X, X)), leaf_rows=10)
        assert "50 rows could not be split: they have too few distinct values" in caplog.text

    def test_the_splits_depend_on_the_seed_only(self, source, monkeypatch):
        monkeypatch.setattr(grow_tree, "PROBE_ROWS", 30)
        one, same, other = (self.grow(source, leaf_rows=150, seed=seed)[0].directions for seed in (0, 0, 1))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)


class TestLeaves:
    def test_no_more_leaves_are_solved_at_a_time_than_asked_for(self, source):
        for workers, most in ((1, 1), (2, 2), (None, 3)):
            lock, in_progress, seen = Lock(), [], []

            def watched(rows, lock=lock, in_progress=in_progress, seen=seen, most=most):
                with lock:
                    in_progress.append(1)
                    seen.append(len(in_progress))
                    early = len(seen) <= most
                time.sleep(0.5 if early else 0)  # the first ones meet, also on a busy machine
                found = fit_leaf(rows)
                with lock:
                    in_progress.pop()
                return found

            fit(source, FitContext(pool=Threads(3)), watched, leaf_rows=40, workers=workers)
            assert max(seen) == most, workers

    @pytest.mark.parametrize("workers", [2, None])
    def test_leaves_in_parallel_are_the_leaves_one_by_one(self, source, workers):
        counted = Counted()
        X = source.rows.X[:50]

        def fitted(workers):
            return fit(source, FitContext(tick=counted), leaf_rows=60, workers=workers)[0]

        with threads(2):
            many = fitted(workers)
            assert torch.get_num_threads() == 2
        with threads(1):
            one = fitted(1)
        assert counted.steps == counted.expected == 2 * len(one.leaves)
        torch.testing.assert_close(many.predict(X), one.predict(X), rtol=1e-8, atol=1e-8)

    def test_the_record_is_that_of_the_worst_leaf(self, source):
        machine, info, rows, _ = fit(source)
        assert rows is None
        assert info.solver == "tree"
        assert info.status.startswith(f"{len(machine.leaves)} of {len(machine.leaves)} leaves of ")
        assert info.residual < 1e-6

    def test_weights_reach_the_leaves(self):
        data = make_rows(200, weighted=True)
        machine = fit(MemoryRows(data))[0]
        torch.testing.assert_close(machine.weights, data.weights)


class Counted(Tick):
    steps = expected = 0

    def __call__(self):
        self.steps += 1

    def expect(self, steps):
        self.expected += steps


class LeavesHaveNoTime(Tick):
    """The time limit is reached when the first leaf is finished, and not before."""

    def __init__(self, time):
        self.time = time

    def expect(self, steps):
        self.time.now = 1e9


class TestInterrupted:
    def test_leaves_without_time_fall_back_to_the_spare_model(self, source):
        passing = FakeTime()
        with pytest.warns(
            UserWarning,
            match=r"time limit of 1000 s was too short: \d of \d leaves fall back to a model .* 40 random rows",
        ):
            machine, info, rows, spare = fit(source, FitContext(Clock(1000.0, passing), tick=LeavesHaveNoTime(passing)))
        assert sum(leaf is spare[0] for leaf in machine.leaves) == len(machine.leaves) - 1
        assert info.status.startswith("stopped early, 1 of")
        torch.testing.assert_close(machine.X, source.rows.X[rows])

    def test_ctrl_c_among_the_leaves_falls_back_too(self, source, monkeypatch):
        Stops(monkeypatch, grow_tree, "_fit_released", 2)
        with pytest.warns(UserWarning, match=r"interrupted: \d of \d leaves fall back to a model fitted to 40 random"):
            machine, info, _, spare = fit(source)
        assert machine.leaves[0] is not spare[0]
        assert machine.leaves[1] is spare[0]
        assert info.status.startswith("stopped early, 1 of")

    def test_a_tree_without_time_to_grow_is_the_spare_model(self, source):
        with pytest.warns(UserWarning, match="time limit of 0 s was too short: 1 of 1 leaves"):
            machine, _, rows, spare = fit(source, FitContext(Clock(0.0)))
        assert machine is spare[0]
        assert torch.equal(rows, spare[1])
