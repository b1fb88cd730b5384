"""``gramian demo`` as a user runs it: output, figures, JSON, errors."""

import json
from functools import cache, partial

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import gramian
import gramian.demo as demo_module
from gramian.cli.main import cli
from gramian.demo import TASKS, DemoTask, tasks
from gramian.demo import picture as picture_module
from gramian.kernels import Laplace


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(cli, [str(a) for a in arguments])


@cache
def shrunk(seed: int):
    """Results of the demonstration's tasks with fewer rows and folds and one candidate, computed once."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("RFMClassifier", "RFMRegressor"):
            patched.setattr(tasks, name, partial(getattr(gramian, name), kernel="laplace", update="agop"))
        return (
            tasks.table(seed, lambda: None, folds=2),
            tasks.formula(seed, lambda: None, n=150, held_out=300, draws=2),
            tasks.digits(seed, lambda: None, n=60, folds=2),
            tasks.crowded_digits(seed, lambda: None, n=60, folds=2),
        )


@pytest.fixture
def small(monkeypatch):
    made = tuple(DemoTask(t.title, 1, lambda seed, tick, i=i: shrunk(seed)[i]) for i, t in enumerate(TASKS))
    monkeypatch.setattr(demo_module, "TASKS", made)


class TestDemo:
    def test_text_without_colour_in_a_pipe(self, run, small, tmp_path):
        result = run("demo", "--out", tmp_path / "figures")
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
        assert "worst area" in result.output
        assert result.output.count("plain kernel ridge") == 4
        assert result.output.count("±") >= 12
        assert "in the true directions" in result.output
        names = {path.name for path in (tmp_path / "figures").iterdir()}
        assert {"breast-cancer-importances.png", "known-formula-matrix.png", "crowded-digits-pixels.png"} <= names
        for path in (tmp_path / "figures").iterdir():
            assert path.name in result.output.replace("\n", "")
            with Image.open(path) as image:
                assert np.asarray(image.convert("L")).std() > 5, "an empty image"

    def test_json_is_all_there_is_on_standard_output(self, run, small, tmp_path):
        result = run("demo", "--out", tmp_path, "--json", "--seed", 0)
        record = json.loads(result.stdout)
        assert record["seed"] == 0
        assert [task["task"] for task in record["tasks"]] == [
            "breast-cancer",
            "known-formula",
            "digits",
            "crowded-digits",
        ]
        for task in record["tasks"]:
            scores = [task[model]["scores"] for model in ("kernel_ridge", "rfm")]
            assert task["difference"]["mean"] == pytest.approx(np.mean(scores[1]) - np.mean(scores[0]))
            assert sum(task["importances"].values()) == pytest.approx(1)
            assert task["difference"]["verdict"] in ("better", "worse", "a tie")
        assert len(record["figures"]) == 12

    def test_a_folder_that_cannot_be_made_costs_one_line_and_no_time(self, run, tmp_path):
        (tmp_path / "file").write_text("")
        result = run("demo", "--out", tmp_path / "file" / "sub")
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert len(result.stderr.splitlines()) == 1


class TestErrors:
    @pytest.fixture
    def failing(self, monkeypatch):
        def fail(seed, tick):
            raise ValueError("the table\nhas no rows")

        monkeypatch.setattr(demo_module, "TASKS", (DemoTask("failing", 1, fail),))

    def test_one_line_without_debug(self, run, failing, tmp_path):
        result = run("demo", "--out", tmp_path)
        assert result.exit_code == 1
        assert result.stderr == "Error: the table has no rows (--debug shows where)\n"

    def test_traceback_with_debug(self, run, failing, tmp_path):
        result = run("--debug", "demo", "--out", tmp_path)
        assert isinstance(result.exception, ValueError)

    def test_a_bug_of_ours_is_not_hidden(self, run, monkeypatch, tmp_path):
        def fail(seed, tick):
            return {}["missing"]

        monkeypatch.setattr(demo_module, "TASKS", (DemoTask("failing", 1, fail),))
        assert isinstance(run("demo", "--out", tmp_path).exception, KeyError)

    def test_unknown_option(self, run):
        assert run("demo", "--seed", "-1").exit_code == 2

    def test_ctrl_c(self, run, monkeypatch, tmp_path):
        def interrupt(seed, tick):
            raise KeyboardInterrupt

        monkeypatch.setattr(demo_module, "TASKS", (DemoTask("failing", 1, interrupt),))
        result = run("demo", "--out", tmp_path)
        assert result.exit_code == 130
        assert result.stderr == f"Interrupted: figures of 0 finished tasks are in {tmp_path}\n"


def test_the_figure_of_the_readme_is_drawn(run, monkeypatch, tmp_path):
    # Kernel ridge with everything fixed: this test is about the drawing, not about what is learned.
    quick = {"n_rounds": 0, "kernel": Laplace(bandwidth=10.0), "ridge": 1e-2}
    for name in ("RFMClassifier", "RFMRegressor"):
        made = getattr(gramian, name)
        monkeypatch.setattr(picture_module, name, lambda made=made, **options: made(**{**options, **quick}))
    path = tmp_path / "sub" / "features.png"
    result = run("picture", "--out", path)
    assert result.exit_code == 0, result.output
    assert path.stat().st_size < 200_000
    with Image.open(path) as image:
        assert image.width == 1600
        assert np.asarray(image.convert("L")).std() > 15
