"""The contract of a tree of kernel machines, for every kernel × metric: the function of a naive float64 twin."""

import pickle
from functools import cache

import pytest
import torch

import twins
from gramian.core.clock import Clock
from gramian.core.progress import Tick
from gramian.core.rows import MemoryRows, Rows
from gramian.files import read, write
from gramian.kernels import Gaussian, Identity, Laplace, Lp, Matern
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble
from gramian.rfm.options import TreePartition
from gramian.rfm.training import grow_tree
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.grow_tree import fit_tree
from gramian.rfm.tree import TreeMachine
from gramian.solvers import Direct
from small_training import FakeTime, Stops, exact_machine, make_plan, make_rows, make_task, naive_coef, train_on

N, D, C, RIDGE = 60, 3, 2, 0.05
PAIRS = [
    (kernel, name)
    for kernel in (Laplace(2.0), Gaussian(1.5), Matern(2.0, 2.5), Lp(2.0))
    for name in twins.METRICS
    if name in ("identity", "diagonal") or not kernel.needs_axis_aligned_metric
]
ALL = pytest.mark.parametrize(("kernel", "metric_name"), PAIRS, ids=str)
OVERLAPS = pytest.mark.parametrize("overlap", [0.0, 0.3])


def fit(kernel, metric, overlap=0.3, data=None, context=None, leaf_rows=25, fallback_rows=10):
    data = make_rows(N, D, C) if data is None else data

    def fit_leaf(rows):
        return exact_machine(rows, kernel, RIDGE, metric)

    few = torch.arange(fallback_rows)
    spare = fit_leaf(data[few])[0], few
    partition = TreePartition(leaf_rows=leaf_rows, overlap=overlap, workers=1)
    machine, info, rows = fit_tree(partition, MemoryRows(data), metric, fit_leaf, spare, context or FitContext())
    return machine, info, rows, spare


@cache
def make_metric(metric_name):
    return twins.metric(metric_name, D, torch.Generator().manual_seed(0))


@cache
def fitted(kernel, metric_name, overlap=0.3):
    """The same tree for all tests that only look at it."""
    return fit(kernel, make_metric(metric_name), overlap)[0]


def naive_shares(splits, x, node=0, share=1.0):
    """The share of each leaf in one row, descending the tree node by node; differentiable in x."""
    past = x @ splits.directions[node] - splits.thresholds[node]
    width = splits.widths[node]
    right = ((past + width) / (2 * width)).clamp(0, 1) if width > 0 else (past > 0).double()
    out = {}
    for child, part in zip(splits.children[node].tolist(), (1 - right, right), strict=True):
        if child < 0:
            out[-1 - child] = share * part
        else:
            out |= naive_shares(splits, x, child, share * part)
    return out


def naive_value(tree, x):
    """``Σ_l s_l(x) Σ_j α_lj k(x, x_lj)`` for one row, one pair of rows at a time."""
    total = torch.zeros(C, dtype=torch.float64)
    for index, share in naive_shares(tree.splits, x).items():
        leaf = tree.leaves[index]
        M = leaf.matrix()
        total = total + share * sum(
            twins.value(leaf.kernel, M, x, z) * a for z, a in zip(leaf.X, leaf.coef, strict=True)
        )
    return total


def new_rows(tree):
    """Rows inside and outside the bands of the tree, none at a kink."""
    X = make_rows(6, D, seed=1).X
    X[4:] *= 5
    if bool((tree.splits.widths > 0).any()):
        inside = tree.splits.share_gradients(X).abs().sum(dim=(1, 2)) > 0
        assert bool(inside.any())
        assert not bool(inside.all())
    return X


@ALL
@OVERLAPS
def test_predictions_are_shares_times_leaves(kernel, metric_name, overlap):
    tree = fitted(kernel, metric_name, overlap)
    assert isinstance(tree, TreeMachine)
    X = new_rows(tree)
    expected = torch.stack([naive_value(tree, x) for x in X])
    torch.testing.assert_close(tree.predict(X), expected, rtol=1e-8, atol=1e-9)


