"""Machines at the leaves of a tree: no row is lost, no jump at a threshold, and all an estimator does works."""

import pickle
import time
import warnings
from dataclasses import replace
from threading import Lock

import numpy as np
import pytest
import torch
from gramian.rfm.partition import fit_tree, grow

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.core.clock import Clock
from gramian.core.hardware import threads
from gramian.core.pool import Serial, Threads
from gramian.core.progress import Tick
from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import Gaussian, Identity, KernelOperator
from gramian.rfm import partition, settings
from gramian.rfm.machine import KernelMachine
from gramian.rfm.tree import TreeMachine
from gramian.solvers import Direct, Partition, RidgeSystem


def exactly(rows):
    operator = KernelOperator(Gaussian(1.0), rows.X)
    solution = Direct().solve(RidgeSystem(operator, rows.Y, 1e-3, rows.weights))
    return KernelMachine(solution.operator, solution.coef, solution.weights), solution.info


def wave(X):
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def made(n, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, wave(X)


@pytest.fixture(scope="module")
def source():
    X, y = made(900)
    return MemoryRows(Rows(torch.from_numpy(X), torch.from_numpy(y)[:, None]), block=200)


@pytest.fixture(scope="module")
def tree(source):
    spare = exactly(source.take(torch.arange(100)))[0], torch.arange(100)
    partition = Partition(leaf_rows=300, overlap=0.2)
    machine, _, _ = fit_tree(partition, source, Identity(3), exactly, spare, pool=Serial(), clock=Clock(None))
    return machine


def test_every_row_is_in_a_leaf_and_leaves_are_small(source):
    splits, leaves = grow(Partition(leaf_rows=150, overlap=0.1), source, exactly, Serial(), Clock(None))
    assert torch.equal(torch.cat(leaves).unique(), torch.arange(900))
    assert max(map(len, leaves)) <= 150
    assert splits.n_leaves == len(leaves)


def test_rows_stand_where_their_shares_are(tree, source):
    """A row trains exactly the leaves that have a share in predicting it."""
    shares = tree.splits.shares(source.rows.X)
    for leaf, rows in enumerate(tree.rows):
        assert set(shares[:, leaf].nonzero().squeeze(1).tolist()) <= set(rows.tolist())
        assert float(shares[rows, leaf].min()) >= 0
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(900, dtype=torch.float64))
    assert int((shares > 0).sum(dim=1).max()) > 1


def test_there_is_no_jump(tree):
    ends = torch.tensor([[-2.0, 1.0, 0.5], [2.0, -1.0, 0.5]], dtype=torch.float64)
    line = torch.lerp(ends[0], ends[1], torch.linspace(0, 1, 4001, dtype=torch.float64)[:, None])
    assert float(tree.predict(line).diff(dim=0).abs().max()) < 0.05


def test_gradients_are_those_of_the_prediction(tree):
    X = torch.from_numpy(made(40, seed=1)[0])
    step = 1e-5 * torch.eye(3, dtype=torch.float64)
    numeric = torch.stack([(tree.predict(X + h) - tree.predict(X - h)) / 2e-5 for h in step], dim=2)
    inside = tree.splits.share_gradients(X).abs().sum(dim=(1, 2)) > 0
    assert bool(inside.any())
    assert not bool(inside.all())
    torch.testing.assert_close(tree.gradient(X), numeric, rtol=1e-4, atol=1e-4)
    mean = tree.mean_gradient(X[:2], 0, 64)
    difference = (tree.predict(X[1:2]) - tree.predict(X[:1])).squeeze()
    torch.testing.assert_close(mean @ (X[1] - X[0]), difference, rtol=0.02, atol=0.02)


def test_parts_of_rows_add_up(tree):
    X = torch.from_numpy(made(10, seed=2)[0])
    torch.testing.assert_close(tree.row_parts(X).sum(dim=1), tree.predict(X))
    same = tree.similarity(tree.X[5:6], torch.tensor([5, 6]))
    assert same[0] == pytest.approx(1)
    assert same[1] < 1


def test_rows_that_are_all_alike_stay_together():
    rows = Rows(torch.ones(50, 2, dtype=torch.float64), torch.arange(50.0, dtype=torch.float64)[:, None])
    splits, leaves = grow(Partition(leaf_rows=10), MemoryRows(rows), exactly, Serial(), Clock(None))
    assert splits is None
    assert len(leaves[0]) == 50


class Grown(Clock):
    """Time that is up when the first leaf is done."""

    asked_by_leaves = False

    def check(self, share):
        if self.asked_by_leaves:
            super().check(share)


