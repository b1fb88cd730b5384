"""Fits of tables outside memory give the model of the table in memory, and never hold all rows at once."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gramian import RFMClassifier, RFMRegressor, load
from gramian.rfm.training import parts, plan, solver_choice
from gramian.rfm.training.parts import PartsLearner
from gramian.solvers import Nystrom
from gramian.tables import TableEncoder
from gramian.tables.blocks import ArrayBlocks

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
feather, parquet = (importlib.import_module(f"pyarrow.{name}") for name in ("feather", "parquet"))

COPIES = plan._TABLE_COPIES
N = 1500


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A table of 1,500 rows is treated as one of many rows, which does not fit into memory."""
    monkeypatch.setattr(plan, "IN_MEMORY_ROWS", 1000)
    monkeypatch.setattr(plan, "_TABLE_COPIES", 10**12)
    monkeypatch.setattr("gramian.rfm.estimator.ENCODER_ROWS", 600)
    monkeypatch.setattr(plan, "SCREEN_ROWS", 200)
    monkeypatch.setattr(plan, "HOLDOUT_ROWS", 150)
    for module in (plan, solver_choice):
        monkeypatch.setattr(module, "PART_ROWS", 300)
        monkeypatch.setattr(module, "LARGE_ROWS", 1000)


def options(**more):
    base = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "ridge": 1e-2, "target_transform": None}
    return base | {"solver": Nystrom(centers=150, tol=1e-8), "dtype": "float64"} | more


def table(n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, -3]
    return X, X[:, 0] * (X[:, 1] - 5) / 10 + X[:, 3]


def mapped(tmp_path, values, name="X"):
    path = tmp_path / f"{name}.npy"
    np.save(path, values)
    return np.load(path, mmap_mode="r")


def frame(n=N):
    X, y = table(n)
    city = np.random.default_rng(1).choice(["Oslo", "Rome", None], n, p=[0.5, 0.4, 0.1])
    return pd.DataFrame(X, columns=list("abcd")).assign(city=city, price=y + (city == "Rome"))