@ALL
@OVERLAPS
def test_gradients_are_those_of_the_twin_by_autograd(kernel, metric_name, overlap):
    tree = fitted(kernel, metric_name, overlap)
    X = new_rows(tree)
    expected = torch.stack([torch.autograd.functional.jacobian(lambda x: naive_value(tree, x), x) for x in X])
    torch.testing.assert_close(tree.gradient(X), expected, rtol=1e-6, atol=1e-8)


@ALL
def test_gradients_are_finite_differences_of_predictions(kernel, metric_name):
    tree = fitted(kernel, metric_name)
    X = new_rows(tree)
    step = 1e-6 * torch.eye(D, dtype=torch.float64)
    numeric = torch.stack([(tree.predict(X + h) - tree.predict(X - h)) / 2e-6 for h in step], dim=2)
    torch.testing.assert_close(tree.gradient(X), numeric, rtol=1e-4, atol=1e-5)


@ALL
def test_a_prediction_does_not_depend_on_its_batch(kernel, metric_name):
    tree = fitted(kernel, metric_name)
    X = make_rows(12, D, seed=2).X
    for dtype in (torch.float64, torch.float32):
        whole = tree.predict(X.to(dtype))
        assert torch.equal(torch.cat([tree.predict(x[None].to(dtype)) for x in X]), whole)
        assert torch.equal(tree.gradient(X.to(dtype))[7:9], tree.gradient(X[7:9].to(dtype)))


@ALL
def test_pickles_and_files_predict_the_same_bits(kernel, metric_name, tmp_path):
    tree = fitted(kernel, metric_name)
    X = make_rows(10, D, seed=3).X
    before = tree.predict(X), tree.gradient(X), tree.agop
    write(tree, tmp_path / "tree.gramian")
    for copy in (pickle.loads(pickle.dumps(tree)), read(tmp_path / "tree.gramian")):
        assert torch.equal(copy.predict(X), before[0])
        assert torch.equal(copy.gradient(X), before[1])
        assert torch.equal(copy.agop, before[2])
        assert torch.equal(copy.X, tree.X)
    size = len(pickle.dumps(tree))
    assert size < 4 * tree.n * (D + C) * 8 + 30_000, "what was computed on the way is no part of a pickle"


@ALL
def test_one_leaf_is_the_exact_machine(kernel, metric_name):
    data = make_rows(N, D, C, weighted=True)
    machine, info, rows, _ = fit(kernel, make_metric(metric_name), data=data, leaf_rows=N)
    assert isinstance(machine, KernelMachine)
    assert rows is None
    torch.testing.assert_close(machine.coef, naive_coef(machine, data, RIDGE), rtol=1e-6, atol=1e-8)
    assert "1 of 1 leaves" in info.status


@ALL
@pytest.mark.parametrize("why", ["Ctrl-C", "time limit"])
def test_an_interrupt_falls_back_to_a_model_that_exists(kernel, metric_name, why, monkeypatch):
    data, time = make_rows(N, D, C), FakeTime()

    class LeavesHaveNoTime(Tick):
        def expect(self, steps):
            time.now = 1e9

    if why == "Ctrl-C":
        Stops(monkeypatch, grow_tree, "_fit_released", 2)
        context = FitContext()
    else:
        context = FitContext(Clock(1000.0, time), tick=LeavesHaveNoTime())
    with pytest.warns(UserWarning, match=r"leaves fall back to a model fitted to 10 random rows"):
        tree, info, rows, spare = fit(kernel, make_metric(metric_name), data=data, context=context)
    assert info.status.startswith("stopped early, 1 of")
    assert sum(leaf is spare[0] for leaf in tree.leaves) == len(tree.leaves) - 1
    torch.testing.assert_close(tree.X, data.X[rows])
    X = make_rows(4, D, seed=3).X
    torch.testing.assert_close(tree.predict(X), torch.stack([naive_value(tree, x) for x in X]), rtol=1e-8, atol=1e-8)


