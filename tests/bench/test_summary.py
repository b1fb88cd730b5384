"""Tables from records."""

import json

import numpy as np

from gramian.bench.summary import summarize


def record(method, name, split, score, kind="classification", **other):
    return {
        "key": f"{method}{name}{split}",
        "suite": "s",
        "set": name,
        "split": split,
        "method": method,
        "kind": kind,
        "score": score,
        "log_loss": 0.5,
        "fit_seconds": 2.0,
        "predict_seconds": 0.5,
        "error": None,
    } | other


def test_scores_are_means_over_the_splits_that_every_method_has():
    records = [record("a", "one", s, v) for s, v in enumerate((0.5, 0.7))]
    records += [record("b", "one", s, v) for s, v in enumerate((0.8, 0.9))]
    records += [record("a", "two", 0, 0.9), record("b", "two", 1, 0.1)]
    (summary,) = summarize(records, "s")
    assert summary.sets == ("one",)
    assert summary.unfinished == ("two",)
    assert [row["method"] for row in summary.rows] == ["b", "a"]
    np.testing.assert_allclose(summary.scores, [[0.85, 0.6]])
    np.testing.assert_allclose([row["average"] for row in summary.rows], [85, 60])
    assert [row["rank"] for row in summary.rows] == [1, 2]
    assert "1 sets; 1 more not finished" in summary.title
    (alone,) = summarize(records, "s", ["a"])
    assert alone.sets == ("one", "two")
    records.append(record("a", "two", 1, 0.3))  # now both have split 1, and only that is compared
    (both,) = summarize(records, "s", ["a", "b"])
    assert [row["method"] for row in both.rows] == ["b", "a"]  # means 0.475 and 0.45
    np.testing.assert_allclose(both.scores, [[0.85, 0.6], [0.1, 0.3]])


def test_the_last_record_of_a_cell_counts():
    (summary,) = summarize([record("a", "one", 0, 0.1), record("a", "one", 0, 0.4)], "s")
    np.testing.assert_allclose(summary.scores, [[0.4]])


def test_kinds_have_their_own_tables_and_failures_are_counted():
    records = [
        record("a", "one", 0, 0.5, log_loss=None),
        record("b", "one", 0, 0.4, error="RuntimeError: no", log_loss=None, predict_seconds=None),
        record("a", "two", 0, 0.5, kind="regression", log_loss=None),
        record("b", "two", 0, -3.0, kind="regression", log_loss=None),
    ]
    classes, values = summarize(records, "s")
    assert [row["failures"] for row in classes.rows] == [0, 1]
    assert [row["R²"] for row in values.rows] == [0.5, -3.0]
    assert [row["normalised R²"] for row in values.rows] == [1, 0]
    text = classes.markdown()
    assert "| b | 40.00 |" in text
    assert "–" in text  # no log loss
    saved = json.loads(json.dumps(classes.as_dict()))
    assert saved["scores"] == {"one": {"a": 0.5, "b": 0.4}}
    assert saved["methods"][0]["log loss"] is None


def test_methods_without_a_common_set_have_no_rows():
    (summary,) = summarize([record("a", "one", 0, 0.5), record("b", "two", 0, 0.5)], "s")
    assert summary.rows == ()
    assert len(summary.unfinished) == 2