def test_leaves_that_time_did_not_reach_have_a_spare_machine(source):
    spare = exactly(source.take(torch.arange(100)))[0], torch.arange(100)
    clock = Grown(0.0)

    class Leaves(Tick):
        def expect(self, steps):
            clock.asked_by_leaves = True

    with pytest.warns(UserWarning, match=r"time_limit=0: \d of \d leaves predict with the machine .* 100 rows"):
        machine, info, rows = fit_tree(
            Partition(leaf_rows=300), source, Identity(3), exactly, spare, pool=Serial(), clock=clock, tick=Leaves()
        )
    assert sum(leaf is spare[0] for leaf in machine.leaves) == len(machine.leaves) - 1
    assert info.status.startswith("stopped early, 1 of")
    X = source.rows.X[:20]
    torch.testing.assert_close(machine.row_parts(X).sum(dim=1), machine.predict(X))
    torch.testing.assert_close(machine.X, source.rows.X[rows])  # no row is made up


def test_a_tree_that_had_no_time_to_grow_is_the_spare_machine(source):
    spare = exactly(source.take(torch.arange(100)))[0], torch.arange(100)
    with pytest.warns(UserWarning, match="time_limit=0: 1 of 1 leaves"):
        machine, _, rows = fit_tree(
            Partition(leaf_rows=300), source, Identity(3), exactly, spare, pool=Serial(), clock=Clock(0.0)
        )
    assert machine is spare[0]
    assert len(rows) == 100


@pytest.mark.parametrize("workers", [2, None])
def test_leaves_side_by_side_are_the_leaves_one_by_one(source, workers):
    spare = exactly(source.take(torch.arange(100)))[0], torch.arange(100)
    X, counted = source.rows.X[:50], Counted()

    def fitted(workers):
        options = {"pool": Serial(), "clock": Clock(None), "tick": counted}
        return fit_tree(Partition(leaf_rows=150, workers=workers), source, Identity(3), exactly, spare, **options)[0]

    with threads(2):
        many = fitted(workers)
        assert torch.get_num_threads() == 2
    with threads(1):
        one = fitted(1)
    assert counted.steps == counted.expected == 2 * len(one.leaves)
    torch.testing.assert_close(many.predict(X), one.predict(X), rtol=1e-8, atol=1e-8)


class Counted(Tick):
    steps = expected = 0

    def __call__(self):
        self.steps += 1

    def expect(self, steps):
        self.expected += steps


def test_rows_that_tie_go_where_they_were_trained():
    """Many rows with few values, on both sides of every threshold to the last digit."""
    rng = np.random.default_rng(0)
    B = rng.integers(0, 2, size=(1500, 6)).astype(float)
    X, truth = np.hstack([B, rng.normal(size=(1500, 3))]), B[:, 0] + 0.7 * B[:, 1] - 0.4 * B[:, 2]
    options = {"kernel": Gaussian(), "update": "agop", "n_rounds": 1, "threshold": 0.02}
    model = RFMRegressor(solver=Partition(leaf_rows=200), **options).fit(X, truth + 0.01 * rng.normal(size=1500))
    assert np.abs(model.predict(X) - truth).max() < 0.05


def test_leaves_may_differ_in_format(tree):
    first, *others = tree.leaves
    narrow = KernelMachine(replace(first.operator, X=first.X.float()), first.coef)
    mixed = TreeMachine(tree.splits, (narrow, *others), tree.rows, tree.metric)
    assert mixed.X.dtype == torch.float64
    X = torch.from_numpy(made(20, seed=4)[0])
    torch.testing.assert_close(mixed.predict(X), tree.predict(X), rtol=1e-3, atol=1e-3)


