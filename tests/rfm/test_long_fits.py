"""Fits that are cut short: a killed process, Ctrl-C, a time limit. What was finished is not done again."""

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

ROUNDS = importlib.import_module("gramian.rfm.rounds")
RUNS = importlib.import_module("gramian.rfm.runs")


def data(n=120):
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def model(**options):
    return RFMRegressor(preset="fast", **options)


@pytest.fixture
def count(monkeypatch):
    """How many rounds were really solved."""
    calls, real = [], ROUNDS.solved

    def solved(*args):
        calls.append(1)
        return real(*args)

    monkeypatch.setattr(ROUNDS, "solved", solved)
    return lambda: len(calls)


def interrupt_at(monkeypatch, number, error=KeyboardInterrupt):
    """Ctrl-C, or a crash, when the features of this round are due."""
    calls, real = [], ROUNDS.next_metric

    def wanted(*args):
        calls.append(1)
        if len(calls) == number:
            raise error
        return real(*args)

    monkeypatch.setattr(ROUNDS, "next_metric", wanted)
    return lambda: monkeypatch.setattr(ROUNDS, "next_metric", real)


def same(one, other):
    X = data()[0]
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.feature_matrix_, other.feature_matrix_)
    assert [r.score for r in one.rounds_] == [r.score for r in other.rounds_]
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


class TestCrash:
    @pytest.mark.parametrize("at", [1, 3, 4, 7, 12])
    def test_goes_on_where_it_was(self, at, tmp_path, monkeypatch, count):
        X, y = data()
        whole = model().fit(X, y)
        everything = count()
        restore = interrupt_at(monkeypatch, at, RuntimeError("the power is gone"))
        with pytest.raises(RuntimeError, match="power"):
            model(checkpoint=tmp_path).fit(X, y)
        before = count() - everything
        restore()
        again = model(checkpoint=tmp_path).fit(X, y)
        same(whole, again)
        after = count() - everything - before
        # The round that crashed is lost, and within a fold at most that fold.
        assert after <= everything - before + (1 if at <= 4 else 5)
        assert not list(tmp_path.iterdir()), "a complete fit leaves nothing behind"

    def test_rows_beyond_the_first_part_too(self, tmp_path, monkeypatch, count):
        """With many rows kinds of machines compete on a part, and what is kept is fitted on all: rounds of both."""
        monkeypatch.setattr("gramian.rfm.fitting.fold_count", lambda n: 1)
        monkeypatch.setattr("gramian.rfm.selection._SCOUT_ROWS", 60)
        X, y = data()
        whole = model(select_round="last").fit(X, y)
        everything = count()
        restore = interrupt_at(monkeypatch, 6, RuntimeError)
        with pytest.raises(RuntimeError):
            model(select_round="last", checkpoint=tmp_path).fit(X, y)
        names = sorted(path.name for path in next(tmp_path.iterdir()).iterdir())
        assert "all-" in names[0]
        restore()
        before = count() - everything
        same(whole, model(select_round="last", checkpoint=tmp_path).fit(X, y))
        assert count() - everything - before == everything - before + 1, "the round that crashed, and no other"

    def test_bags_and_labels(self, tmp_path, monkeypatch):
        X, y = data()
        options = {"preset": "fast", "bagging": True, "class_weight": "balanced"}
        whole = RFMClassifier(**options).fit(X, y > 0)
        restore = interrupt_at(monkeypatch, 14, RuntimeError)
        with pytest.raises(RuntimeError):
            RFMClassifier(checkpoint=tmp_path, **options).fit(X, y > 0)
        assert any(path.name.startswith("fold") for path in tmp_path.glob("*/*"))
        restore()
        again = RFMClassifier(checkpoint=tmp_path, **options).fit(X, y > 0)
        np.testing.assert_array_equal(whole.predict_proba(X), again.predict_proba(X))

    def test_a_damaged_file_is_done_again_and_told(self, tmp_path, monkeypatch):
        X, y = data()
        whole = model().fit(X, y)
        restore = interrupt_at(monkeypatch, 3, RuntimeError)
        with pytest.raises(RuntimeError):
            model(checkpoint=tmp_path).fit(X, y)
        restore()
        path = next(tmp_path.glob("*/run-0-round-1.gramian"))
        path.write_bytes(path.read_bytes()[:-7])
        with pytest.warns(UserWarning, match=r"work is done again.*run-0-round-1"):
            again = model(checkpoint=tmp_path).fit(X, y)
        same(whole, again)

    def test_other_data_or_options_begin_anew(self, tmp_path, monkeypatch, count):
        X, y = data()
        restore = interrupt_at(monkeypatch, 3, RuntimeError)
        with pytest.raises(RuntimeError):
            model(checkpoint=tmp_path).fit(X, y)
        restore()
        others = [({}, X, y + X[:, 0]), ({"ridge": 0.1}, X, y)]
        for options, A, b in others:
            begin = count()
            model(**options).fit(A, b)
            alone = count() - begin
            model(checkpoint=tmp_path, **options).fit(A, b)
            assert count() - begin == 2 * alone
        model(checkpoint=tmp_path, n_jobs=2, max_memory="1GB").fit(X, y)
        assert not list(tmp_path.iterdir())


