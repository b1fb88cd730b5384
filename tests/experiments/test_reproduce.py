"""``gramian reproduce`` as a user runs it, over made-up experiments."""

import json
import subprocess
import sys
from io import StringIO

import pytest
from click.testing import CliRunner
from rich.console import Console

from gramian.cli.main import cli
from gramian.experiments import papers, registry
from gramian.experiments.store import Cell, Store
from toys import CLAIMS, SPECS, Walk, toy


@pytest.fixture
def known(monkeypatch):
    """A registry of made-up experiments in place of the papers'."""
    made = [toy(), toy("x/twin", SPECS[:1], title="Twin"), toy("y/broken", (Walk(5, how="raise"),)), toy("y/lonely")]
    monkeypatch.setattr(registry, "_REGISTRY", {experiment.id: experiment for experiment in made})
    monkeypatch.setattr(papers, "PAPERS", {"X": "json", "Y": "math"})  # modules whose import enters nothing
    return registry._REGISTRY


@pytest.fixture
def run(known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(cli, ["reproduce", *map(str, arguments)], env={"COLUMNS": "200"})


def test_a_run_its_verdicts_its_page_and_its_repetition(run, tmp_path, known):
    result = run("x/*", "--scale", "small", "--seeds", 1, "--jobs", 2)
    assert result.exit_code == 0, result.output
    assert len(Store("reproduction").all()) == 3
    for part in ("a number < 4", "close", "differs", "cannot run here: the moon is too far", "as printed: −∞"):
        assert part in result.output
    assert "16 numbers and statements: 6 reproduced, 2 close, 2 differs, 2 cannot run here" in result.output
    assert "A walk, at &lt;random&gt;" in (tmp_path / "reproduction/index.html").read_text()
    assert "\x1b" not in result.output

    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    again = run("x/walk", "--paper", "x", "--scale", "small", "--seeds", 1, "--resume")
    assert again.exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == before

    listed = json.loads(run("--list", "--json").output)
    assert [entry["id"] for entry in listed] == sorted(known)
    assert listed[1]["scales"] == {"smoke": 4, "small": 4, "paper": 4}
    assert listed[1]["verdict"]["reproduced"] == 3
    assert listed[2]["verdict"] == {}
    assert "6 reproduced" not in run("--list", "--paper", "Y").output

    (tmp_path / "reproduction/index.html").unlink()
    other = run("--merge", "reproduction", "--out", "elsewhere")
    assert "3 records taken from reproduction" in other.output
    assert (tmp_path / "elsewhere/figures/x-walk-paper.svg").exists()
    assert run("--page").exit_code == 0
    assert (tmp_path / "reproduction/index.html").exists()


def test_a_failure_is_shown_and_ends_with_1(run):
    result = run("y/broken", "--scale", "smoke", "--seeds", 1)
    assert result.exit_code == 1
    assert "failed y/broken, seed 0: RuntimeError: no luck today" in result.output
    kept = run("y/broken", "--scale", "smoke", "--seeds", 1, "--keep-failed")
    assert kept.exit_code == 1


def test_progress_has_a_time_estimate_on_a_terminal_only(monkeypatch):
    import gramian.cli.reproduce as module

    cell, other = Cell(toy(), SPECS[0], 0), Cell(toy(), SPECS[0], 1)
    done = cell.head() | {"seconds": 100.0, "error": None}
    for terminal in (True, False):
        text = StringIO()
        monkeypatch.setattr(
            module, "Console", lambda stderr, f=text, t=terminal: Console(file=f, force_terminal=t, width=120)
        )
        with module._watching("two walks", 1) as watch:
            assert bool(watch) == terminal
            if terminal:
                watch["begin"]([cell, other], [])
                watch["tick"](done)
        assert ("two walks" in text.getvalue()) == terminal
        assert ("about 100 s left" in text.getvalue()) == terminal


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which experiments?"),
        (("x/walks",), "no experiment fits 'x/walks'; near it: x/walk"),
        (("qq/*",), "no experiment fits 'qq/*'; gramian reproduce --list shows what there is"),
        (("--paper", "Q"), "there is no paper 'Q'; there are X, Y"),
        (("--all", "--scale", "huge"), "'huge' is not one of"),
        (("--merge", "."), "holds no folder 'records'"),
    ],
)
def test_mistakes_are_one_line(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert "Traceback" not in result.output


def test_every_claim_of_the_toys_is_listed(run):
    assert run("--list").output.count("not run") == 4
    assert len(CLAIMS) == 8


def test_the_experiments_are_light_to_import():
    """The registry must not pull in the papers, nor what draws and tests them."""
    code = (
        "import sys, gramian.experiments\n"
        "names = [n for n in sys.modules if n.startswith('gramian.experiments.')]\n"
        "print(sorted(names), 'matplotlib' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "['gramian.experiments.expected', 'gramian.experiments.registry'] False"