def test_weights_count_in_the_agop(source):
    weights = torch.where(source.rows.X[:, 0] > 0, 1.0, 1e-6).double()
    rows = Rows(source.rows.X, source.rows.Y, weights)
    spare = exactly(rows[torch.arange(100)])[0], torch.arange(100)
    machine, _, _ = fit_tree(
        Partition(leaf_rows=300), MemoryRows(rows), Identity(3), exactly, spare, pool=Serial(), clock=Clock(None)
    )
    G = machine.gradient(machine.X)
    heavy = G[rows.X[:, 0] > 0, 0]
    torch.testing.assert_close(machine.agop, heavy.mT @ heavy / len(heavy), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("options", [{"leaf_rows": 1}, {"overlap": 0.5}, {"overlap": -0.1}, {"workers": 0}])
def test_a_tree_that_makes_no_sense_is_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Partition(**options)


@pytest.fixture(scope="module")
def model():
    X, y = made(3000, 4)
    solver = Partition(leaf_rows=800)
    return RFMRegressor(kernel="gaussian", update="agop", n_rounds=1, solver=solver).fit(X, y)


def test_an_estimator_by_parts_is_an_estimator(model, tmp_path):
    X, y = made(500, 4, seed=3)
    assert isinstance(model.machine_, TreeMachine)
    assert model.score(X, y) > 0.95
    model.save(tmp_path / "m.gramian")
    assert np.array_equal(gramian.load(tmp_path / "m.gramian").predict(X), model.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert np.array_equal(model.predict(X[7:8]), model.predict(X)[7:8])
    low, high = model.predict_interval(X).T
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.99
    assert set(model.importances().order[:3]) == {0, 1, 2}
    found = model.explain(X[:1])
    assert abs(found.gap) < 0.1
    assert len(model.row_index_) == model.machine_.n
    with pytest.raises(ValueError, match="nystrom"):
        model.compressed(100)


def test_jobs_change_nothing(model):
    X, y = made(3000, 4)
    parallel = RFMRegressor(
        kernel="gaussian", update="agop", n_rounds=1, solver=Partition(leaf_rows=800), n_jobs=2
    ).fit(X, y)
    np.testing.assert_allclose(parallel.predict(X[:50]), model.predict(X[:50]), rtol=1e-6)


def test_up_to_a_leaf_of_rows_it_is_the_exact_solver():
    X, y = made(300)
    options = {"kernel": "gaussian", "update": "agop", "n_rounds": 1}
    mine = RFMRegressor(solver="tree", **options).fit(X, y)
    theirs = RFMRegressor(solver="direct", **options).fit(X, y)
    assert np.array_equal(mine.predict(X), theirs.predict(X))


def test_classes_and_weights():
    X, y = made(2500)
    labels = np.where(y > 0.5, "high", np.where(y < -0.5, "low", "middle"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RFMClassifier(kernel="laplace", update="agop", n_rounds=1, solver=Partition(leaf_rows=700))
        model.fit(X, labels, sample_weight=np.linspace(0.5, 2, len(X)))
    assert model.score(X, labels) > 0.9
    np.testing.assert_allclose(model.predict_proba(X[:9]).sum(axis=1), 1)


def test_ctrl_c_among_leaves_keeps_the_checkpoint(tmp_path, monkeypatch):
    X, y = made(600, seed=0)
    done, whole = [], partition._fit_leaf

    def leaf(fit, rows):
        if done:
            raise KeyboardInterrupt
        done.append(1)
        return whole(fit, rows)

    monkeypatch.setattr(partition, "_fit_leaf", leaf)
    options = {"kernel": Gaussian(), "update": "agop", "n_rounds": 1, "random_state": 0, "n_threads": 1}
    model = RFMRegressor(solver=Partition(leaf_rows=200), checkpoint=tmp_path, **options)
    with pytest.warns(UserWarning, match="leaves predict with the machine"):
        model.fit(X, y)
    assert list(tmp_path.rglob("*")), "what was learned before the leaves is kept"
    assert "stopped early" in model.rounds_[model.best_round_].status


def test_budgets_are_shared_among_leaves_and_by_nothing_else(monkeypatch):
    X, y = made(600, seed=0)
    asked = {}
    whole = settings.Settings.part_solver

    def spied(self, part, at_once=1):
        asked.setdefault(at_once, set()).add(len(part))
        return whole(self, part, at_once)

    monkeypatch.setattr(settings.Settings, "part_solver", spied)
    options = {"kernel": Gaussian(), "update": "agop", "n_rounds": 1, "n_threads": 2}
    RFMRegressor(solver=Partition(leaf_rows=200), **options).fit(X, y)
    assert set(asked) == {1, 2}
    assert max(asked[1]) == 540, "features are learned alone"


@pytest.mark.parametrize(("workers", "most"), [(1, 1), (2, 2), (None, 3)])
def test_no_more_leaves_at_a_time_than_asked_for(source, workers, most):
    lock, under_way, seen = Lock(), [], []

    def fit(rows):
        with lock:
            under_way.append(1)
            seen.append(len(under_way))
        time.sleep(0.02)
        found = exactly(rows)
        with lock:
            under_way.pop()
        return found

    spare = exactly(source.take(torch.arange(100)))[0], torch.arange(100)
    tree = Partition(leaf_rows=100, workers=workers)
    fit_tree(tree, source, Identity(3), fit, spare, pool=Threads(3), clock=Clock(None))
    assert max(seen) == most
