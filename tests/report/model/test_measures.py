"""Scores equal those of scikit-learn, and have intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from gramian import RFMClassifier, RFMRegressor
from gramian.report.model.measures import baseline, interval, measures, resampled, scores
from gramian.report.model.predictions import predictions_for


def rows(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=n)


@pytest.fixture(scope="module")
def two():
    X, y = rows()
    return tuple(RFMRegressor(preset="fast", n_rounds=t, update="agop").fit(X[:80], y[:80]) for t in (0, 3))


def test_paired_intervals_are_narrower_than_unpaired_ones(two):
    X, y = rows(n=400, seed=1)
    found = [predictions_for(model.model_, X, y) for model in two]
    measure = measures(found[0])[1]
    drawn = resampled(measure, found)
    low, high = interval(drawn[:, 1] - drawn[:, 0])
    rng = np.random.default_rng(0)
    loose = interval(rng.permutation(drawn[:, 1]) - drawn[:, 0])
    assert high - low < loose[1] - loose[0]
    assert low < measure.of(found[1], found[1].weights) - measure.of(found[0], found[0].weights) < high


def test_measures_equal_those_of_scikit_learn():
    from sklearn import metrics

    X, y = rows(n=200)
    labels = np.digitize(y, [-0.5, 0.5])
    for target in (labels > 0, labels):
        model = RFMClassifier(preset="fast", n_rounds=0).fit(X[::2], target[::2])
        found = predictions_for(model.model_, X[1::2], target[1::2])
        p, said = model.predict_proba(X[1::2]), model.predict(X[1::2])
        auc = p[:, 1] if p.shape[1] == 2 else p
        wanted = [
            metrics.accuracy_score(target[1::2], said),
            metrics.balanced_accuracy_score(target[1::2], said),
            metrics.roc_auc_score(target[1::2], auc, multi_class="ovr"),
            metrics.log_loss(target[1::2], p),
            metrics.brier_score_loss(target[1::2], auc)
            if p.shape[1] == 2
            else np.mean(np.sum((p - np.eye(p.shape[1])[target[1::2]]) ** 2, axis=1)),
        ]
        measured = scores(found)
        assert [score.value for score in measured] == pytest.approx(wanted)
        assert all(score.low <= score.value <= score.high for score in measured)
    model = RFMRegressor(preset="fast", n_rounds=0).fit(X[::2], y[::2])
    said = model.predict(X[1::2])
    wanted = [
        metrics.r2_score(y[1::2], said),
        metrics.root_mean_squared_error(y[1::2], said),
        metrics.mean_absolute_error(y[1::2], said),
    ]
    assert [score.value for score in scores(predictions_for(model.model_, X[1::2], y[1::2]))] == pytest.approx(wanted)


def test_an_accuracy_of_one_has_an_interval():
    X = np.linspace(-1, 1, 60)[:, None]
    model = RFMClassifier(preset="fast", n_rounds=0).fit(X, X[:, 0] > 0)
    found = predictions_for(model.model_, X[::2], X[::2, 0] > 0)
    accuracy = scores(found)[0]
    assert accuracy.value == accuracy.high == 1
    assert accuracy.low == pytest.approx(binomtest(30, 30).proportion_ci(method="wilson").low)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_baseline_is_the_best_constant(classes):
    """Laws: R² is 0, AUC is ½, and no other constant has a smaller squared error or log loss on these rows."""
    X, y = rows(n=150)
    if classes:
        y = np.digitize(y, [-0.5, 0.5][: classes - 1])
        found = predictions_for(RFMClassifier(preset="fast", n_rounds=0).fit(X[::2], y[::2]).model_, X[1::2], y[1::2])
    else:
        found = predictions_for(RFMRegressor(preset="fast", n_rounds=0).fit(X[::2], y[::2]).model_, X[1::2], y[1::2])
    constant = baseline(found)
    by_name = {score.measure.name.split(" (")[0]: score.baseline for score in scores(found)}
    if not classes:
        assert by_name["R²"] == pytest.approx(0, abs=1e-12)
        assert by_name["RMSE"] == pytest.approx(np.std(y[1::2]))
        return
    assert by_name["AUC"] == 0.5
    assert by_name["accuracy"] == pytest.approx(np.bincount(y[1::2]).max() / 75)
    assert by_name["balanced accuracy"] == pytest.approx(1 / classes)
    shares = np.bincount(y[1::2]) / 75
    assert by_name["log loss"] == pytest.approx(-shares @ np.log(shares))
    loss = measures(found)[3]
    assert loss.name == "log loss"
    for _ in range(5):
        other = np.random.default_rng(0).dirichlet(np.ones(classes))
        moved = replace(constant, probabilities=np.tile(other, (75, 1)))
        assert loss.of(moved, found.weights) >= by_name["log loss"]