@OVERLAPS
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_rows_in_blocks_give_the_tree_of_rows_in_memory(overlap, weighted):
    data = make_rows(N, D, C, weighted=weighted)

    def fit_leaf(rows):
        return exact_machine(rows, Gaussian(1.5), RIDGE)

    few = torch.arange(10)
    partition = TreePartition(leaf_rows=25, overlap=overlap, workers=1)
    one, other = (
        fit_tree(partition, MemoryRows(data, block), Identity(D), fit_leaf, (fit_leaf(data[few])[0], few), FitContext())
        for block in (N, 7)
    )
    X = make_rows(10, D, seed=3).X
    assert torch.equal(one[0].predict(X), other[0].predict(X))
    assert (one[0].weights is None) is not weighted


class TestWholeFit:
    """A tree is a way to train: the pipeline fits it, and falls back where it is interrupted."""

    def train(self, solver, context=None, n=N, n_rounds=1):
        data, task = make_rows(n, D), make_task(n_rounds=n_rounds, select_last=True)
        return train_on(data, task, make_plan(data, task, solver=solver), context), data

    def test_up_to_a_leaf_of_rows_it_is_the_exact_solver(self):
        tree, exact = self.train(TreePartition())[0], self.train(Direct())[0]
        X = make_rows(10, D, seed=3).X
        assert torch.equal(tree.ensemble.predict(X), exact.ensemble.predict(X))

    def test_more_rows_give_a_tree_with_all_rows_that_are_not_held_out(self):
        trained, data = self.train(TreePartition(leaf_rows=40), n=150)
        machine = trained.ensemble.best
        assert isinstance(machine, TreeMachine)
        assert machine.n == len(trained.rows) == 135
        assert not set(trained.rows.tolist()) & set(trained.holdout[0].tolist())
        torch.testing.assert_close(machine.X, data.X[trained.rows])
        torch.testing.assert_close(
            trained.holdout[1], machine.predict(data.X[trained.holdout[0]]), rtol=1e-6, atol=1e-6
        )

    def test_ctrl_c_among_the_leaves_gives_a_model(self, monkeypatch):
        Stops(monkeypatch, grow_tree, "_fit_released", 2)
        context = FitContext()
        with pytest.warns(UserWarning, match="leaves fall back to a model"):
            trained, data = self.train(TreePartition(leaf_rows=40, workers=1), context, n=150)
        assert context.interrupted
        assert "stopped early" in trained.records[trained.best_round].status
        torch.testing.assert_close(trained.ensemble.best.X, data.X[trained.rows])

    def test_ctrl_c_in_the_growth_gives_a_model(self, monkeypatch):
        Stops(monkeypatch, grow_tree, "_probe", 1)
        with pytest.warns(UserWarning, match="interrupted: 1 of 1 leaves fall back"):
            trained, data = self.train(TreePartition(leaf_rows=40, workers=1), n=150)
        assert torch.isfinite(trained.ensemble.predict(data.X)).all()

    def test_a_time_limit_gives_a_model(self):
        with pytest.warns(UserWarning, match="time limit of 1e-09 s was too short"):
            trained, data = self.train(TreePartition(leaf_rows=40), FitContext(Clock(1e-9)), n=150)
        assert torch.isfinite(trained.ensemble.predict(data.X)).all()


def test_an_average_of_trees_is_the_average_of_their_predictions():
    data = make_rows(N, D, C)
    trees = tuple(fit(kernel, Identity(D), data=data)[0] for kernel in (Gaussian(1.5), Laplace(2.0)))
    X = make_rows(10, D, seed=3).X
    average = Ensemble(trees, (0.25, 0.75))
    torch.testing.assert_close(average.predict(X), 0.25 * trees[0].predict(X) + 0.75 * trees[1].predict(X))
    torch.testing.assert_close(average.gradient(X), 0.25 * trees[0].gradient(X) + 0.75 * trees[1].gradient(X))


def test_equal_weights_give_the_tree_without_weights():
    data = make_rows(N, D, C)
    ones = Rows(data.X, data.Y, torch.ones(N, dtype=torch.float64))
    X = make_rows(10, D, seed=3).X
    plain, weighted = (fit(Gaussian(1.5), Identity(D), data=rows)[0].predict(X) for rows in (data, ones))
    torch.testing.assert_close(plain, weighted, rtol=1e-9, atol=1e-9)