class TestSameModel:
    def compare(self, one, other, X):
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one.feature_matrix_, other.feature_matrix_, rtol=1e-5, atol=1e-7)

    def test_a_memory_map(self, tmp_path, monkeypatch):
        monkeypatch.setattr(ArrayBlocks.__init__, "__defaults__", (None, None, 400))
        X, y = table()
        order = np.lexsort(np.hstack([X, y[:, None]]).T[::-1])  # the order of merged rows
        X, y = X[order], y[order]
        there = RFMRegressor(**options()).fit(mapped(tmp_path, X), mapped(tmp_path, y, "y"))
        assert there.plan_.validation == "holdout"
        self.compare(there, RFMRegressor(**options()).fit(X, y), X[:100])
        assert there.score(X, y) > 0.8
        np.testing.assert_array_equal(there.predict(mapped(tmp_path, X)), there.predict(X))
        assert there.predict_interval(X[:5]).shape == (5, 2)

    def test_parquet_with_text_and_gaps(self, tmp_path, monkeypatch):
        monkeypatch.setattr("gramian.rfm.estimator.ENCODER_ROWS", N)  # as in memory
        data = frame()
        parquet.write_table(pa.Table.from_pandas(data), tmp_path / "t.parquet", row_group_size=200)
        there = RFMRegressor(**options()).fit(tmp_path / "t.parquet", "price")
        X = data.drop(columns="price")
        assert there.feature_names_in_.tolist() == ["a", "b", "c", "d", "city"]
        assert there.score(X, data.price) > 0.8
        here = RFMRegressor(**options()).fit(X, data.price)
        assert there.score(X, data.price) == pytest.approx(here.score(X, data.price), abs=0.02)
        parquet.write_table(pa.Table.from_pandas(X), tmp_path / "new.parquet")
        np.testing.assert_array_equal(there.predict(str(tmp_path / "new.parquet")), there.predict(X))
        there.save(tmp_path / "m.gramian")
        np.testing.assert_array_equal(load(tmp_path / "m.gramian").predict(X), there.predict(X))

    def test_labels_in_a_folder_of_arrow_files(self, tmp_path):
        data = frame().assign(price=lambda d: np.where(d.price > 0, "high", "low"))
        folder = tmp_path / "parts"
        folder.mkdir()
        for i, part in enumerate(np.array_split(np.arange(N), 3)):
            feather.write_feather(data.iloc[part], folder / f"{i}.arrow")
        plain = {name: value for name, value in options().items() if name != "target_transform"}
        there = RFMClassifier(class_weight="balanced", **plain).fit(folder, "price")
        assert there.classes_.tolist() == ["high", "low"]
        X = data.drop(columns="price")
        assert there.score(X, data.price) > 0.85
        np.testing.assert_allclose(there.predict_proba(X[:9]).sum(axis=1), 1)

    def test_small_tables_are_read_into_memory(self, tmp_path):
        X, y = table(200)
        there = RFMRegressor(preset="fast").fit(mapped(tmp_path, X), mapped(tmp_path, y, "y"))
        here = RFMRegressor(preset="fast").fit(X, y)
        np.testing.assert_array_equal(there.predict(X), here.predict(X))

    def test_large_tables_that_fit_are_read_into_memory(self, tmp_path, monkeypatch):
        """A cross-validation in several processes passes memory maps: its results must not depend on that."""
        monkeypatch.setattr(plan, "_TABLE_COPIES", COPIES)
        X, y = table()
        there, here = (RFMRegressor(**options()).fit(rows, y) for rows in (mapped(tmp_path, X), X))
        np.testing.assert_array_equal(there.predict(X), here.predict(X))
        assert not plan.streams(*X.shape, 10**6, elsewhere=False)
        assert plan.streams(*X.shape, 2 * 10**5, elsewhere=False)

    def test_weights_and_an_evaluation_set(self, tmp_path):
        X, y = table()
        model = RFMRegressor(**options())
        model.fit(mapped(tmp_path, X), y, sample_weight=np.linspace(1, 2, N), eval_set=(X[:50], y[:50]))
        assert model.model_.holdout.source == "evaluation set"
        assert model.machine_.weights is not None

    def test_a_feature_threshold(self, tmp_path):
        X, y = table()
        model = RFMRegressor(**options(feature_threshold=0.05)).fit(mapped(tmp_path, X), y)
        assert model.support_.tolist() == [True, True, False, True]
        assert model.score(X, y) > 0.8

    def test_a_checkpoint(self, tmp_path, monkeypatch):
        X, y = table()
        whole = RFMRegressor(**options()).fit(mapped(tmp_path, X), y)
        real = PartsLearner.solve_last_round
        monkeypatch.setattr(PartsLearner, "solve_last_round", lambda *a: (_ for _ in ()).throw(RuntimeError("power")))
        with pytest.raises(RuntimeError, match="power"):
            RFMRegressor(checkpoint=tmp_path / "c", **options()).fit(mapped(tmp_path, X), y)
        kept = sorted(path.name for path in (tmp_path / "c").glob("*/*"))
        assert any(name.startswith("features") for name in kept)
        assert any(name.startswith("run-0-round-1") for name in kept)
        monkeypatch.setattr(PartsLearner, "solve_last_round", real)
        monkeypatch.setattr(parts, "solve_round", lambda *a: (_ for _ in ()).throw(AssertionError("done before")))
        again = RFMRegressor(checkpoint=tmp_path / "c", **options()).fit(mapped(tmp_path, X), y)
        np.testing.assert_array_equal(whole.predict(X), again.predict(X))
        assert not list((tmp_path / "c").iterdir())


def test_ctrl_c_in_the_last_round_keeps_the_screened_model(tmp_path, monkeypatch):
    X, y = table()

    def interrupted(*args):
        raise KeyboardInterrupt

    real = PartsLearner.solve_last_round
    monkeypatch.setattr(PartsLearner, "solve_last_round", interrupted)
    with pytest.warns(UserWarning, match="interrupted: the model uses 200 of 1,500 rows"):
        model = RFMRegressor(checkpoint=tmp_path / "c", **options()).fit(X, y)
    assert len(model.row_index_) == len(model.machine_.X) == 200
    assert model.score(X, y) > 0.5
    assert model.predict_interval(X[:3]).shape == (3, 2)
    assert list((tmp_path / "c").glob("*/*")), "a later fit continues from here"
    monkeypatch.setattr(PartsLearner, "solve_last_round", real)
    again = RFMRegressor(checkpoint=tmp_path / "c", **options()).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), RFMRegressor(**options()).fit(X, y).predict(X))


