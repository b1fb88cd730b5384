"""What the commands write: never over a file they use, and whole whatever the rows hold."""

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import gramian
import gramian.cli.fit as fit_module
from example_network import refused, weights
from gramian import report as pages
from gramian.cli.main import cli
from gramian.cli.output import plain
from gramian.kernels import Laplace

pd = pytest.importorskip("pandas")
QUICK = {"n_rounds": 1, "kernel": Laplace(3.0), "ridge": 1e-2, "update": "agop", "select_round": "last"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Fits of an instant, in a folder with a table and a model of it."""
    monkeypatch.chdir(tmp_path)
    for name in ("RFMClassifier", "RFMRegressor"):
        made = getattr(gramian, name)
        monkeypatch.setattr(fit_module, name, lambda made=made, **options: made(**{**QUICK, **options}))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, 60), "rooms": rng.integers(1, 7, 60)})
    frame["price"] = 10.5 * frame["area"] + frame["rooms"]
    frame.to_csv("d.csv", index=False)
    gramian.RFMRegressor(**QUICK).fit(frame[["area", "rooms"]], frame["price"]).save("m.gramian")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


class TestNothingIsWrittenOver:
    @pytest.mark.parametrize(
        "command",
        [
            "fit d.csv --target price --out d.csv",
            "fit d.csv --target price --out ./d.csv",
            "fit d.csv --target price --out hard.csv",
            "fit d.csv --target price --out q.gramian --report q.gramian",
            "fit d.csv --target price --out q.gramian --report d.csv",
            "predict m.gramian d.csv --out d.csv",
            "predict m.gramian d.csv --out hard.csv",
            "report m.gramian --out m.gramian",
        ],
    )
    def test_tables_and_models(self, folder, command):
        (folder / "hard.csv").hardlink_to(folder / "d.csv")
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        refused(run(*command.split()), "would be written over", "name another file")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    @pytest.mark.parametrize("out", ["w.pt", "start.pt", "test.npz"])
    def test_inspect(self, inspecting, tmp_path, out):
        for name in ("w.pt", "start.pt"):
            torch.save(weights(), name)
        before = (tmp_path / out).read_bytes()
        refused(inspecting("w.pt", "--initial", "start.pt", "--html", out), "would be written over", out)
        assert (tmp_path / out).read_bytes() == before


class TestDates:
    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_explanations_of_dates_are_iso_text(self, folder, unit):
        rng = np.random.default_rng(0)
        days = np.datetime64("2024-01-01") + rng.permutation(60)
        frame = pd.DataFrame({"day": days.astype(f"datetime64[{unit}]"), "size": rng.normal(size=60)})
        frame["price"] = np.arange(60.0)
        gramian.RFMRegressor(**QUICK).fit(frame[["day", "size"]], frame["price"]).save("dates.gramian")
        frame.loc[1, "day"] = pd.NaT
        frame.to_parquet("dates.parquet")
        for row, said in ((0, str(days[0])), (1, None)):
            result = run("explain", "dates.gramian", "dates.parquet", "--row", row, "--json")
            assert result.exit_code == 0, result.output
            values = {column["column"]: column["value"] for column in json.loads(result.stdout)["columns"]}
            assert (values["day"] and values["day"][:10]) == said
            assert values["size"] == frame["size"][row]

    def test_dates_of_any_type_are_json(self):
        moments = np.array(["2024-05-01T12", "NaT"], dtype="datetime64[ns]")
        assert plain(moments) == plain(list(moments)) == ["2024-05-01T12:00:00.000000000", None]
        assert plain([pd.Timestamp("2024-05-01 12:00"), pd.NaT]) == ["2024-05-01T12:00:00", None]
        assert plain(np.datetime64("9999-12-31", "D")) == "9999-12-31"


class TestALabelThatWasNotFittedTo:
    def test_the_page_has_the_rows_that_can_be_scored(self, folder, monkeypatch):
        frame = pd.read_csv("d.csv").drop(columns="price")
        frame["kind"] = np.where(frame["area"] > 110, "house", "flat")
        frame.loc[0, "kind"] = "boat"
        frame.to_csv("kinds.csv", index=False)
        asked = []
        write = pages.write_report
        monkeypatch.setattr(pages, "write_report", lambda *a, **options: (asked.append(options), write(*a, **options)))
        outcomes = set()
        for seed in range(6):
            args = ("--target", "kind", "--out", "k.gramian", "--report", "k.html", "--test-size", 0.4, "--seed", seed)
            result = run("fit", "kinds.csv", *args)
            assert result.exit_code == 0, result.output
            held_out = "1 of 24 held-out rows are left out of the page" in result.stderr
            outcomes.add(held_out)
            assert ("boat" in result.stderr) == held_out
            assert len(asked[-1]["X"]) == len(asked[-1]["y"]) == (23 if held_out else 24)
            if len(outcomes) == 2:
                return
        pytest.fail("the boat was on one side of every split")
