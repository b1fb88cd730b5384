"""On a cluster of two processes: the same results, also when one of them is killed in the middle."""

import importlib
from dataclasses import dataclass

import numpy as np
import pytest
import torch

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from gramian.rfm.spread import SpreadMachine

from gramian import RFMClassifier, RFMRegressor
from gramian.core.pool import Pool
from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.distributed import Cluster, current
from gramian.kernels import KernelOperator, Laplace
from gramian.rfm import KernelMachine

RUNS = importlib.import_module("gramian.rfm.runs")
SPREAD = importlib.import_module("gramian.rfm.spread")


def data(n=150):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2])


@dataclass(frozen=True)
class Normal:
    """Normal equations of a block, in the way of a solver: state of its own, and an argument."""

    shift: torch.Tensor

    def __call__(self, block, factor):
        X = block.X.double() - self.shift
        weights = torch.ones(len(block), dtype=torch.float64) if block.weights is None else block.weights
        return X.mT @ (weights[:, None] * block.Y) * factor, torch.tensor(len(block))


def starts(block):
    return torch.arange(block.start, block.start + len(block))


class TestRows:
    @pytest.fixture
    def rows(self):
        rng = torch.Generator().manual_seed(0)
        n = 9000
        return Rows(
            torch.randn(n, 5, generator=rng),
            torch.randn(n, 2, generator=rng, dtype=torch.float64),
            torch.rand(n, generator=rng, dtype=torch.float64),
        )

    def test_is_a_source_like_the_one_in_memory(self, client, rows):
        here, there = MemoryRows(rows), Cluster(client).source(rows)
        assert isinstance(there, RowSource)
        assert (there.n_rows, there.n_columns, there.n_outputs, there.dtype) == (9000, 5, 2, torch.float32)
        function = Normal(torch.ones(5, dtype=torch.float64))
        for factor in (1.0, 3.0):
            expected, count = here.reduce(function, factor)
            found, counted = there.reduce(function, factor)
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-9)
            assert int(counted) == int(count) == 9000
        assert torch.equal(there.reduce(function, 2.0)[0], there.reduce(function, 2.0)[0]), "the same bits each time"
        assert torch.equal(there.map(starts), torch.arange(9000))

    @pytest.mark.parametrize("indices", [[8999, 0, 4000, 4000], [5], list(range(100))])
    def test_rows_are_taken_in_the_order_asked_for(self, client, rows, indices):
        taken = Cluster(client).source(rows).take(torch.tensor(indices))
        assert torch.equal(taken.X, rows.X[indices])
        assert torch.equal(taken.Y, rows.Y[indices])
        assert torch.equal(taken.weights, rows.weights[indices])


class TestPool:
    def test_every_item_once(self, client):
        pool = Cluster(client)
        assert isinstance(pool, Pool)
        assert dict(pool.run(pow, 2, range(6))) == {i: 2**i for i in range(6)}

    def test_an_error_is_an_error(self, client):
        with pytest.raises(ZeroDivisionError):
            list(Cluster(client).run(divmod, 1, [1, 0]))


class TestGradients:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_moments_are_summed_by_the_workers(self, client, weighted, monkeypatch):
        monkeypatch.setattr(SPREAD, "_LEAST_ROWS", 30)
        rng = torch.Generator().manual_seed(0)
        X = torch.randn(200, 3, generator=rng, dtype=torch.float64)
        coef = torch.randn(200, 2, generator=rng, dtype=torch.float64)
        weights = torch.rand(200, generator=rng, dtype=torch.float64) if weighted else None
        machine = KernelMachine(KernelOperator(Laplace(2.0), X), coef, weights)
        for rows in (None, torch.randperm(200, generator=rng)[:90]):
            here, there = machine.moments(rows), SpreadMachine(machine, Cluster(client)).moments(rows)
            for one, other in zip(here, there, strict=True):
                torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), rtol=1e-10, atol=1e-12)

    def test_in_a_fit(self, client, monkeypatch):
        monkeypatch.setattr(SPREAD, "_LEAST_ROWS", 30)
        asked, real = [], Cluster.run
        monkeypatch.setattr(Cluster, "run", lambda self, work, *rest: asked.append(work) or real(self, work, *rest))
        X, y = data()
        options = {"update": "agop", "kernel": "laplace", "n_rounds": 1, "select_round": "last"}
        with client.as_current():
            there = RFMRegressor(**options).fit(X, y)
        assert SPREAD._moments in asked
        here = RFMRegressor(cluster=None, **options).fit(X, y)
        np.testing.assert_allclose(there.feature_matrix_, here.feature_matrix_, rtol=1e-7, atol=1e-10)


class TestFit:
    @pytest.mark.parametrize("bagging", [False, True])
    def test_is_the_same_inside_a_client(self, client, bagging):
        X, y = data()
        with client.as_current():
            assert isinstance(current(), Cluster)
            there = RFMRegressor(preset="fast", bagging=bagging).fit(X, y)
        here = RFMRegressor(preset="fast", bagging=bagging, cluster=None).fit(X, y)
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-9)
        np.testing.assert_allclose([r.score for r in there.rounds_], [r.score for r in here.rounds_], rtol=1e-9)

    def test_folds_are_fitted_by_the_workers(self, client, monkeypatch):
        X, y = data()

        def forbidden(*args):
            raise AssertionError("a fold was fitted in this process")

        ticks = []
        monkeypatch.setattr(RUNS.Silent, "after_fold_round", lambda self: ticks.append(1))
        monkeypatch.setattr(RUNS.Serial, "run", forbidden)
        with client.as_current():
            RFMClassifier(preset="fast").fit(X, y > 0)
        assert len(ticks) == 5 * 6, "progress is told of every round of every fold"

    def test_a_worker_killed_in_the_middle_of_a_fit(self, doomed, monkeypatch):
        X, y = data(600)
        real = RUNS.without

        def without(*args):
            with doomed.one_dies(after=0.1):
                return real(*args)

        here = RFMRegressor(preset="fast", cluster=None).fit(X, y)
        monkeypatch.setattr(importlib.import_module("gramian.rfm.fitting"), "without", without)
        with doomed.client.as_current():
            there = RFMRegressor(preset="fast").fit(X, y)
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-9)

    def test_stays_here_where_asked_to_and_on_workers(self, client):
        with client.as_current():
            assert client.submit(current).result() is None
            with pytest.raises(ValueError, match='cluster must be "auto" or None'):
                RFMRegressor(cluster="everywhere").fit(*data(30))
