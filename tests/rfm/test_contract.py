"""scikit-learn's contract, in full."""

import importlib
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import RFMClassifier, RFMRegressor
from gramian.features import Agop
from gramian.kernels import Gaussian, Laplace
from gramian.solvers import Direct


@parametrize_with_checks([RFMRegressor(preset="fast"), RFMClassifier(preset="fast")])
def test_sklearn_check(estimator, check):
    """No expected failures."""
    check(estimator)


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(n_samples=150, random_state=0)


def test_nested_parameters_reach_kernel_update_and_solver():
    model = RFMRegressor().set_params(kernel__bandwidth=3.0, update="agop", update__power=0.5, solver="cg")
    model.set_params(solver__tol=1e-3)
    assert model.kernel == Laplace(3.0)
    assert model.update == Agop(power=0.5)
    assert model.solver.tol == 1e-3
    assert model.get_params()["kernel__bandwidth"] == 3.0
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    # options of one owner are set together: each alone would not be a kernel
    assert RFMRegressor(kernel="lp").set_params(kernel__exponent=1.5, kernel__p=1.5).kernel.exponent == 1.5
    assert RFMRegressor().set_params(update__power=0.5).update == Agop(power=0.5)
    assert RFMRegressor().set_params(solver__tol=1e-8).solver.tol == 1e-8
    with pytest.raises(ValueError, match="no option 'width'"):
        model.set_params(kernel__width=1)
    with pytest.raises(ValueError, match="have options of their own"):
        model.set_params(ridge__x=1)


def test_grid_search_over_nested_parameters(friedman):
    X, y = friedman
    grid = {"kernel__bandwidth": [1.0, 5.0], "update__diagonal": [False, True], "ridge": [1e-3, 1e-1]}
    search = GridSearchCV(RFMRegressor(kernel="gaussian", update="agop", n_rounds=1, select_round="last"), grid, cv=2)
    search.fit(X, y)
    assert isinstance(search.best_estimator_.kernel, Gaussian)
    assert search.best_estimator_.kernel.bandwidth == search.best_params_["kernel__bandwidth"]


def test_pipelines_scores_and_frames_out(friedman):
    X, y = friedman
    assert cross_val_score(make_pipeline(MinMaxScaler(), RFMRegressor(n_rounds=2)), X, y, cv=3).mean() > 0.7
    out = RFMRegressor(n_rounds=1, select_round="last").set_output(transform="pandas").fit(X, y).transform(X)
    assert list(out.columns)[:2] == ["rfmregressor0", "rfmregressor1"]


@pytest.mark.parametrize("threshold", [None, 0.05])
def test_pickles_predict_the_same_and_stay_small(friedman, threshold):
    X, y = friedman
    model = RFMRegressor(threshold=threshold).fit(X, y)
    payload = pickle.dumps(model)
    assert np.array_equal(pickle.loads(payload).predict(X), model.predict(X))
    assert len(payload) < 20 * X.nbytes


def test_nothing_global_is_touched(friedman):
    X, y = friedman
    np.random.seed(3)  # noqa: NPY002
    before_numpy, before_torch = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    RFMRegressor(n_rounds=1, n_threads=1, update=Agop(max_rows=20)).fit(X, y).predict(X)
    assert np.array_equal(np.random.get_state()[1], before_numpy)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before_torch)


