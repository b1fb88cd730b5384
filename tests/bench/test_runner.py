"""Cells and their records: right scores, no repetition, no method that can end the run."""

import json
import logging

import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.tree import DecisionTreeClassifier

import broken
from gramian.bench.cell import Cell, log_loss, run_cell
from gramian.bench.methods import METHODS, Method
from gramian.bench.runner import cells, read_records, run
from gramian.datasets import uci


def test_a_cell_scores_what_a_user_would(folder):
    record = run_cell(Cell("uci-small", "bands", 1, "tree", seed=5), broken.MADE["tree"], folder)
    data = uci("bands", folder)
    train, test = data.splits[1]
    model = DecisionTreeClassifier(random_state=5).fit(data.X[train], data.y[train])
    assert record["score"] == model.score(data.X[test], data.y[test])
    P = np.clip(model.predict_proba(data.X[test]), 1e-15, 1)
    np.testing.assert_allclose(record["log_loss"], sklearn_log_loss(data.y[test], P, labels=[0, 1, 2]), rtol=1e-6)
    assert record["error"] is None
    assert (record["n_train"], record["n_test"], record["columns"], record["classes"]) == (45, 15, 3, 3)
    assert json.loads(json.dumps(record)) == record


def test_labels_the_training_rows_lack_cost_but_do_not_crash():
    P = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    loss = log_loss(np.array([1, 4]), P, np.array([9, 0, 1]))
    np.testing.assert_allclose(loss, -2 * np.log(1e-15) / 3)


@pytest.mark.parametrize(("name", "message"), [("raises", "RuntimeError: no luck today"), ("gives_nan", "NaN")])
def test_a_failure_counts_as_the_commonest_class(folder, name, message):
    record = run_cell(Cell("uci-small", "bands", 0, name), broken.MADE[name], folder)
    data = uci("bands", folder)
    train, test = data.splits[0]
    assert record["score"] == np.mean(data.y[test] == np.bincount(data.y[train]).argmax())
    assert message in record["error"]
    assert record["log_loss"] is None


def test_the_key_knows_what_decides_a_result():
    cell, method = Cell("sklearn", "iris", 0, "SVM"), METHODS["SVM"]
    keys = {
        cell.key(method),
        Cell("sklearn", "wine", 0, "SVM").key(method),
        Cell("sklearn", "iris", 1, "SVM").key(method),
        Cell("sklearn", "iris", 0, "SVM", seed=1).key(method),
        Cell("sklearn", "iris", 0, "SVM@tag").key(method),
        cell.key(Method("SVM", method.package, method.make, revision="2")),
        cell.key(Method("SVM", "numpy", method.make)),
    }
    assert len(keys) == 7
    assert cell.key(method) in {Cell("sklearn", "iris", 0, "SVM").key(METHODS["SVM"])}


def test_a_run_survives_its_methods_and_resumes(folder, tmp_path, caplog):
    """Two sound methods and three broken ones; then what an interrupt leaves; then nothing to do."""
    out = tmp_path / "deep" / "results.jsonl"
    todo = cells("uci-small", ["tree", "dummy"], ["sign", "bands"], splits=1)
    todo += cells("uci-small", ["raises", "dies", "sleeps"], ["sign"], splits=1)
    options = {"folder": folder, "find": broken.find, "time_limit": 2.0}
    ticks = []
    records = run(todo, out, jobs=1, tick=ticks.append, **options)
    assert len(records) == len(ticks) == len(read_records(out)) == 7
    by_cell = {(r["method"], r["set"]): r for r in records}
    assert "exit code 3" in by_cell["dies", "sign"]["error"]
    assert "longer than 2 seconds" in by_cell["sleeps", "sign"]["error"]
    assert "no luck" in by_cell["raises", "sign"]["error"]
    for name in ("dies", "sleeps", "raises"):  # all count the same: the commonest class
        assert by_cell[name, "sign"]["score"] == by_cell["dummy", "sign"]["score"]
    assert by_cell["tree", "sign"]["error"] is None

    lines = out.read_text().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["method"] != "tree"]
    out.write_text("".join(kept) + lines[0][:40])  # the kill came in the middle of a line
    with caplog.at_level(logging.WARNING, logger="gramian"):
        again = run(todo, out, jobs=2, **options)
    assert "line 6 is not a whole record" in caplog.text
    added = out.read_text().splitlines()[6:]
    assert [json.loads(line)["method"] for line in added] == ["tree", "tree"]
    assert {r["key"]: r["score"] for r in again} == {r["key"]: r["score"] for r in records}

    size = out.stat().st_size
    assert len(run(todo, out, find=broken.find, folder="nowhere")) == 7  # would fail if it ran anything
    assert out.stat().st_size == size


def test_no_jobs(tmp_path):
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        run([], tmp_path / "x.jsonl", jobs=0)
