"""Two models on one page: paired intervals, matrices side by side, where they disagree, and what cannot be compared."""

import numpy as np
import pandas as pd
import pytest
from gramian.report.model.evidence import evidence
from scipy.stats import binomtest

from gramian import RFMClassifier, RFMRegressor
from gramian.report import write_comparison
from gramian.report.model.measures import interval, measures, resampled, scores
from html_checks import check


def rows(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=n)


@pytest.fixture(scope="module")
def two():
    X, y = rows()
    return tuple(RFMRegressor(preset="fast", n_rounds=t, update="agop").fit(X[:80], y[:80]) for t in (0, 3))


def read(a, b, tmp_path, **options):
    text = write_comparison(a, b, tmp_path / "two.html", **options).read_text(encoding="utf-8")
    return text, check(text)


def test_two_models_with_new_rows(two, tmp_path):
    X, y = rows()
    text, checked = read(*two, tmp_path, X=X[80:], y=y[80:], names=("plain <k>", "learned"))
    assert "plain <k>" in checked.text
    assert "<k>" not in text.replace("&lt;k&gt;", "")
    for part in ("learned − plain <k>", "learned is better", "cosine of the matrices", "n_rounds", "row "):
        assert part in checked.text
    assert text.count("disagree") >= 1


def test_a_model_compared_with_itself_differs_in_nothing(two, tmp_path):
    X, y = rows()
    _, checked = read(two[1], two[1], tmp_path, X=X[80:], y=y[80:])
    assert checked.text.count("no difference shown") == 3
    assert "is better" not in checked.text
    assert "cosine of the matrices 1.000" in checked.text
    assert "No argument" not in checked.text
    assert "All arguments are the same" in checked.text


def test_without_rows_nothing_is_paired(two, tmp_path):
    _, checked = read(*two, tmp_path)
    assert "need not be the same rows" in checked.text
    assert "no difference shown" not in checked.text
    assert "Give X to see the rows" in checked.text


def test_each_model_is_said_to_be_judged_in_its_own_way(two, tmp_path):
    X, y = rows()
    other = RFMRegressor(n_rounds=2, update="agop", kernel="laplace").fit(X[:80], y[:80])
    _, checked = read(two[0], other, tmp_path, names=("plain", "held out"))
    assert f"plain judged on {evidence(two[0]).words}; held out judged on {evidence(other).words}." in checked.text
    assert evidence(two[0]).words != evidence(other).words
    assert "Not drawn, since it has no such errors of several rounds: plain." in checked.text
    _, checked = read(*two, tmp_path, X=X[80:], y=y[80:])
    assert "Both judged on 40 rows given with the report." in checked.text


def test_columns_in_another_order(tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    one, two = (
        RFMRegressor(preset="fast", n_rounds=0).fit(frame[order][:80], y[:80])
        for order in (["a", "b", "c", "d"], ["d", "b", "a", "c"])
    )
    for given in (frame, frame[["d", "c", "b", "a"]]):
        _, checked = read(one, two, tmp_path, X=given[80:], y=y[80:])
        assert "is better" not in checked.text  # they are the same


def test_classifiers_and_x_alone(tmp_path):
    X, y = rows()
    a, b = (RFMClassifier(preset="fast", n_rounds=t).fit(X, y > 0) for t in (0, 1))
    _, checked = read(a, b, tmp_path, X=X[:30])
    assert "probabilities of all classes" in checked.text
    assert "need not be the same rows" in checked.text


def test_paired_intervals_are_narrower_than_unpaired_ones(two):
    X, y = rows(n=400, seed=1)
    found = [evidence(model, X, y) for model in two]
    measure = measures(found[0])[1]
    drawn = resampled(measure, found)
    low, high = interval(drawn[:, 1] - drawn[:, 0])
    rng = np.random.default_rng(0)
    loose = interval(rng.permutation(drawn[:, 1]) - drawn[:, 0])
    assert high - low < loose[1] - loose[0]
    assert low < measure.of(found[1], found[1].weights) - measure.of(found[0], found[0].weights) < high


def test_measures_are_scikit_learns():
    from sklearn import metrics

    X, y = rows(n=200)
    labels = np.digitize(y, [-0.5, 0.5])
    for target in (labels > 0, labels):
        model = RFMClassifier(preset="fast", n_rounds=0).fit(X[::2], target[::2])
        found = evidence(model, X[1::2], target[1::2])
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
    assert [score.value for score in scores(evidence(model, X[1::2], y[1::2]))] == pytest.approx(wanted)


def test_few_rows_say_nothing_of_which_is_better(two, tmp_path):
    X, y = rows(n=400, seed=1)
    for n in (19, 20):
        found = evidence(two[1], X[:n], y[:n])
        assert all(np.isfinite(score.low) == (n == 20) for score in scores(found))
        _, checked = read(*two, tmp_path, X=X[:n], y=y[:n])
        assert ("is better" in checked.text) == (n == 20)
        assert ("too few rows to say" in checked.text) == (n == 19)
        assert "nan" not in checked.text


def test_an_accuracy_of_one_is_not_certain():
    X = np.linspace(-1, 1, 60)[:, None]
    found = evidence(RFMClassifier(preset="fast", n_rounds=0).fit(X, X[:, 0] > 0), X[::2], X[::2, 0] > 0)
    accuracy = scores(found)[0]
    assert accuracy.value == accuracy.high == 1
    assert accuracy.low == pytest.approx(binomtest(30, 30).proportion_ci(method="wilson").low)


def test_what_cannot_be_compared_is_said(two, tmp_path):
    X, y = rows()
    path = tmp_path / "two.html"
    with pytest.raises(ValueError, match="must predict the same"):
        write_comparison(two[0], RFMClassifier(preset="fast", n_rounds=0).fit(X, y > 0), path)
    with pytest.raises(ValueError, match="same columns; only one of them has x3"):
        write_comparison(two[0], RFMRegressor(preset="fast", n_rounds=0).fit(X[:, :3], y), path)
    with pytest.raises(ValueError, match="two different texts"):
        write_comparison(*two, path, names=("A", "A"))
    with pytest.raises(ValueError, match="fitted models or FeatureReports"):
        write_comparison(two[0], np.eye(4), path)
    with pytest.raises(ValueError, match="not fitted"):
        write_comparison(two[0], RFMRegressor(), path)
