"""Files and pages that gramian inspect writes."""

import csv
import json

import pytest
import torch
from click.testing import CliRunner

from example_network import refused, weights
from gramian import FeatureReport
from gramian.cli.main import cli
from gramian.nets import Trajectory, WeightReport


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for step in (0, 10):
        torch.save(weights(step, outputs=2), f"step-{step}.pt")
    return lambda *words: CliRunner().invoke(cli, ["inspect", *map(str, words)])


@pytest.mark.parametrize(("words", "rows"), [(["step-0.pt"], 2), (["step-0.pt", "step-10.pt"], 2), (["step-*.pt"], 4)])
def test_numbers_as_csv_and_json(run, words, rows, tmp_path):
    printed = list(csv.DictReader(run(*words, "--csv").stdout.splitlines()))
    assert len(printed) == rows
    assert "rows.csv" in run(*words, "--out", "rows.csv").stdout
    assert list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines())) == printed
    run(*words, "--out", "all.json")
    assert json.loads((tmp_path / "all.json").read_text()) == json.loads(run(*words, "--json").stdout)


def test_reports_in_a_file(run, tmp_path):
    assert run("step-0.pt", "--out", "w.gramian").exit_code == 0
    assert WeightReport.load("w.gramian").layers == ["body.0", "head"]
    assert run("step-*.pt", "--out", "r.gramian").exit_code == 0
    assert Trajectory.load("r.gramian").steps == (0, 10)


def test_reports_of_a_network_in_a_file(inspecting):
    assert inspecting("--out", "n.gramian").exit_code == 0
    assert FeatureReport.load("n.gramian").layers == ["body.0", "head"]
    torch.save(weights(1), "a.pt")
    torch.save(weights(2), "b.pt")
    refused(inspecting("a.pt", "b.pt", "--out", "n.gramian"), "a comparison has no file of its own")


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (["step-0.pt"], "The weights of step-0.pt"),
        (["step-0.pt", "step-10.pt"], "The weights of step-10.pt, since step-0.pt"),
        (["step-*.pt"], "step-0.pt to step-10.pt"),
    ],
)
def test_pages(run, tmp_path, words, title):
    result = run(*words, "--html", "p.html")
    assert result.exit_code == 0, result.output
    assert "open it in a browser" in result.stdout
    assert f"<h1>{title}</h1>" in (tmp_path / "p.html").read_text()


def test_numbers_are_shown_although_the_file_cannot_be_written(run, monkeypatch):
    def fails(self, path):
        raise OSError("no space left on device")

    monkeypatch.setattr(WeightReport, "save", fails)
    result = run("step-0.pt", "--out", "w.gramian")
    assert result.exit_code == 1
    assert "no space left" in result.stderr
    assert "body.0" in result.stdout
