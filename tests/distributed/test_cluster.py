"""Fits on a cluster of two processes: the same results, also when one of them is killed."""

import os

import numpy as np
import pytest
import torch

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from gramian import RFMClassifier, RFMRegressor
from gramian.core.pool import Pool, Serial
from gramian.distributed import Cluster, current
from gramian.kernels import KernelOperator, Laplace
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training import pooled_moments, validation
from gramian.rfm.training.context import FitObserver
from gramian.rfm.training.pooled_moments import PooledMachine
from worker_functions import KilledOnce


def data(n=150):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2])


class TestPool:
    def test_every_item_is_answered_once(self, client):
        pool = Cluster(client)
        assert isinstance(pool, Pool)
        assert dict(pool.run(pow, 2, range(6))) == {i: 2**i for i in range(6)}

    def test_an_error_of_an_item_is_raised(self, client):
        with pytest.raises(ZeroDivisionError):
            list(Cluster(client).run(divmod, 1, [1, 0]))

    def test_equal_values_are_one_task(self, client):
        pool = Cluster(client)
        one, two, other = (pool.held(value) for value in ((1, 2.0), (1, 2.0), (1, 3.0)))
        assert one.key == two.key != other.key
        assert one.result() == (1, 2.0)


class TestGradients:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_moments_are_summed_by_the_workers(self, client, weighted, monkeypatch):
        monkeypatch.setattr(pooled_moments, "_MIN_ROWS", 30)
        rng = torch.Generator().manual_seed(0)
        X = torch.randn(200, 3, generator=rng, dtype=torch.float64)
        coef = torch.randn(200, 2, generator=rng, dtype=torch.float64)
        weights = torch.rand(200, generator=rng, dtype=torch.float64) if weighted else None
        machine = KernelMachine(KernelOperator(Laplace(2.0), X), coef, weights)
        for rows in (None, torch.randperm(200, generator=rng)[:90]):
            here, there = machine.moments(rows), PooledMachine(machine, Cluster(client)).moments(rows)
            for one, other in zip(here, there, strict=True):
                torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), rtol=1e-10, atol=1e-12)

    def test_the_workers_sum_the_moments_of_a_fit(self, client, monkeypatch):
        monkeypatch.setattr(pooled_moments, "_MIN_ROWS", 30)
        asked, real = [], Cluster.run
        monkeypatch.setattr(Cluster, "run", lambda self, work, *rest: asked.append(work) or real(self, work, *rest))
        X, y = data()
        options = {"update": "agop", "kernel": "laplace", "n_rounds": 1, "select_round": "last"}
        with client.as_current():
            there = RFMRegressor(**options).fit(X, y)
        assert pooled_moments._moments in asked
        here = RFMRegressor(cluster=None, **options).fit(X, y)
        np.testing.assert_allclose(there.feature_matrix_, here.feature_matrix_, rtol=1e-7, atol=1e-10)


class TestFit:
    @pytest.mark.parametrize("bagging", [False, True])
    def test_a_fit_inside_a_client_gives_the_same_model(self, client, bagging):
        X, y = data()
        with client.as_current():
            assert isinstance(current(), Cluster)
            there = RFMRegressor(preset="fast", bagging=bagging).fit(X, y)
        here = RFMRegressor(preset="fast", bagging=bagging, cluster=None).fit(X, y)
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-9)
        np.testing.assert_allclose([r.score for r in there.rounds_], [r.score for r in here.rounds_], rtol=1e-9)

    def test_further_splits_are_fitted_by_the_workers(self, client, monkeypatch):
        X, y = data()
        run, repeat = Serial.run, validation.repeat_on_splits
        ticks, expected = [], []

        def other_work(self, function, shared, items):
            assert function is not validation.run_split, "a split was fitted in this process"
            return run(self, function, shared, items)

        def counted(runs, rows, splits, *rest, **options):
            expected.append(len(splits) * sum(len(one.path) for one in runs))
            return repeat(runs, rows, splits, *rest, **options)

        monkeypatch.setattr(FitObserver, "after_split_round", lambda self: ticks.append(1))
        monkeypatch.setattr(Serial, "run", other_work)
        monkeypatch.setattr(validation, "repeat_on_splits", counted)
        with client.as_current():
            RFMClassifier(preset="fast").fit(X, y > 0)
        assert [len(ticks)] == expected, "progress counts every round of every split"

    def test_a_worker_killed_in_the_middle_of_a_fit(self, failing_client, tmp_path, monkeypatch):
        X, y = data()
        real, before = Cluster.run, set(failing_client.run(os.getpid).values())

        def run(self, function, shared, items):
            fatal = function is validation.run_split
            return real(self, KilledOnce(function, tmp_path / "pid") if fatal else function, shared, items)

        here = RFMRegressor(preset="fast", cluster=None).fit(X, y)
        monkeypatch.setattr(Cluster, "run", run)
        with failing_client.as_current():
            there = RFMRegressor(preset="fast").fit(X, y)
        assert int((tmp_path / "pid").read_text()) in before
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-9)

    def test_a_task_on_a_worker_uses_no_cluster(self, client):
        with client.as_current():
            assert client.submit(current).result() is None

    def test_other_values_of_cluster_are_refused(self):
        with pytest.raises(ValueError, match='cluster must be "auto" or None'):
            RFMRegressor(cluster="everywhere").fit(*data(30))
