"""scikit-learn's callbacks of an estimator; the notifications themselves are tested in training/test_context.py."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from gramian import RFMClassifier, RFMRegressor, load
from gramian.rfm.training.context import SklearnCallbacks

pytest.importorskip("sklearn.callback")
from sklearn.callback import ProgressBar, ScoringMonitor

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=50), "b": RNG.normal(size=50), "city": RNG.choice(["Rome", "Oslo"], 50)})
Y = FRAME.a.to_numpy() * FRAME.b.to_numpy()
LABELS = np.where(Y > 0, "up", "down")
BOTH = pytest.mark.parametrize(
    ("model", "y"), [(RFMRegressor(preset="fast", n_rounds=1), Y), (RFMClassifier(preset="fast", n_rounds=1), LABELS)]
)


class Recorder:
    """Records its notifications, and may ask to stop after some rounds."""

    def __init__(self, stop_after=None):
        self.stop_after, self.lines, self.models = stop_after, [], []

    def setup(self, estimator, context):
        self.lines.append("setup")

    def teardown(self, estimator, context):
        self.lines.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.lines.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None):
        self.lines.append(f"end {context.task_name}")
        if context.task_name == "round" and fitted_estimator is not None:
            assert X is FRAME
            self.models.append(fitted_estimator)
            return self.stop_after is not None and len(self.models) >= self.stop_after
        return None


@BOTH
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_every_round_is_a_task(model, y, n_jobs):
    recorder = Recorder()
    fitted = clone(model).set_params(n_jobs=n_jobs).set_callbacks(recorder).fit(FRAME, y)
    rounds = 2 * 2 * 5  # two updates, rounds 0 and 1, five folds
    assert recorder.lines[:2] == ["setup", "begin fit"]
    assert recorder.lines[-2:] == ["end fit", "teardown"]
    assert recorder.lines[2:-2] == ["begin round", "end round"] * rounds
    assert len(recorder.models) == 2 * 2
    assert (clone(model).fit(FRAME, y).predict(FRAME) == fitted.predict(FRAME)).all()


@BOTH
def test_the_model_of_a_round_is_a_fit_that_ended_there(model, y):
    recorder = Recorder()
    model = clone(model).set_params(kernel="laplace", update="agop", n_rounds=2, select_round="last")
    model.set_callbacks(recorder).fit(FRAME, y)
    model.set_callbacks()
    for n_rounds, snapshot in enumerate(recorder.models):
        short = clone(model).set_params(n_rounds=n_rounds).fit(FRAME, y)
        assert (snapshot.predict(FRAME) == short.predict(FRAME)).all()
        assert snapshot.best_round_ == n_rounds == len(snapshot.rounds_) - 1
        np.testing.assert_array_equal(snapshot.feature_matrix_, short.feature_matrix_)
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(snapshot.predict_proba(FRAME), short.predict_proba(FRAME), rtol=1e-9)


@BOTH
def test_a_callback_may_stop(model, y):
    recorder = Recorder(stop_after=2)
    one = clone(model).set_params(kernel="laplace", update="agop", n_rounds=3)
    fitted = one.set_callbacks(recorder).fit(FRAME, y)
    assert len(recorder.models) == 2
    assert len(fitted.rounds_) == 2
    assert np.isfinite(fitted.rounds_[0].score), "finished rounds are still compared on folds"
    assert recorder.lines.count("begin round") == recorder.lines.count("end round")


@BOTH
def test_scoring_monitor_and_progress_bar(model, y, capfd):
    scoring = "neg_log_loss" if hasattr(model, "predict_proba") else "r2"
    monitor = ScoringMonitor(scoring=scoring)
    weights = np.linspace(1, 2, 50)
    fitted = clone(model).set_callbacks(ProgressBar(), monitor).fit(FRAME, y, sample_weight=weights)
    scores = [row[scoring] for row in monitor.get_logs().data]
    assert len(scores) == 1 + 2 * 2
    assert np.isfinite(scores).all()
    if scoring == "r2":
        assert scores[0] == pytest.approx(fitted.score(FRAME, y, sample_weight=weights))
    assert "100%" in capfd.readouterr().out


@BOTH
def test_a_grid_search_passes_its_callbacks_on(model, y, capfd):
    grid = GridSearchCV(clone(model), {"ridge": [0.1, 1.0]}, cv=2, error_score="raise")
    grid.set_callbacks(ProgressBar(max_propagation_depth=None)).fit(FRAME, y)
    assert type(model).__name__ in capfd.readouterr().out
    assert not hasattr(grid.best_estimator_, "_skl_callbacks")
    assert not hasattr(grid.best_estimator_, "_parent_callback_ctx")


@BOTH
def test_copies_and_pickles(model, y):
    recorder = Recorder()
    fitted = clone(model).set_callbacks(recorder).fit(FRAME, y)
    copied = clone(fitted).fit(FRAME, y)
    assert recorder.lines.count("setup") == 2, "scikit-learn's clone copies the callbacks"
    recorder.models.clear()
    again = pickle.loads(pickle.dumps(copied))
    assert (again.predict(FRAME) == fitted.predict(FRAME)).all()
    assert not [name for name in vars(fitted) if "callback" in name and name != "_skl_callbacks"]


@BOTH
def test_a_model_with_callbacks_is_saved_without_them(model, y, tmp_path):
    fitted = clone(model).set_callbacks(Recorder()).fit(FRAME, y)
    fitted.save(tmp_path / "m.gramian")
    loaded = load(tmp_path / "m.gramian")
    assert (loaded.predict(FRAME) == fitted.predict(FRAME)).all()
    assert not hasattr(loaded, "_skl_callbacks")
    assert hasattr(fitted, "_skl_callbacks")


def test_an_error_in_a_fit_still_tears_down():
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("no more")

    failing = Failing()
    with pytest.raises(RuntimeError, match="no more"):
        RFMRegressor(preset="fast", n_rounds=1).set_callbacks(failing).fit(FRAME, Y)
    assert failing.lines[-1] == "teardown"


def test_without_callbacks_no_observer_is_made(monkeypatch):
    monkeypatch.setattr(SklearnCallbacks, "__init__", None)
    RFMRegressor(preset="fast", n_rounds=1).fit(FRAME, Y)
