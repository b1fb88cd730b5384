"""Records become tables; the command prints and saves them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from gramian.bench.summary import summarize
from gramian.cli.main import cli


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


def test_scores_are_means_over_the_splits_that_everyone_has():
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


def test_nothing_in_common():
    (summary,) = summarize([record("a", "one", 0, 0.5), record("b", "two", 0, 0.5)], "s")
    assert summary.rows == ()
    assert len(summary.unfinished) == 2


class TestCommand:
    @pytest.fixture
    def run(self, folder, monkeypatch):
        monkeypatch.setenv("GRAMIAN_DATA", str(folder))
        return lambda *arguments: CliRunner().invoke(cli, ["bench", "tables", *map(str, arguments)])

    def test_run_show_and_save(self, run, tmp_path):
        out = tmp_path / "r.jsonl"
        arguments = ("--suite", "uci-small", "--sets", "1", "--splits", 1, "--methods", "SVM,KernelRidge-rbf")
        result = run(*arguments, "--out", out)
        assert result.exit_code == 0, result.output
        assert "uci-small, classification: 1 sets" in result.output
        saved = json.loads((tmp_path / "r-uci-small.json").read_text())
        assert list(saved[0]["scores"]) == ["sign"]
        assert "| SVM |" in (tmp_path / "r-uci-small.md").read_text()
        shown = run("--suite", "uci-small", "--show", "--out", out)
        assert shown.exit_code == 0, shown.output
        assert "KernelRidge-rbf" in shown.output

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--suite", "uci-small", "--sets", "mars"), "has no mars; it has sign, bands"),
            (("--suite", "uci-small", "--methods", "magic"), "'magic' is not a method"),
            (("--suite", "uci-small", "--methods", "paper-rfm"), "belong to uci-paper"),
            (("--show", "--out", "nothing.jsonl"), "holds no records"),
        ],
    )
    def test_wrong_arguments_say_what_is_right(self, run, arguments, message):
        result = run(*arguments)
        assert result.exit_code == 1
        assert message in " ".join(result.output.split())

    def test_list(self, run):
        text = run("--list").output
        assert "uci-paper" in text
        assert "RandomForest: scikit-learn" in text