def test_the_same_seed_gives_the_same_model(friedman):
    X, y = friedman
    options = {"update": Agop(max_rows=30), "n_rounds": 2, "select_round": "last"}
    a, b, c = (RFMRegressor(random_state=s, **options).fit(X, y).predict(X) for s in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    RFMRegressor(random_state=np.random.RandomState(0), n_rounds=1).fit(X, y)


def test_labels_of_any_kind():
    X, y = load_iris(return_X_y=True)
    reference = RFMClassifier(n_rounds=1).fit(X, y)
    assert reference.classes_.tolist() == [0, 1, 2]
    for labels in (np.array(["z", "a", "m"])[y], y + 7, y.astype(float) - 1, np.array([True, False, False])[y]):
        model = RFMClassifier(n_rounds=1).fit(X, labels)
        assert set(model.predict(X)) == set(labels)
        assert model.score(X, labels) > 0.9
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        RFMClassifier().fit(X, y + 0.5)


def test_probabilities(friedman):
    X, y = load_iris(return_X_y=True)
    for labels in (y, y == 1):
        model = RFMClassifier(n_rounds=1).fit(X[::2], labels[::2])
        p = model.predict_proba(X[1::2])
        np.testing.assert_allclose(p.sum(1), 1)
        assert (model.classes_[p.argmax(1)] == model.predict(X[1::2])).all()
        decision = model.decision_function(X[1::2])
        assert decision.shape == ((75,) if len(model.classes_) == 2 else (75, 3))
        truth = labels[1::2].astype(int)
        log_loss = -np.log(p[np.arange(75), truth]).mean()
        assert log_loss < 0.3  # a coin or die has 0.69 and 1.10
        assert model.temperature_ > 0


@pytest.mark.parametrize("select", ["best", "last"])
def test_an_evaluation_set_chooses_the_round(friedman, select):
    X, y = friedman
    model = RFMRegressor(kernel="laplace", update="agop", n_rounds=3, select_round=select).fit(
        X[:100], y[:100], eval_set=(X[100:], y[100:])
    )
    scores = [r.score for r in model.rounds_]
    if select == "best":  # the earliest that is as good as the best
        assert model.best_round_ <= int(np.argmin(scores))
        assert scores[model.best_round_] < 1.2 * min(scores) < scores[0]
    else:
        assert model.best_round_ == 3
    error = np.mean((model.predict(X[100:]) - y[100:]) ** 2) / y[:100].var()
    assert scores[model.best_round_] == pytest.approx(error, rel=1e-6)
    labels = y > y.mean()
    classifier = RFMClassifier(n_rounds=1).fit(X[:100], labels[:100], eval_set=(X[100:], labels[100:]))
    assert classifier.score(X[100:], labels[100:]) > 0.7
    with pytest.raises(ValueError, match=r"eval_set has a target of shape \(50, 2\), and y has \(100,\)"):
        RFMRegressor().fit(X[:100], y[:100], eval_set=(X[100:], np.column_stack([y, y])[100:]))
    column = RFMClassifier(n_rounds=1).fit(X[:100], labels[:100], eval_set=(X[100:], labels[100:, None]))
    assert column.best_round_ == classifier.best_round_
    with pytest.raises(ValueError, match="which the training rows do not"):
        RFMClassifier(n_rounds=1).fit(X[:100], labels[:100].astype(int), eval_set=(X[100:], np.full(50, 7)))


def test_records_tell_what_happened(friedman):
    X, y = friedman
    model = RFMRegressor(n_rounds=3).fit(X, y)
    assert [r.index for r in model.rounds_] == list(range(len(model.rounds_)))
    for record in model.rounds_:
        assert record.residual < 1e-6
        assert record.bytes > 0
        assert record.seconds > 0
        assert record.score > 0
        assert record.loo > 0 or record.index >= 3, "ridge and bandwidth are not chosen anew from round 3 on"
        assert "float64" in record.status
    assert model.ridge_ == model.rounds_[model.best_round_].ridge
    assert model.kernel_.length == pytest.approx(model.rounds_[model.best_round_].bandwidth)
    with pytest.raises(AttributeError):
        model.rounds_[0].ridge = 1.0


def test_ctrl_c_keeps_what_is_finished(friedman, monkeypatch):
    module = importlib.import_module("gramian.rfm.rounds")
    X, y = friedman
    calls, real = [], module.next_metric

    def interrupt(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(module, "next_metric", interrupt)
    with pytest.warns(UserWarning, match="interrupted: 2 of 4 rounds .* the last of the first kind"):
        model = RFMRegressor(update="agop").fit(X, y)
    assert len(model.rounds_) == 2
    assert model.best_round_ == 1
    assert np.isfinite(model.predict(X)).all()
    monkeypatch.setattr(module, "next_metric", real)
    at_once = lambda *a: (_ for _ in ()).throw(KeyboardInterrupt)  # noqa: E731
    monkeypatch.setattr(module, "next_metric", at_once)
    with pytest.raises(KeyboardInterrupt):
        RFMRegressor(update="agop").fit(X, y)


def test_past_the_budget_the_solver_changes_and_says_so(friedman):
    X, y = make_friedman1(n_samples=1200, random_state=0)
    options = {"kernel": Laplace(3.0), "ridge": 1e-2, "n_rounds": 1, "update": "agop", "select_round": "last"}
    reference = RFMRegressor(**options).fit(X, y)
    with pytest.warns(UserWarning, match="conjugate gradients: a direct solve needs"):
        model = RFMRegressor(max_memory="14MB", **options).fit(X, y)
    assert "converged" in model.rounds_[0].status
    np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-3)


def test_the_budget_and_the_threads_hold_for_calibration_too(monkeypatch):
    X, y = make_friedman1(n_samples=1200, random_state=0)
    seen = []
    real = Direct.loo

    def spy(self, operator, *args, **kwargs):
        seen.append((self.bytes_needed(operator.n, operator.dtype), operator.max_bytes, torch.get_num_threads()))
        return real(self, operator, *args, **kwargs)

    monkeypatch.setattr(Direct, "loo", spy)
    model = RFMClassifier(kernel=Laplace(3.0), ridge=1e-2, n_rounds=0, max_memory="14MB", n_threads=1)
    with pytest.warns(UserWarning, match="conjugate gradients"):
        model.fit(X, y > y.mean())
    ((needed, allowed, threads),) = seen
    assert needed <= allowed
    assert threads == 1
    assert model.score(X, y > y.mean()) > 0.8


def test_probabilities_of_few_rows_stay_humble():
    X = np.linspace(-1, 1, 12)[:, None]
    p = RFMClassifier(n_rounds=0).fit(X, X[:, 0] > 0).predict_proba(X)
    assert 0.6 < p.max() < 0.999


def test_the_last_round_is_the_last_however_few_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    assert RFMRegressor(n_rounds=2, select_round="last").fit(X, X[:, 0]).best_round_ == 2


def test_auto_kernel_chooses_among_two_norms():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 6))
    y = np.abs(X[:, 0]) + np.sign(X[:, 1])
    model = RFMRegressor(kernel="auto", n_rounds=2).fit(X, y)
    assert type(model.kernel_).__name__ in ("Laplace", "Lp")
    assert sorted(np.argsort(model.feature_importances_)[-2:]) == [0, 1]
