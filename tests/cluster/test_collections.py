"""Dask arrays and frames, with a cluster and without: the model of the same table in memory."""

import importlib
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
from gramian.solvers import EigenPro, Nystrom
from gramian.tables.blocks import as_blocks

LARGE = importlib.import_module("gramian.rfm.large")
N = 1500


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr("gramian.rfm.streaming.IN_MEMORY_ROWS", 1000)
    monkeypatch.setattr("gramian.rfm.streaming.has_room", lambda *args: False)
    monkeypatch.setattr("gramian.rfm.settings.LARGE_ROWS", 1000)
    for name, value in {"_SCOUT_ROWS": 200, "_JUDGE_ROWS": 150, "PART_ROWS": 300}.items():
        monkeypatch.setattr(LARGE, name, value)


def options(**more):
    kinds = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "ridge": 1e-2, "dtype": "float64"}
    return kinds | {"solver": Nystrom(centers=150, tol=1e-8)} | more


def table():
    X = np.random.default_rng(0).normal(size=(N, 4))
    y = X[:, 0] * X[:, 1] + X[:, 3]
    order = np.lexsort(np.hstack([X, y[:, None]]).T[::-1])  # in memory rows are put into this order
    return X[order], y[order]


class TestHere:
    """Without a client partitions are made one at a time, in this process."""

    def test_an_array(self):
        X, y = table()
        there = RFMRegressor(**options()).fit(da.from_array(X, chunks=(400, 2)), da.from_array(y, chunks=400))
        here = RFMRegressor(**options()).fit(X, y)
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(there.predict(da.from_array(X, chunks=(700, 4))), there.predict(X))

    def test_a_frame_with_text_and_its_target(self):
        X, y = table()
        frame = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(X[:, 2] > 0, "Rome", "Oslo"), price=y)
        there = RFMRegressor(**options()).fit(dd.from_pandas(frame, npartitions=4), "price")
        assert there.feature_names_in_.tolist() == ["a", "b", "c", "d", "city"]
        assert there.score(frame.drop(columns="price"), y) > 0.8

    def test_a_small_one_is_simply_read(self):
        X, y = table()
        X, y = X[::8], y[::8]
        there = RFMRegressor(preset="fast").fit(da.from_array(X, chunks=(50, 4)), y)
        np.testing.assert_array_equal(there.predict(X), RFMRegressor(preset="fast").fit(X, y).predict(X))

    def test_no_more_than_a_partition_at_a_time(self):
        alive, most = set(), [0]

        def make(number):
            part = np.zeros((100, 2))
            alive.add(number)
            weakref.finalize(part, alive.discard, number)
            most[0] = max(most[0], len(alive))
            return part

        parts = [da.from_delayed(dask.delayed(make)(i), (100, 2), float) for i in range(6)]
        assert list(as_blocks(da.concatenate(parts)).each(len)) == [100] * 6
        assert most[0] <= 2, "the one at hand, and the one before it until it is let go"

    @pytest.mark.parametrize(
        ("y", "match"),
        [
            (np.zeros(3), "X has 1500 rows and y has 3"),
            (da.zeros(N, chunks=300), "X has 3 partitions and y has 5: they must be cut alike"),
            (da.zeros(N, chunks=(400, 500, 600)), "a partition of X has 500 rows, and that of y 400"),
            ("price", "y='price' is no column of X"),
        ],
    )
    def test_what_is_wrong(self, y, match):
        with pytest.raises(ValueError, match=match):
            RFMRegressor().fit(da.zeros((N, 2), chunks=(500, 2)), y)

    def test_other_collections(self):
        with pytest.raises(ValueError, match="pass an array or a frame"):
            RFMRegressor().fit(dask.delayed(1), np.zeros(3))
        with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
            RFMRegressor().fit(da.zeros(10), np.zeros(10))


class TestThere:
    """Inside a client the workers hold the rows."""

    def sources(self, monkeypatch):
        """The sources of rows that fits are given."""
        found, real = [], LARGE.fit_large

        def fit_large(settings, source, *args):
            found.append(source)
            return real(settings, source, *args)

        for module in ("streaming", "base"):
            monkeypatch.setattr(f"gramian.rfm.{module}.fit_large", fit_large)
        return found

    @pytest.mark.parametrize("solver", [Nystrom(centers=150, tol=1e-8), EigenPro(epochs=2, subsample=200)])
    def test_an_array_in_memory_is_spread(self, client, solver, monkeypatch):
        X, y = table()
        monkeypatch.setattr("gramian.distributed.cluster._LEAST_ROWS", 200)
        sources = self.sources(monkeypatch)
        with client.as_current():
            there = RFMRegressor(**options(solver=solver)).fit(X, y)
        assert isinstance(sources[0], ClusterRows)
        assert len(sources[0].blocks) > 2
        here = RFMRegressor(cluster=None, **options(solver=solver)).fit(X, y)
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-6, atol=1e-8)

    def test_collections(self, client, monkeypatch):
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

    def test_labels(self, client):
        X, y = table()
        labels = np.digitize(y, [-1, 1])
        with client.as_current():
            model = RFMClassifier(**options()).fit(da.from_array(X, chunks=(400, 4)), da.from_array(labels, chunks=400))
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.score(X, labels) > 0.8

    def test_a_worker_killed_in_the_middle_of_a_fit(self, doomed, monkeypatch):
        X, y = table()
        here = RFMRegressor(**options()).fit(X, y)
        real = LARGE._Learner.last_round

        def last_round(*args):
            with doomed.one_dies(after=0.05):
                return real(*args)

        monkeypatch.setattr(LARGE._Learner, "last_round", last_round)
        with doomed.client.as_current():
            there = RFMRegressor(**options()).fit(da.from_array(X, chunks=(400, 4)), da.from_array(y, chunks=400))
        np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-5, atol=1e-6)

    def test_blocks_say_their_rows(self, client):
        blocks = as_blocks(da.zeros((N, 2), chunks=(400, 2)))
        assert isinstance(blocks, DaskBlocks)
        with client.as_current():
            assert blocks.n_rows == N
            assert list(blocks.each(len)) == [400, 400, 400, 300]
