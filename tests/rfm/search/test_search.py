"""The search: its scores are those of fits, it continues where it stopped, and it stops bad trials early."""

import builtins

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, cross_val_predict

from gramian import RFMClassifier, RFMRegressor
from gramian.features import Agop
from gramian.kernels import Laplace
from gramian.rfm.search import RFMSearch, published_space

optuna = pytest.importorskip("optuna")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.normal(size=60), "city": RNG.choice(["Rome", "Oslo"], 60)})
Y = FRAME.a.to_numpy() * np.where(FRAME.city == "Rome", 1, -1) + 0.1 * RNG.normal(size=60)
LABELS = np.where(Y > 0, "up", "down")
ONE = {"kernel": Laplace("median"), "update": Agop(), "ridge": 1e-2, "n_rounds": 0}  # one solve per fit
REGRESSOR = RFMRegressor(target_transform=None, **ONE)
CASES = [(REGRESSOR, Y), (RFMClassifier(**ONE), LABELS)]


def ridges(trial):
    """A space of ridges only."""
    ridge = trial.suggest_float("ridge", 1e-6, 10, log=True)
    return {"kernel": Laplace("median"), "update": Agop(diagonal=True), "ridge": ridge}


def small(estimator, **options):
    return RFMSearch(estimator, **{"n_trials": 4, "n_rounds": 1, "cv": 2, "space": ridges, **options})


@pytest.mark.parametrize(("estimator", "y"), CASES)
def test_the_score_of_a_trial_is_that_of_fits_on_its_folds(estimator, y):
    cv = KFold(3, shuffle=True, random_state=0)
    search = small(estimator, space=published_space, n_trials=3, n_rounds=2, cv=cv, prune=False).fit(FRAME, y)

    def scores(params):
        model = clone(estimator).set_params(**params)
        pairs = cv.split(FRAME)
        return [model.fit(FRAME.iloc[i], y[i]).score(FRAME.iloc[j], y[j]) for i, j in pairs]

    for params, found in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        assert found == pytest.approx(np.mean(scores(params)), abs=1e-9)
    assert search.own_score_ == pytest.approx(np.mean(scores({})), abs=1e-9)
    assert search.best_score_ == pytest.approx(np.mean(scores(search.best_params_)), abs=1e-9)
    assert (search.predict(FRAME) == search.best_estimator_.predict(FRAME)).all()
    again = clone(estimator).set_params(**search.best_params_).fit(FRAME, y)
    assert (search.predict(FRAME) == again.predict(FRAME)).all()


@pytest.mark.parametrize(("estimator", "y"), CASES)
def test_it_is_an_estimator_of_the_same_type(estimator, y):
    search = clone(small(estimator, n_trials=1))
    assert is_classifier(search) == is_classifier(estimator)
    assert is_regressor(search) == is_regressor(estimator)
    assert hasattr(search, "predict_proba") == hasattr(estimator, "predict_proba")
    assert cross_val_predict(search, FRAME, y, cv=2).shape == y.shape
    search.fit(FRAME, y, sample_weight=np.ones(60))
    assert 0 < search.score(FRAME, y) <= 1
    assert search.transform(FRAME).shape[0] == 60
    if is_classifier(search):
        assert search.classes_.tolist() == ["down", "up"]
        assert search.predict_proba(FRAME).shape == (60, 2)


def test_a_scorer_of_probabilities_gets_the_temperature_of_each_round():
    search = small(RFMClassifier(**ONE), scoring="neg_log_loss", n_trials=2, space=published_space)
    search.fit(FRAME, LABELS)
    assert -1 < search.best_score_ < 0
    assert search.score(FRAME, LABELS) > -0.7


@pytest.mark.parametrize("storage", ["study.log", "sqlite:///{}/study.db"])
def test_a_study_continues_where_it_stopped(tmp_path, storage):
    storage = storage.format(tmp_path) if "://" in storage else tmp_path / storage
    first = small(REGRESSOR, n_trials=3, storage=storage).fit(FRAME, Y)
    second = small(REGRESSOR, n_trials=5, storage=storage).fit(FRAME, Y)
    assert len(first.cv_results_["params"]) == 3
    assert len(second.cv_results_["params"]) == 5
    tried = [trial.params["ridge"] for trial in second.study_.trials]
    assert len(set(tried)) == 5, "a continued study must not repeat its first trials"
    assert second.own_score_ == first.own_score_
    assert second.best_score_ >= first.best_score_
    done = small(REGRESSOR, n_trials=5, storage=storage).fit(FRAME, Y)
    assert len(done.study_.trials) == 5
    with pytest.raises(ValueError, match="other splits: use another study_name"):
        small(REGRESSOR, storage=storage).fit(FRAME[::-1].assign(b=0.0), Y)
    with pytest.raises(ValueError, match="other scoring"):
        small(REGRESSOR, storage=storage, scoring="neg_mean_absolute_error").fit(FRAME, Y)


