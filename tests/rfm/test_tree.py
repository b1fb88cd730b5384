"""Splits and the machine at their leaves; the laws for every kernel are in tests/contracts/test_tree.py."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import Gaussian, Identity
from gramian.rfm.machine import KernelMachine
from gramian.rfm.options import TreePartition
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.grow_tree import fit_tree
from gramian.rfm.tree import Splits, TreeMachine
from small_training import exact_machine, make_rows


def fit_leaf(rows):
    return exact_machine(rows, Gaussian(1.0))


def fit(data, **options):
    few = torch.arange(40)
    partition = TreePartition(**{"leaf_rows": 100, "overlap": 0.2, "workers": 1} | options)
    spare = fit_leaf(data[few])[0], few
    return fit_tree(partition, MemoryRows(data), Identity(3), fit_leaf, spare, FitContext())[0]


@pytest.fixture(scope="module")
def data():
    return make_rows(300)


@pytest.fixture(scope="module")
def tree(data):
    return fit(data)


class TestSplits:
    def splits(self, width=1.0):
        """Two nodes: the first column at 0, and on its right side the second column at 1."""
        return Splits(
            torch.eye(2, dtype=torch.float64),
            torch.tensor([0.0, 1.0], dtype=torch.float64),
            torch.full((2,), width, dtype=torch.float64),
            torch.tensor([[-1, 1], [-2, -3]]),
        )

    def test_shares_change_linearly_across_the_bands(self):
        X = torch.tensor([[-2.0, 9.0], [0.5, 9.0], [2.0, 1.0], [0.5, 1.0]], dtype=torch.float64)
        expected = [[1, 0, 0], [0.25, 0, 0.75], [0, 0.5, 0.5], [0.25, 0.375, 0.375]]
        assert self.splits().shares(X).tolist() == expected
        assert self.splits().n_leaves == 3

    def test_without_a_band_a_row_has_one_leaf(self):
        X = torch.tensor([[-1.0, 0.0], [1e-9, 0.0], [1.0, 1.1]], dtype=torch.float64)
        assert self.splits(0.0).shares(X).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        assert not bool(self.splits(0.0).share_gradients(X).any())

    def test_share_gradients_are_those_of_the_shares(self):
        X = torch.tensor([[0.3, 0.9], [-0.4, 1.3], [5.0, 5.0]], dtype=torch.float64)
        step = 1e-6 * torch.eye(2, dtype=torch.float64)
        splits = self.splits()
        numeric = torch.stack([(splits.shares(X + h) - splits.shares(X - h)) / 2e-6 for h in step], dim=2)
        torch.testing.assert_close(splits.share_gradients(X), numeric, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(splits.share_gradients(X).sum(dim=1), torch.zeros(3, 2, dtype=torch.float64))


def test_training_rows_are_in_the_order_of_the_table(tree, data):
    assert tree.n == 300
    assert torch.equal(tree.X, data.X)
    assert tree.weights is None


def test_predictions_have_no_jumps(tree):
    ends = torch.tensor([[-2.0, 1.0, 0.5], [2.0, -1.0, 0.5]], dtype=torch.float64)
    line = torch.lerp(ends[0], ends[1], torch.linspace(0, 1, 4001, dtype=torch.float64)[:, None])
    assert float(tree.predict(line).diff(dim=0).abs().max()) < 0.05


def test_the_mean_gradient_on_a_line_gives_the_difference_of_its_ends(tree):
    X = make_rows(2, seed=1).X
    mean = tree.mean_gradient(X, 0, 256)
    difference = (tree.predict(X[1:]) - tree.predict(X[:1])).squeeze()
    torch.testing.assert_close(mean @ (X[1] - X[0]), difference, rtol=0.02, atol=0.02)


def test_the_similarity_of_a_training_row_with_itself_is_1(tree):
    same = tree.similarity(tree.X[5:6], torch.tensor([5, 6]))
    assert same[0] == pytest.approx(1)
    assert same[1] < 1


def test_the_kernel_is_that_of_the_largest_leaf(tree):
    largest = max(tree.leaves, key=lambda leaf: leaf.n)
    assert tree.kernel is largest.kernel


def test_leaves_may_differ_in_format(tree):
    first, *others = tree.leaves
    narrow = KernelMachine(replace(first.operator, X=first.X.float()), first.coef)
    mixed = TreeMachine(tree.splits, (narrow, *others), tree.rows, tree.metric)
    assert mixed.X.dtype == torch.float64
    X = make_rows(20, seed=4).X
    torch.testing.assert_close(mixed.predict(X), tree.predict(X), rtol=1e-3, atol=1e-3)


def test_the_agop_is_the_weighted_mean_of_gradients(data):
    weights = torch.where(data.X[:, 0] > 0, 1.0, 1e-6).double()
    machine = fit(Rows(data.X, data.Y, weights))
    G = machine.gradient(machine.X)
    heavy = G[data.X[:, 0] > 0, 0]
    torch.testing.assert_close(machine.agop, heavy.mT @ heavy / len(heavy), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(machine.weights, weights)


def test_rows_that_tie_are_predicted_by_the_leaf_that_was_fitted_to_them():
    """Many rows with few values, on both sides of every threshold to the last digit."""
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.integers(0, 2, size=(400, 3)).astype(float))
    truth = X[:, :1] + 0.7 * X[:, 1:2] - 0.4 * X[:, 2:]
    machine = fit(Rows(X, truth), leaf_rows=100)
    assert float((machine.predict(X) - truth).abs().max()) < 0.05
