"""Dask arrays and frames, with and without a cluster: the model of the same table in memory."""

import os
import signal
import weakref

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.array", reason="dask is not installed")
pytest.importorskip("distributed", reason="distributed is not installed")
import dask
import dask.array as da
import dask.dataframe as dd

from gramian import RFMClassifier, RFMRegressor
from gramian.distributed import ClusterRows, DaskBlocks
from gramian.rfm.training import fit, plan, solver_choice
from gramian.solvers import EigenPro, Nystrom
from gramian.tables.blocks import as_blocks

N = 1500


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """1,500 rows are many rows, which do not fit into memory."""
    sizes = {"IN_MEMORY_ROWS": 1000, "_TABLE_COPIES": 10**12, "SCREEN_ROWS": 200, "HOLDOUT_ROWS": 150}
    for name, value in sizes.items():
        monkeypatch.setattr(plan, name, value)
    for module in (plan, solver_choice):
        monkeypatch.setattr(module, "LARGE_ROWS", 1000)
        monkeypatch.setattr(module, "PART_ROWS", 300)


def options(**more):
    kinds = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "ridge": 1e-2, "dtype": "float64"}
    return kinds | {"solver": Nystrom(centers=150, tol=1e-8)} | more


def table():
    X = np.random.default_rng(0).normal(size=(N, 4))
    y = X[:, 0] * X[:, 1] + X[:, 3]
    order = np.lexsort(np.hstack([X, y[:, None]]).T[::-1])  # in memory rows are put into this order
    return X[order], y[order]


class TestWithoutClient:
    """This process computes the partitions, one at a time."""

    def test_an_array_gives_the_model_of_the_table_in_memory(self):
        X, y = table()
        there = RFMRegressor(**options()).fit(da.from_array(X, chunks=(400, 2)), da.from_array(y, chunks=400))
        here = RFMRegressor(**options()).fit(X, y)
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(there.predict(da.from_array(X, chunks=(700, 4))), there.predict(X))

    def test_a_frame_with_text_contains_its_target(self):
        X, y = table()
        frame = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(X[:, 2] > 0, "Rome", "Oslo"), price=y)
        there = RFMRegressor(**options()).fit(dd.from_pandas(frame, npartitions=4), "price")
        assert there.feature_names_in_.tolist() == ["a", "b", "c", "d", "city"]
        assert there.score(frame.drop(columns="price"), y) > 0.8

    def test_a_small_array_is_loaded(self):
        X, y = table()
        X, y = X[::8], y[::8]
        there = RFMRegressor(preset="fast").fit(da.from_array(X, chunks=(50, 4)), y)
        np.testing.assert_array_equal(there.predict(X), RFMRegressor(preset="fast").fit(X, y).predict(X))

    def test_one_partition_is_in_memory_at_a_time(self):
        alive, most = set(), [0]

        def make(number):
            part = np.zeros((100, 2))
            alive.add(number)
            weakref.finalize(part, alive.discard, number)
            most[0] = max(most[0], len(alive))
            return part

        parts = [da.from_delayed(dask.delayed(make)(i), (100, 2), float) for i in range(6)]
        assert list(as_blocks(da.concatenate(parts)).each(len)) == [100] * 6
        assert most[0] <= 2, "the current one, and the one before it until it is released"

    @pytest.mark.parametrize(
        ("y", "match"),
        [
            (np.zeros(3), "X has 1500 rows and y has 3"),
            (da.zeros(N, chunks=300), "X has 3 partitions and y has 5: they must have the same partitions"),
            (
                da.zeros(N, chunks=(400, 500, 600)),
                "a partition of X has 500 rows and that of y has 400",
            ),
            ("price", "y='price' is no column of X"),
        ],
    )
    def test_targets_that_do_not_match_the_rows_are_refused(self, y, match):
        with pytest.raises(ValueError, match=match):
            RFMRegressor().fit(da.zeros((N, 2), chunks=(500, 2)), y)

    def test_other_collections_are_refused(self):
        with pytest.raises(ValueError, match="pass an array or a frame"):
            RFMRegressor().fit(dask.delayed(1), np.zeros(3))
        with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
            RFMRegressor().fit(da.zeros(10), np.zeros(10))


class TestWithClient:
    """The workers hold the rows."""

    def sources(self, monkeypatch):
        """Record the sources of rows that models are trained on."""
        found, real = [], fit.train

        def train(task, plan, source, context):
            found.append(source)
            return real(task, plan, source, context)

        monkeypatch.setattr(fit, "train", train)
        return found

    @pytest.mark.parametrize("solver", [Nystrom(centers=150, tol=1e-8), EigenPro(epochs=2, subsample=200)])
    def test_an_array_in_memory_is_distributed_over_the_workers(self, client, solver, monkeypatch):
        X, y = table()
        monkeypatch.setattr("gramian.distributed.cluster._LEAST_ROWS", 200)
        sources = self.sources(monkeypatch)
        with client.as_current():
            there = RFMRegressor(**options(solver=solver)).fit(X, y)
        assert isinstance(sources[0], ClusterRows)
        assert len(sources[0].blocks) > 2
        here = RFMRegressor(cluster=None, **options(solver=solver)).fit(X, y)
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-6, atol=1e-8)

    def test_the_workers_hold_the_rows_of_collections(self, client, monkeypatch):
        X, y = table()
        sources = self.sources(monkeypatch)
        frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(price=y), npartitions=4)
        with client.as_current():
            one = RFMRegressor(**options()).fit(da.from_array(X, chunks=(400, 4)), y)
            other = RFMRegressor(**options()).fit(frame, "price")
            far = one.predict(da.from_array(X, chunks=(400, 4)))
        assert all(isinstance(source, ClusterRows) for source in sources)
        here = RFMRegressor(**options()).fit(X, y)
        for model in (one, other):
            np.testing.assert_allclose(model.machine_.coef, here.machine_.coef, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(far, here.predict(X), rtol=1e-5, atol=1e-6)

    def test_labels_are_counted_over_all_partitions(self, client):
        X, y = table()
        labels = np.digitize(y, [-1, 1])
        with client.as_current():
            model = RFMClassifier(**options()).fit(da.from_array(X, chunks=(400, 4)), da.from_array(labels, chunks=400))
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.score(X, labels) > 0.8

    @pytest.mark.slow  # test_cluster kills a worker in every run
    def test_a_worker_killed_in_the_middle_of_a_fit(self, failing_client, monkeypatch):
        X, y = table()
        here = RFMRegressor(**options()).fit(X, y)
        real, calls = ClusterRows.reduce, []

        def reduce(*args):
            calls.append(args)
            if len(calls) == 3:
                os.kill(next(iter(failing_client.run(os.getpid).values())), signal.SIGKILL)
            return real(*args)

        monkeypatch.setattr(ClusterRows, "reduce", reduce)
        with failing_client.as_current():
            there = RFMRegressor(**options()).fit(da.from_array(X, chunks=(400, 4)), da.from_array(y, chunks=400))
        assert len(calls) > 3
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-5, atol=1e-6)

    def test_blocks_know_their_numbers_of_rows(self, client):
        blocks = as_blocks(da.zeros((N, 2), chunks=(400, 2)))
        assert isinstance(blocks, DaskBlocks)
        with client.as_current():
            assert blocks.n_rows == N
            assert list(blocks.each(len)) == [400, 400, 400, 300]