def test_trials_below_the_median_are_stopped_after_a_round():
    def worse_and_worse(trial):
        return {**ridges(optuna.trial.FixedTrial({"ridge": 1e-2})), "ridge": 10.0 ** (2 * trial.number - 3)}

    search = small(REGRESSOR, space=worse_and_worse, n_trials=8, n_rounds=3).fit(FRAME, Y)
    results = pd.DataFrame(search.cv_results_)
    assert not results.pruned[:5].any()  # the median needs five other trials
    assert results.pruned[5:].all()
    assert (results.rounds_run[5:] == 1).all()
    assert (results.rounds_run[:5] == 4).all()
    all_run = small(REGRESSOR, space=worse_and_worse, n_trials=8, prune=False).fit(FRAME, Y)
    assert not all_run.cv_results_["pruned"].any()


def test_ctrl_c_selects_the_best_finished_trial(tmp_path):
    def interrupted(trial):
        if trial.number == 2:
            raise KeyboardInterrupt
        return ridges(trial)

    interrupted.__name__ = "ridges"
    with pytest.warns(UserWarning, match="interrupted: the best of 2 finished trials is used"):
        search = small(REGRESSOR, space=interrupted, storage=tmp_path / "study.log").fit(FRAME, Y)
    assert len(search.cv_results_["params"]) == 2
    assert search.predict(FRAME).shape == (60,)
    assert len(small(REGRESSOR, storage=tmp_path / "study.log").fit(FRAME, Y).cv_results_["params"]) == 4


@pytest.mark.parametrize("ridge", [1e-2, 0.9e-2, 100.0])
def test_a_trial_must_be_clearly_better_than_the_estimators_own_parameters(ridge):
    def good(trial):
        return {**ridges(trial), "ridge": 1e-2}

    own = clone(REGRESSOR).set_params(update=Agop(diagonal=True), ridge=ridge)
    search = small(own, space=good, n_trials=1, n_rounds=0, cv=4).fit(FRAME, Y)
    gains = np.array(search.study_.best_trial.user_attrs["scores"]) - search.study_.user_attrs["own_scores"]
    clear = gains.mean() > gains.std(ddof=1) / 2
    assert clear == (ridge == 100)
    assert bool(search.best_params_) == clear
    assert search.best_score_ == (search.study_.best_value if clear else search.own_score_)
    one = small(own, space=good, n_trials=1, n_rounds=0, cv=[(np.arange(40), np.arange(40, 60))]).fit(FRAME, Y)
    assert bool(one.best_params_) == (one.study_.best_value > one.own_score_), "a single split has no error"


def test_the_estimators_own_parameters_compete():
    def hopeless(trial):
        return {**ridges(trial), "ridge": 1e6}

    search = small(RFMRegressor(preset="fast"), space=hopeless, n_trials=1).fit(FRAME, Y)
    assert search.best_params_ == {}
    assert search.best_score_ == search.own_score_ > search.cv_results_["mean_test_score"].max()
    assert search.best_estimator_.ridge == "auto"


def test_invalid_parameters_are_named(monkeypatch):
    with pytest.raises(ValueError, match="must be an RFMRegressor or an RFMClassifier"):
        RFMSearch(optuna).fit(FRAME, Y)
    with pytest.raises(ValueError, match="n_trials must be an integer of at least 1, got 0"):
        small(RFMRegressor(), n_trials=0).fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature_threshold selects columns"):
        small(RFMRegressor(feature_threshold=0.1)).fit(FRAME, Y)
    with pytest.raises(ValueError, match='a given kernel and update only, not for "auto"'):
        small(RFMRegressor(preset="fast"), space=lambda trial: {"ridge": 1.0}).fit(FRAME, Y)
    real = builtins.__import__

    def no_optuna(name, *args, **kwargs):
        if name == "optuna":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_optuna)
    with pytest.raises(ImportError, match=r'pip install "gramian\[search\]"'):
        small(RFMRegressor()).fit(FRAME, Y)


def test_optunas_verbosity_is_restored(capfd):
    before = optuna.logging.get_verbosity()
    small(REGRESSOR, n_trials=1).fit(FRAME, Y)
    assert optuna.logging.get_verbosity() == before
    assert "Trial" not in capfd.readouterr().err
