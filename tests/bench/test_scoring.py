"""Scores of one method on one task."""

import json

import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.tree import DecisionTreeClassifier

import failing_methods
from gramian.bench.cell import cells
from gramian.bench.scoring import log_loss
from gramian.datasets import uci


def run_cell(folder, set, split, method, seed=0):
    """Run one cell in this process and return its whole record."""
    *_, cell = cells("uci-small", [method], [set], split + 1, seed, folder=folder, find=failing_methods.find)
    return cell.head() | cell.task()()


def test_a_cell_scores_what_a_user_would(folder):
    record = run_cell(folder, "bands", 1, "tree", seed=5)
    data = uci("bands", folder)
    train, test = data.splits[1]
    model = DecisionTreeClassifier(random_state=5).fit(data.X[train], data.y[train])
    assert record["score"] == model.score(data.X[test], data.y[test])
    P = np.clip(model.predict_proba(data.X[test]), 1e-15, 1)
    np.testing.assert_allclose(record["log_loss"], sklearn_log_loss(data.y[test], P, labels=[0, 1, 2]), rtol=1e-6)
    assert record["error"] is None
    assert (record["n_train"], record["n_test"], record["columns"], record["classes"]) == (45, 15, 3, 3)
    assert json.loads(json.dumps(record)) == record


def test_labels_absent_from_the_training_rows_have_a_finite_loss():
    P = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    loss = log_loss(np.array([1, 4]), P, np.array([9, 0, 1]))
    np.testing.assert_allclose(loss, -2 * np.log(1e-15) / 3)


@pytest.mark.parametrize(("name", "message"), [("raises", "RuntimeError: no luck today"), ("gives_nan", "NaN")])
def test_a_failure_counts_as_the_most_frequent_class(folder, name, message):
    record = run_cell(folder, "bands", 0, name)
    data = uci("bands", folder)
    train, test = data.splits[0]
    assert record["score"] == np.mean(data.y[test] == np.bincount(data.y[train]).argmax())
    assert message in record["error"]
    shares = np.bincount(data.y[train]) / len(train)
    np.testing.assert_allclose(record["log_loss"], -np.log(shares[data.y[test]]).mean())
    np.testing.assert_allclose(record["prior_log_loss"], record["log_loss"])
    assert record["auc"] == 0.5
