"""Both estimators on raw frames inside scikit-learn's own tools."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from gramian import RFMClassifier, RFMRegressor

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
N = 60
QUICK = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "select_round": "last"}
RNG = np.random.default_rng(0)
A = np.where(np.arange(N) == 3, np.nan, RNG.normal(size=N))
B = RNG.normal(size=N)
CITY = RNG.choice(["Rome", "Oslo"], N)
Y = np.nan_to_num(A) * np.where(CITY == "Rome", 1, -1)
LABELS = np.where(Y > 0, "up", "down")
WEIGHTS = RNG.uniform(0.5, 2, N)


RAW = {
    "a": A,
    "b": B,
    "city": [None if i == 5 else str(city) for i, city in enumerate(CITY)],
    "day": np.datetime64("2026-01-01", "ms") + np.arange(N) * np.timedelta64(1, "D"),
}


def pandas_frame():
    return pd.DataFrame(RAW)


def polars_frame():
    return pytest.importorskip("polars").DataFrame(RAW)


@pytest.fixture(params=[pandas_frame, polars_frame])
def frame(request):
    return request.param()


@pytest.fixture(params=["regressor", "classifier"])
def case(request):
    """A quick estimator and a target."""
    if request.param == "regressor":
        return RFMRegressor(**QUICK), Y
    return RFMClassifier(**QUICK), LABELS


def test_grid_search_and_pipeline(frame, case):
    model, y = case
    pipeline = make_pipeline(FunctionTransformer(), model)
    name = type(model).__name__.lower()
    grid = GridSearchCV(pipeline, {f"{name}__ridge": [1e-3, 10.0]}, cv=2, error_score="raise").fit(frame, y)
    direct = clone(model).set_params(ridge=grid.best_params_[f"{name}__ridge"]).fit(frame, y)
    assert (grid.predict(frame) == direct.predict(frame)).all()
    assert list(grid.best_estimator_[-1].feature_names_in_) == ["a", "b", "city", "day"]


def test_a_column_transformer_before_the_estimator(frame, case):
    model, y = case
    columns = make_column_transformer((StandardScaler(), ["b"]), (OneHotEncoder(), ["city"]), ("passthrough", ["a"]))
    fitted = make_pipeline(columns, model).fit(frame, y)
    assert fitted.score(frame, y) > 0.6
    assert fitted[-1].n_features_in_ == 5  # b, three values of city (one is missing), a


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_are_returned_where_asked_for(frame, case, kind):
    library = pytest.importorskip(kind)
    model, y = case
    plain = model.fit(frame, y).transform(frame)
    out = clone(model).set_output(transform=kind).fit(frame, y).transform(frame)
    assert isinstance(out, library.DataFrame)
    assert list(out.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(out.to_numpy(), plain)
    both = clone(model).set_output(transform=kind).fit_transform(frame, y)
    assert isinstance(both, library.DataFrame)
    np.testing.assert_array_equal(both.to_numpy(), plain)


def test_learned_coordinates_are_inputs_of_another_model(frame, case):
    model, y = case
    last = LogisticRegression() if is_classifier(model) else Ridge()
    chain = make_pipeline(model.set_output(transform="pandas"), last).fit(frame, y)
    assert chain.predict(frame).shape == (N,)
    assert list(chain[-1].feature_names_in_) == list(chain[0].get_feature_names_out())


class Spies:
    """Estimators that record the arguments of their fit."""

    def __init__(self):
        seen = self.seen = []

        class SpyRegressor(RFMRegressor):
            def fit(self, X, y, sample_weight=None, eval_set=None):
                seen.append((sample_weight, eval_set))
                return super().fit(X, y, sample_weight, eval_set)

        class SpyClassifier(RFMClassifier):
            def fit(self, X, y, sample_weight=None, eval_set=None):
                seen.append((sample_weight, eval_set))
                return super().fit(X, y, sample_weight, eval_set)

        self.of = {False: SpyRegressor, True: SpyClassifier}


@pytest.mark.parametrize("how", ["pipeline", "grid", "grid of a pipeline", "cross_val_predict"])
def test_weights_and_evaluation_sets_are_routed(frame, case, how):
    if how == "grid of a pipeline" and SKLEARN < (1, 8):
        pytest.skip("Pipeline.score asks for a request of its own before scikit-learn 1.8")
    model, y = case
    spies = Spies()
    evaluation = (frame[:20], y[:20])
    sent = {"sample_weight": WEIGHTS, "eval_set": evaluation}
    with config_context(enable_metadata_routing=True):
        spy = spies.of[is_classifier(model)](**QUICK)
        spy.set_fit_request(sample_weight=True, eval_set=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), spy)
        if how == "pipeline":
            pipeline.fit(frame, y, **sent)
        elif how == "cross_val_predict":
            cross_val_predict(spy, frame, y, cv=2, params=sent)
        else:
            whole = how == "grid of a pipeline"
            name = f"{type(spy).__name__.lower()}__ridge" if whole else "ridge"
            grid = GridSearchCV(pipeline if whole else spy, {name: [0.1]}, cv=2, error_score="raise")
            grid.fit(frame, y, **sent)
    lengths = [len(weights) for weights, _ in spies.seen]
    assert lengths == {"pipeline": [N], "cross_val_predict": [N // 2] * 2}.get(how, [N // 2] * 2 + [N])
    assert all(eval_set is evaluation or len(eval_set[0]) == 20 for _, eval_set in spies.seen)
    if N in lengths:
        np.testing.assert_array_equal(spies.seen[-1][0], WEIGHTS)


def test_cross_val_predict_is_fits_on_the_folds(frame, case):
    model, y = case
    halves = [(np.arange(30), np.arange(30, N)), (np.arange(30, N), np.arange(30))]
    found = cross_val_predict(model, frame, y, cv=halves)
    first = clone(model).fit(frame[:30], y[:30]).predict(frame[30:])
    assert (found[30:] == first).all()
    if is_classifier(model):
        assert cross_val_predict(model, frame, y, cv=2, method="predict_proba").shape == (N, 2)


def test_importances_by_permutation_agree_with_feature_importances(case):
    """On a pandas frame: scikit-learn itself turns other frames of mixed types into one array, which fails."""
    model, y = case
    frame = pandas_frame()
    fitted = model.fit(frame, y)
    shuffled = permutation_importance(fitted, frame, y, n_repeats=3, random_state=0).importances_mean
    assert set(np.argsort(shuffled)[-2:]) == {0, 2}
    assert fitted.feature_importances_[[0, 2]].sum() > 0.5


def test_partial_dependence_and_selection(frame, case):
    model, y = case
    if is_classifier(model) and SKLEARN < (1, 7):
        pytest.skip("partial_dependence of a category with two classes fails before scikit-learn 1.7")
    kept = SelectFromModel(model).fit(frame, y).get_support()
    assert kept[0]
    assert not kept[1]
    complete = pandas_frame().assign(city=CITY)
    curve = partial_dependence(model.fit(complete, y), complete, ["city"], categorical_features=["city"])
    assert curve["average"].shape == (1, 2)


def test_calibrated_classifiers(frame):
    model = RFMClassifier(**QUICK)
    for ensemble in (True, False):
        calibrated = CalibratedClassifierCV(model, cv=2, ensemble=ensemble).fit(frame, LABELS)
        chances = calibrated.predict_proba(frame)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        assert list(calibrated.classes_) == ["down", "up"]


def test_voting_averages_predictions(frame):
    quick, plain = RFMClassifier(**QUICK), RFMClassifier(**QUICK | {"n_rounds": 0})
    vote = VotingClassifier([("one", quick), ("two", plain)], voting="soft").fit(frame, LABELS)
    means = (quick.fit(frame, LABELS).predict_proba(frame) + plain.fit(frame, LABELS).predict_proba(frame)) / 2
    np.testing.assert_allclose(vote.predict_proba(frame), means, rtol=1e-9)
    one, two = RFMRegressor(**QUICK), RFMRegressor(**QUICK | {"n_rounds": 0})
    average = VotingRegressor([("one", one), ("two", two)]).fit(frame, Y).predict(frame)
    np.testing.assert_allclose(average, (one.fit(frame, Y).predict(frame) + two.fit(frame, Y).predict(frame)) / 2)