MEMORY = """
import re, sys, threading, time
import numpy as np
from gramian.rfm.training import plan
from gramian import RFMRegressor
from gramian.kernels import Laplace
from gramian.solvers import Nystrom

def anonymous():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

def peak(X, y):
    highest, done = [0], threading.Event()
    def watch():
        while not done.wait(0.002):
            highest[0] = max(highest[0], anonymous())
    thread = threading.Thread(target=watch)
    thread.start()
    solver = Nystrom(centers=50, tol=1e-2)
    RFMRegressor(kernel=Laplace(10.0), ridge=1.0, update="agop", n_rounds=0, solver=solver).fit(X, y)
    done.set()
    thread.join()
    return highest[0]

plan._TABLE_COPIES = 10**12
plan.SCREEN_ROWS = plan.HOLDOUT_ROWS = 500
X, y = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2])
few = peak(X[:31_000], y[:31_000])
print(peak(X, y) - few)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux separates mapped memory")
def test_rows_are_never_all_in_memory(tmp_path):
    """Peak memory grows by far less than the size of the rows; mapped pages are not counted: the system frees them.

    Peaks vary by about 5 MB between runs, whatever the table's size: the rows must be several times as large.
    """
    n, d = 90_000, 240
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", "float32", (n, d))
    for start in range(0, n, 10_000):
        X[start : start + 10_000] = rng.normal(size=(10_000, d))
    np.save(tmp_path / "y.npy", X[:, 0] + X[:, 1])
    command = [sys.executable, "-c", MEMORY, tmp_path / "X.npy", tmp_path / "y.npy"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["MALLOC_MMAP_THRESHOLD_"] = "1000000"  # freed memory is returned at once and does not raise the peak
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) < (n - 31_000) * d * 4 / 2


class TestErrors:
    def test_too_little_memory_is_refused(self, tmp_path):
        X, y = mapped(tmp_path, table()[0]), table()[1]
        for solver, match in (
            ("auto", r"1500 rows, though read in blocks, need at least .* MB, and max_memory is 1.0 MB"),
            ("direct", r"takes all 1500 rows into memory, .* MB, and max_memory is 1.0 MB: use solver=.nystrom"),
        ):
            with pytest.raises(ValueError, match=match):
                RFMRegressor(**options(solver=solver, max_memory="1MB")).fit(X, y)

    def test_a_missing_entry_outside_the_sample_is_filled(self, tmp_path):
        X, y = table()
        X[3, 0] = np.nan
        model = RFMRegressor(**options(encoder=TableEncoder())).fit(mapped(tmp_path, X), y)
        assert np.isfinite(model.predict(X[:10])).all()

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"y": np.zeros(3)}, "X has 1500 rows and y has 3"),
            ({"sample_weight": np.zeros(N)}, "sample_weight must be positive"),
            ({"infinite": True}, r"infinity in column"),
        ],
    )
    def test_wrong_tables_are_refused(self, change, match, tmp_path):
        X, y = table()
        if change.get("infinite"):
            X[1200, 1] = np.inf
        model = RFMRegressor(**options())
        with pytest.raises(ValueError, match=match):
            model.fit(mapped(tmp_path, X), change.get("y", y), sample_weight=change.get("sample_weight"))

    def test_wrong_paths_are_refused(self, tmp_path):
        (tmp_path / "a.csv").write_text("")
        for path, match in ((tmp_path / "a.csv", "is read from .npy"), ("nowhere.parquet", "no such file")):
            with pytest.raises(ValueError, match=match):
                RFMRegressor().fit(path, "y")
        parquet.write_table(pa.table({"a": [1.0]}), tmp_path / "t.parquet")
        with pytest.raises(ValueError, match="y='b' is no column of X, which has a"):
            RFMRegressor().fit(tmp_path / "t.parquet", "b")

    def test_one_class_is_refused(self, tmp_path):
        X, _ = table()
        with pytest.raises(ValueError, match="one class only"):
            RFMClassifier().fit(mapped(tmp_path, X), np.ones(N, dtype=int))
