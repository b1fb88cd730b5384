"""``gramian bench`` as a user runs it."""

import json

import pytest
from click.testing import CliRunner

from gramian.bench.cell import TIME_LIMIT
from gramian.bench.tasks import SUITES
from gramian.cli import bench as command
from gramian.cli import bench_tables as bench_module
from gramian.cli.main import cli
from gramian.records import engine
from uci_folder import write_uci_folder


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAMIAN_DATA", str(write_uci_folder(tmp_path / "data")))
    return lambda *arguments: CliRunner().invoke(cli, ["bench", "tables", *map(str, arguments)])


def test_a_run_is_shown_and_saved(run, tmp_path):
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
        (("--suite", "uci-small", "--methods", "paper-rfm"), "run in uci-paper"),
        (("--show", "--out", "nothing.jsonl"), "contains no records"),
    ],
)
def test_wrong_arguments_say_what_is_right(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())


def test_the_list_names_suites_and_methods(run):
    text = run("--list").output
    assert "uci-paper" in text
    assert "RandomForest: scikit-learn" in text


def test_json_of_a_run_and_of_the_stored_records(tmp_path, monkeypatch):
    def bench(*arguments):
        return json.loads(CliRunner().invoke(cli, ["bench", "tables", *map(str, arguments), "--json"]).stdout)

    listed = bench("--list")
    assert "sklearn" in listed["suites"]
    assert listed["methods"]["SVM"]["package"]

    def here(function, items, **options):
        yield from ((item, function(item)) for item in items)

    monkeypatch.setattr(engine, "in_workers", here)
    arguments = ("--sets", "iris", "--methods", "SVM", "--splits", 1, "--out", tmp_path / "t.jsonl")
    ran, shown = bench(*arguments), bench(*arguments, "--show")
    assert ran == shown
    assert ran["kinds"][0]["scores"]["iris"]["SVM"] > 0.8


def test_ctrl_c_ends_with_130_and_says_how_to_continue(tmp_path, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench_module, "run", interrupted)
    arguments = ["bench", "tables", "--sets", "1", "--methods", "SVM", "--out", str(tmp_path / "t.jsonl")]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 130
    assert "the same command continues from there" in result.stderr


def test_the_names_of_suites_and_the_time_limit_are_those_of_the_benchmark():
    options = {option.name: option for option in command.tables.params}
    assert set(options["suite"].type.choices) == set(SUITES)
    assert options["time_limit"].default == TIME_LIMIT