class TestKilled:
    SCRIPT = """
        import sys, numpy as np
        sys.path.insert(0, {tests!r})
        from test_long_fits import data
        from gramian import RFMRegressor
        X, y = data(400)
        RFMRegressor(preset="fast", n_rounds=4, checkpoint={folder!r}).fit(X, y).save({out!r})
    """

    def test_kill_9_and_again(self, tmp_path, count):
        folder, out = tmp_path / "rounds", tmp_path / "model.gramian"
        places = {"tests": str(Path(__file__).parent), "folder": str(folder), "out": str(out)}
        script = textwrap.dedent(self.SCRIPT.format(**places))
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen([sys.executable, "-c", script], env=environment)
        deadline = time.monotonic() + 120
        while len(list(folder.glob("*/*.gramian"))) < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None, "the fit was over before it could be killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not out.exists()
        kept = len(list(folder.glob("*/*.gramian")))
        X, y = data(400)
        whole = model(n_rounds=4).fit(X, y)
        everything = count()
        again = model(n_rounds=4, checkpoint=folder).fit(X, y)
        np.testing.assert_array_equal(whole.predict(X), again.predict(X))
        assert count() - everything <= everything - kept


class TestCtrlC:
    def test_a_later_fit_goes_on(self, tmp_path, monkeypatch, count):
        X, y = data()
        whole = model().fit(X, y)
        everything = count()
        restore = interrupt_at(monkeypatch, 2)
        with pytest.warns(UserWarning, match="interrupted: 1 of 3 rounds"):
            short = model(checkpoint=tmp_path).fit(X, y)
        assert len(short.rounds_) == 1
        restore()
        before = count()
        same(whole, model(checkpoint=tmp_path).fit(X, y))
        assert count() - before == everything - 1

    def test_a_longer_time_limit_goes_on(self, tmp_path):
        X, y = data()
        with pytest.warns(UserWarning, match="time_limit"):
            model(checkpoint=tmp_path, time_limit=1e-9).fit(X, y)
        assert list(tmp_path.glob("*/run-0-round-0.gramian"))
        same(model().fit(X, y), model(checkpoint=tmp_path, time_limit=1e9).fit(X, y))

    def test_finished_folds_count_with_jobs_too(self, monkeypatch):
        X, y = data()
        real = RUNS.one_fold

        def fold(folding, part):
            if 0 in part[1]:  # the fold with the first row never ends
                while True:
                    time.sleep(0.01)
                    folding.told()
            return real(folding, part)

        monkeypatch.setattr(RUNS, "one_fold", fold)
        pools = importlib.import_module("gramian.core.pool")
        real_completed = pools.as_completed

        def completed(futures):
            for number, future in enumerate(real_completed(futures), 1):
                yield future
                if number == 4:
                    raise KeyboardInterrupt

        monkeypatch.setattr(pools, "as_completed", completed)
        with pytest.warns(UserWarning, match="interrupted: the round is chosen by 4 of 5 folds"):
            fitted = model(n_jobs=2).fit(X, y)
        assert np.isfinite([r.score for r in fitted.rounds_]).all()


def test_one_folder_serves_many_fits(tmp_path):
    X, y = data()
    plain = cross_val_predict(model(), X, y, cv=3)
    np.testing.assert_array_equal(plain, cross_val_predict(model(checkpoint=tmp_path), X, y, cv=3))


def test_frames_and_weights(tmp_path, monkeypatch):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(X[:, 3] > 0, "Rome", "Oslo"))
    weight = 1.0 + (X[:, 0] > 0)
    whole = model().fit(frame, y, sample_weight=weight)
    restore = interrupt_at(monkeypatch, 3, RuntimeError)
    with pytest.raises(RuntimeError):
        model(checkpoint=tmp_path).fit(frame, y, sample_weight=weight)
    restore()
    again = model(checkpoint=tmp_path).fit(frame, y, sample_weight=weight)
    np.testing.assert_array_equal(whole.predict(frame), again.predict(frame))


def test_what_cannot_be_taken_up_is_said(tmp_path):
    X, y = data(30)
    (tmp_path / "file").write_text("")
    for bad in (3, tmp_path / "file"):
        with pytest.raises(ValueError, match="checkpoint must be the path of a folder"):
            model(checkpoint=bad).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint needs an integer as random_state"):
        model(checkpoint=tmp_path, random_state=None).fit(X, y)
