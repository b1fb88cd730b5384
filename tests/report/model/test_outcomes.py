"""Confusion matrix and curves equal those of scikit-learn; the scatter plot has the rows."""

import re

import numpy as np
import pytest
from sklearn import metrics

from gramian import RFMClassifier, RFMRegressor
from gramian.report.model.outcomes import confusion, outcomes_section, roc_curve
from gramian.report.model.predictions import predictions_for
from html_checks import check
from report.model_pages import rows


def classified(classes):
    X, y = rows(300)
    labels = np.array([f"class {c}" for c in range(classes)])[
        np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    ]
    model = RFMClassifier(preset="fast", n_rounds=0).fit(X[::2], labels[::2])
    return model, predictions_for(model.model_, X[1::2], labels[1::2]), X[1::2], labels[1::2]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_confusion_matrix_equals_that_of_scikit_learn(classes):
    model, found, X, y = classified(classes)
    wanted = metrics.confusion_matrix(y, model.predict(X), labels=model.classes_)
    assert np.array_equal(confusion(found), wanted)
    text = outcomes_section(found).body
    body = re.search(r"<tbody>(.*?)</tbody>", text, re.DOTALL)[1]
    assert [int(count) for count in re.findall(r">(\d+)<br>", body)] == wanted.ravel().tolist()


def test_the_curves_equal_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 20, 200) / 20, rng.random(200) < 0.4  # with ties
    weights = rng.uniform(0.5, 2, 200)
    false_rate, true_rate, precision = roc_curve(scores, positive, weights)
    x, y, _ = metrics.roc_curve(positive, scores, sample_weight=weights, drop_intermediate=False)
    assert false_rate == pytest.approx(x)
    assert true_rate == pytest.approx(y)
    wanted, recall, _ = metrics.precision_recall_curve(positive, scores, sample_weight=weights)
    assert precision[1:] == pytest.approx(wanted[::-1][1:])
    assert true_rate[1:] == pytest.approx(recall[::-1][1:])
    assert np.trapezoid(true_rate, false_rate) == pytest.approx(
        metrics.roc_auc_score(positive, scores, sample_weight=weights)
    )


@pytest.mark.parametrize(("classes", "curves"), [(2, 1), (3, 3), (6, 0)])
def test_few_classes_have_curves(classes, curves):
    _, found, _, _ = classified(classes)
    shown = check(outcomes_section(found).body)
    charts = [one for tag, one in shown.elements if tag == "svg"]
    assert len(charts) == (2 if curves else 0)
    assert ("each class against the others" in shown.text) == (curves == 3)


def test_many_classes_have_a_list_of_errors():
    _, found, _, _ = classified(12)
    shown = check(outcomes_section(found).body)
    assert "Most frequent errors" in shown.text
    assert "Confusion matrix" not in shown.text


def test_a_regression_has_a_point_for_each_row():
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=0).fit(X[:60], y[:60])
    found = predictions_for(model.model_, X[60:], y[60:])
    shown = check(outcomes_section(found).body)
    assert sum(tag == "circle" for tag, _ in shown.elements) == 30
    errors = np.abs(model.predict(X[60:]) - y[60:])
    assert f"Half of the errors are at most {np.median(errors):.4g}" in shown.text
