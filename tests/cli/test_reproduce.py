"""``gramian reproduce`` as a user runs it, with toy experiments."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from gramian.cli.main import cli
from gramian.experiments import Null, between, number, papers, registry
from gramian.experiments.store import ExperimentStore
from toy_experiments import CLAIMS, SPECS, Walk, toy


@pytest.fixture
def known(monkeypatch):
    """A registry of toy experiments in place of the papers'."""
    made = [toy(), toy("x/twin", SPECS[:1], title="Twin"), toy("y/failing", (Walk(5, how="raise"),)), toy("y/lonely")]
    monkeypatch.setattr(registry, "_REGISTRY", {experiment.id: experiment for experiment in made})
    monkeypatch.setattr(papers, "PAPERS", {"X": "json", "Y": "math"})  # modules whose import registers nothing
    return registry._REGISTRY


@pytest.fixture
def run(known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(cli, ["reproduce", *map(str, arguments)], env={"COLUMNS": "200"})


def test_a_run_writes_records_verdicts_and_page_and_is_not_repeated(run, tmp_path, known):
    result = run("x/*", "--scale", "small", "--seeds", 1, "--jobs", 2)
    assert result.exit_code == 0, result.output
    assert len(ExperimentStore("reproduction").all()) == 3
    for part in ("a number < 4", "close", "differs", "cannot run here: the moon is too far", "as printed: -∞"):
        assert part in result.output
    assert "printed numbers (8): 4 close, 2 differs, 2 cannot run here" in result.output
    assert "A walk, at &lt;random&gt;" in (tmp_path / "reproduction/index.html").read_text()
    assert "\x1b" not in result.output

    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    again = run("x/walk", "--paper", "x", "--scale", "small", "--seeds", 1)
    assert again.exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == before

    listed = json.loads(run("--list", "--json").stdout)
    assert [entry["id"] for entry in listed] == sorted(known)
    assert listed[1]["scales"] == {"smoke": 4, "small": 4, "paper": 4}
    assert listed[1]["verdict"]["close"] == 4
    assert listed[1]["seeds"]["small"] == {"declared": 2, "run": 1}
    assert listed[1]["cells"]["small"] == {"declared": 4, "run": 2}
    assert listed[2]["verdict"] == {}
    assert "6 reproduced" not in run("--list", "--paper", "Y").output

    (tmp_path / "reproduction/index.html").unlink()
    other = run("--merge", "reproduction", "--out", "elsewhere")
    assert "3 records copied from reproduction" in other.output
    assert (tmp_path / "elsewhere/figures/x-walk-paper.svg").exists()
    assert run("--page").exit_code == 0
    assert (tmp_path / "reproduction/index.html").exists()


def test_the_plan_names_missing_cells_with_hours(run, known):
    work = json.loads(run("--plan", "--scale", "small", "--json").stdout)
    assert {entry["experiment"] for entry in work} == set(known)
    assert all(entry["hours"] is None and entry["source"] == "unknown" for entry in work)
    assert run("x/twin", "--scale", "small", "--seeds", 1).exit_code == 0
    first, *others = json.loads(run("--plan", "--scale", "small", "--json").stdout)
    assert (first["experiment"], first["missing"], first["all"], first["source"]) == ("x/twin", 1, 2, "recorded")
    assert others == [entry for entry in work if entry["experiment"] != "x/twin"]
    text = run("x/twin", "--plan").output
    assert "1/2" in text
    assert "hours of one core are recorded or estimated" in text
    assert json.loads(run("x/twin", "--plan", "--scale", "small", "--seeds", 1, "--json").stdout) == []
    assert run("x/twin", "--plan", "--scale", "small", "--seeds", 3, "--json").stdout.count('"missing": 2') == 1


@pytest.mark.parametrize("limit", ["0", "-1", "nan"])
def test_a_time_limit_is_a_positive_number_of_seconds(run, limit):
    found = run("x/twin", "--time-limit", limit)
    assert found.exit_code == 2
    assert "--time-limit" in found.output


def test_a_withheld_verdict_is_explained_once_for_its_column(run, known):
    claims = (
        between("steps", 2.0, 4.0, "made up", null=Null(9.0, "a constant"), label="the column", kind="printed number"),
        number("end5", 1.0, 0.1, "made up", label="a cell", column="steps"),
    )
    known["x/twin"] = replace(known["x/twin"], claims=claims, repeats=lambda records: {"steps": [3.0, 7.0]})
    result = run("x/twin", "--scale", "small", "--seeds", 2)
    assert result.exit_code == 0, result.output
    flat = " ".join(result.output.split())
    assert flat.count("1 of our 2 seeds would fail") == 1
    assert flat.count("not decidable") >= 2
    verdicts = json.loads(run("x/twin", "--scale", "small", "--seeds", 2, "--json").stdout)["experiments"][0][
        "verdicts"
    ]
    assert [v["withheld"] for v in verdicts] == ["reproduced", "reproduced"]
    assert "not decidable" in Path("reproduction/index.html").read_text()


def test_json_counts_the_kinds_apart(run):
    answer = json.loads(run("x/walk", "--scale", "small", "--seeds", 2, "--json").stdout)
    assert {row["kind"] for row in answer["counts"]} == {"printed number", "statement", "proved identity"}
    verdict = next(v for v in answer["experiments"][0]["verdicts"] if v["kind"] == "proved identity")
    assert (verdict["outcome"], verdict["null"]["value"]) == ("reproduced", 100.0)


def test_a_failure_is_shown_and_the_exit_code_is_1(run):
    result = run("y/failing", "--scale", "smoke", "--seeds", 1)
    assert result.exit_code == 1
    assert "failed y/failing, seed 0: RuntimeError: no luck today" in result.output
    stored = run("y/failing", "--scale", "smoke", "--seeds", 1, "--keep-failed")
    assert stored.exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no experiment is given"),
        (("x/walks",), "no experiment matches 'x/walks'; did you mean x/walk"),
        (("qq/*",), "no experiment matches 'qq/*'; gramian reproduce --list shows all of them"),
        (("--paper", "Q"), "Invalid value for --paper: there is no paper 'Q'; there are\nX, Y"),
        (("--all", "--scale", "huge"), "'huge' is not one of"),
        (("--merge", "."), "holds no folder 'records'"),
    ],
)
def test_mistakes_are_one_line(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert "Traceback" not in result.output


def test_experiments_without_records_are_listed_as_not_run(run):
    assert run("--list").output.count("not run") == 4
    assert len(CLAIMS) == 8


def test_a_flag_that_did_nothing_is_gone(run):
    assert run("--all", "--resume").exit_code == 2


def test_a_small_run_says_what_it_showed(run, known):
    claims = tuple(replace(claim, scales=("paper",)) for claim in CLAIMS if claim.key != "end9")
    known["x/walk"] = replace(known["x/walk"], claims=claims)
    text = run("x/walk", "--scale", "smoke", "--seeds", 1).output
    assert "the identity is met exactly; the scale smoke is too small to judge" in text
    assert "not judged at this scale: " not in text
    assert "outside the band 29.8 … 30.2; the scale smoke is too small to judge" in text
    assert "--scale paper is large enough" in text
    assert re.search(r"end9 +-?[\d.]+ +measured; the paper has no such number", text)


def test_a_paper_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = [
        json.loads(CliRunner().invoke(cli, ["reproduce", "--list", "--json", "--paper", name]).stdout)
        for name in ("D", "FACT", "features at convergence", "boix-adsera2025")
    ]
    assert {row["paper"] for row in lists[0]} == {"D"}
    assert lists == lists[:1] * 4
    text = CliRunner().invoke(cli, ["reproduce", "--list", "--paper", "FACT"]).output
    assert "Paper D, FACT (boix-adsera2025): FACT: the Features At Convergence Theorem" in text
    wrong = CliRunner().invoke(cli, ["reproduce", "--list", "--paper", "fast"])
    assert wrong.exit_code == 2
    assert wrong.output.count("\n  ") == 5


def test_ids_are_completed():
    made = ShellComplete(cli, {}, "gramian", "_GRAMIAN_COMPLETE").get_completions(["reproduce"], "d/tab")
    assert [item.value for item in made] == ["d/table2", "d/table2-order-why", "d/table2-why", "d/table3"]


def test_json_of_the_list_names_the_papers_experiments(tmp_path):
    result = CliRunner().invoke(cli, ["reproduce", "--list", "--json", "--out", str(tmp_path)])
    rows = json.loads(result.stdout)
    assert {"id", "title", "scales", "verdict"} <= set(rows[0])
