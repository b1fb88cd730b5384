"""Model cards: the scores are those of held-out rows by hand, and the text is readable Markdown and YAML."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from gramian import RFMClassifier, RFMRegressor
from gramian.integrations.card import card_text, column_kinds, constant_predictions, held_out_scores

FAST = {"preset": "fast", "n_rounds": 1, "n_threads": 1}


def table(n=80):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size | m²": rng.normal(size=n), "town": rng.choice(["Bonn", "Rome"], n)})
    return X, X["size | m²"] + (X["town"] == "Rome") + 0.3 * rng.normal(size=n)


@pytest.fixture(scope="module")
def regressor():
    return RFMRegressor(**FAST).fit(*table())


@pytest.fixture(scope="module")
def classifier():
    X, y = table()
    return RFMClassifier(**FAST).fit(X, np.where(y > 0.5, "dear", "cheap"))


def front_matter(text):
    """The entries between the two lines of dashes, each on one line as JSON."""
    _, front, _ = text.split("---\n", 2)
    return {key: json.loads(value) for key, value in (line.split(": ", 1) for line in front.splitlines())}


def test_scores_of_a_regression_are_those_of_the_formulas(regressor):
    rows = regressor.fitted().scored_holdout()
    w = rows.weights / rows.weights.sum()
    errors, mean = rows.y - rows.predicted, w @ rows.y
    expected = {
        "r_squared": 1 - w @ errors**2 / (w @ (rows.y - mean) ** 2),
        "rmse": np.sqrt(w @ errors**2),
        "mae": w @ np.abs(errors),
    }
    assert held_out_scores(rows, regressor.fitted()) == pytest.approx(expected)


def test_scores_of_a_classification_are_those_of_the_estimator(classifier):
    rows, losses = classifier.fitted().scored_holdout(), classifier.held_out_losses_
    found = held_out_scores(rows, classifier.fitted())
    assert found["log_loss"] == pytest.approx(losses["log_loss"])
    assert found["accuracy"] == pytest.approx(1 - losses["error"])
    assert found["roc_auc"] == pytest.approx(roc_auc_score(rows.y == "dear", rows.probabilities[:, 1]))


def test_the_constant_prediction_is_the_best_constant(regressor, classifier):
    rows, fitted = regressor.fitted().scored_holdout(), regressor.fitted()
    constant = held_out_scores(constant_predictions(rows, fitted), fitted)
    assert constant["r_squared"] == pytest.approx(0)
    rows, fitted = classifier.fitted().scored_holdout(), classifier.fitted()
    constant = held_out_scores(constant_predictions(rows, fitted), fitted)
    share = np.mean(rows.y == "dear")
    assert constant["accuracy"] == pytest.approx(max(share, 1 - share))
    assert constant["log_loss"] == pytest.approx(log_loss(rows.y, np.tile([1 - share, share], (len(rows.y), 1))))
    assert constant["roc_auc"] == 0.5


def test_classes_that_are_numbers_and_more_than_two():
    X, y = table()
    model = RFMClassifier(**FAST).fit(X, np.digitize(y, [0.0, 1.0]) * 10)
    fitted = model.fitted()
    found = held_out_scores(fitted.scored_holdout(), fitted)
    assert set(found) == {"accuracy", "log_loss"}
    assert found["accuracy"] == pytest.approx(1 - model.held_out_losses_["error"])
    assert "Classes: 0, 10, 20." in card_text(model, "three", "m.gramian")


def test_the_front_matter_has_what_the_hub_reads(regressor):
    found = front_matter(card_text(regressor, "prices", "m.gramian", dataset="houses", license="mit"))
    assert (found["library_name"], found["pipeline_tag"], found["license"]) == ("gramian", "tabular-regression", "mit")
    (entry,) = found["model-index"]
    (results,) = entry["results"]
    assert (entry["name"], results["dataset"]["name"]) == ("prices", "houses")
    scores = {metric["type"]: metric["value"] for metric in results["metrics"]}
    assert scores == held_out_scores(regressor.fitted().scored_holdout(), regressor.fitted())
    assert "license" not in front_matter(card_text(regressor, "prices", "m.gramian"))


def test_tables_have_rows_of_one_width_whatever_a_column_is_called(classifier):
    text = card_text(classifier, "prices", "m.gramian")
    assert r"| size \| m² | number |" in text
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")]
    assert set(widths) == {3, 4}


def test_the_card_says_that_the_file_contains_training_rows(classifier):
    text = card_text(classifier, "prices", "m.gramian")
    assert f"`m.gramian` contains {len(classifier.row_index_)} of its training rows" in text
    assert "Publish it only if these may be public." in text


def test_kinds_of_columns_with_and_without_an_encoder(classifier):
    assert column_kinds(classifier.fitted()) == [("size | m²", "number"), ("town", "category")]
    plain = RFMRegressor(**FAST).fit(np.arange(20.0)[:, None], np.arange(20.0))
    assert column_kinds(plain.fitted()) == [("x0", "number")]


def test_several_targets_have_scores():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = RFMRegressor(**FAST).fit(X, X[:, :2])
    assert held_out_scores(model.fitted().scored_holdout(), model.fitted())["r_squared"] > 0.5
    assert card_text(model, "two", "m.gramian")
