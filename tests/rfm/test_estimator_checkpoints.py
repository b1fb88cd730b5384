"""Checkpoints of whole fits: a killed process, other data, frames and weights. The stages are in test_context.py."""

import errno
import importlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_predict

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Gaussian
from gramian.rfm.options import TreePartition
from gramian.rfm.training import grow_tree
from small_training import Stops

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")


def data(n=60):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def model(**options):
    return RFMRegressor(**{"preset": "fast", "n_rounds": 1, "ridge": 1e-2} | options)


def same(one, other):
    X = data()[0]
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.feature_matrix_, other.feature_matrix_)
    assert [r.score for r in one.rounds_] == [r.score for r in other.rounds_]
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


def crash(monkeypatch, estimator, *arguments, at=3, **fit):
    """Fit until the features of round ``at`` are due, and then lose power."""
    stop = Stops(monkeypatch, ROUNDS, "next_metric", at, RuntimeError("power failure"))
    with pytest.raises(RuntimeError, match="power failure"):
        estimator.fit(*arguments, **fit)
    stop.restore()


def test_a_fit_goes_on_after_a_crash_and_leaves_nothing_behind(tmp_path, monkeypatch):
    X, y = data()
    whole = model().fit(X, y)
    crash(monkeypatch, model(checkpoint=tmp_path), X, y)
    assert list(tmp_path.glob("*/run-0-round-0.gramian"))
    same(whole, model(checkpoint=tmp_path).fit(X, y))
    assert not list(tmp_path.iterdir())


def test_on_a_full_disk_the_fit_goes_on_and_says_what_is_not_saved(tmp_path, monkeypatch):
    X, y = data()
    whole = model().fit(X, y)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.warns(
            UserWarning, match=r"checkpoint of run 0 round 0 is not saved \(.*No space left.*the fit goes"
        ):
            same(whole, model(checkpoint=tmp_path).fit(X, y))
    assert not list(tmp_path.iterdir())


def test_other_data_or_options_begin_again(tmp_path, monkeypatch):
    X, y = data()
    solves = Stops(monkeypatch, ROUNDS, "solve_round")
    crash(monkeypatch, model(checkpoint=tmp_path), X, y)
    for options, A, b in [({}, X, y + X[:, 0]), ({"ridge": 0.1}, X, y), ({"random_state": 1}, X, y)]:
        begin = solves.calls
        model(**options).fit(A, b)
        alone = solves.calls - begin
        model(checkpoint=tmp_path, **options).fit(A, b)
        assert solves.calls - begin == 2 * alone
    # Jobs and memory do not change the rounds.
    begin = solves.calls
    model(checkpoint=tmp_path, n_jobs=2, max_memory="1GB").fit(X, y)
    assert solves.calls - begin < alone
    assert not list(tmp_path.iterdir())


def test_frames_labels_and_weights(tmp_path, monkeypatch):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(X[:, 3] > 0, "Rome", "Oslo"))
    options = {"preset": "fast", "n_rounds": 1, "class_weight": "balanced", "bagging": True}
    weights = 1.0 + (X[:, 0] > 0)
    whole = RFMClassifier(**options).fit(frame, y > 0, sample_weight=weights)
    crash(monkeypatch, RFMClassifier(checkpoint=tmp_path, **options), frame, y > 0, weights, at=9)
    assert any(path.name.startswith("split") for path in tmp_path.glob("*/*"))
    again = RFMClassifier(checkpoint=tmp_path, **options).fit(frame, y > 0, sample_weight=weights)
    np.testing.assert_array_equal(whole.predict_proba(frame), again.predict_proba(frame))


def test_one_folder_serves_many_fits(tmp_path):
    X, y = data()
    plain = cross_val_predict(model(), X, y, cv=2)
    np.testing.assert_array_equal(plain, cross_val_predict(model(checkpoint=tmp_path), X, y, cv=2))


def test_ctrl_c_among_the_leaves_of_a_tree_keeps_the_checkpoint(tmp_path, monkeypatch):
    X, y = data(200)
    Stops(monkeypatch, grow_tree, "_fit_released", 2)
    estimator = model(kernel=Gaussian(2.0), solver=TreePartition(leaf_rows=80), checkpoint=tmp_path, n_threads=1)
    with pytest.warns(UserWarning, match="leaves fall back to a model"):
        estimator.fit(X, y)
    assert list(tmp_path.rglob("*.gramian")), "the features that were learned before the leaves are stored"
    assert "stopped early" in estimator.rounds_[estimator.best_round_].status


def test_arguments_that_cannot_be_resumed_are_refused(tmp_path):
    X, y = data(30)
    (tmp_path / "file").write_text("")
    for bad in (3, tmp_path / "file"):
        with pytest.raises(ValueError, match="checkpoint must be the path of a folder"):
            model(checkpoint=bad).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint needs an integer as random_state"):
        model(checkpoint=tmp_path, random_state=None).fit(X, y)


SCRIPT = """
import sys, time
from pathlib import Path
sys.path[:0] = {path!r}
import gramian.rfm.training.rounds as rounds
from gramian import RFMRegressor
from test_estimator_checkpoints import data

real = rounds.solve_round
def waiting(*args):  # so that the process can be killed in the middle
    if len(list(Path({folder!r}).glob("*/*.gramian"))) >= 3:
        time.sleep(600)
    return real(*args)
rounds.solve_round = waiting
X, y = data()
RFMRegressor(preset="fast", n_rounds=2, ridge=1e-2, checkpoint={folder!r}).fit(X, y).save({out!r})
"""


def test_a_killed_process_is_resumed_by_another(tmp_path, monkeypatch):
    folder, out = tmp_path / "rounds", tmp_path / "model.gramian"
    here = Path(__file__).parent
    places = {"path": [str(here), str(here.parent)], "folder": str(folder), "out": str(out)}
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SCRIPT.format(**places))], env=environment)
    deadline = time.monotonic() + 300
    try:
        while len(list(folder.glob("*/*.gramian"))) < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None, "the fit was over before it could be killed"
            time.sleep(0.05)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    # Round 0 of the second candidate is that of the first, stored once more.
    stored = len([path for path in folder.glob("*/*.gramian") if path.name != "run-1-round-0.gramian"])
    X, y = data()
    solves = Stops(monkeypatch, ROUNDS, "solve_round")
    whole = model(n_rounds=2).fit(X, y)
    everything = solves.calls
    again = model(n_rounds=2, checkpoint=folder).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), again.predict(X))
    assert solves.calls - everything <= everything - stored
