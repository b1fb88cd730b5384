"""gramian report and fit --report: the page of a model, of two, with and without rows."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

import gramian
from gramian import report as pages
from gramian.cli.main import cli
from gramian.kernels import Laplace

pd = pytest.importorskip("pandas")
QUICK = {"n_rounds": 1, "kernel": Laplace(3.0), "ridge": 1e-2, "update": "agop", "select_round": "last"}


def refused(result, *words):
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


def flats(n=60, seed=0) -> "pd.DataFrame":
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, n), "rooms": rng.integers(1, 7, n)})
    frame["rent"] = 10.5 * frame["area"] + 50 * frame["rooms"]
    frame["large"] = (frame["area"] > 110).astype(int)
    frame["kind"] = np.where(frame["area"] > 110, "house", "flat")
    return frame


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A regressor, two classifiers (by number, by word), and rows they have not seen."""
    monkeypatch.chdir(tmp_path)
    frame = flats()
    X = frame[["area", "rooms"]]
    gramian.RFMRegressor(**QUICK).fit(X, frame["rent"]).save("rent.gramian")
    gramian.RFMClassifier(**QUICK).fit(X, frame["large"].to_numpy()).save("large.gramian")
    gramian.RFMClassifier(**QUICK).fit(X, frame["kind"].to_numpy()).save("kind.gramian")
    new = flats(30, 1)
    new.loc[3, ["rent", "large", "kind"]] = None
    new.to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """Record the pages that would be written, and write none."""
    calls = []

    def write(*things, **options):
        calls.append((things, options))
        things[-1].write_text("<html>")

    monkeypatch.setattr(pages, "write_report", write)
    monkeypatch.setattr(pages, "write_comparison", write)
    return calls


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


def test_one_model_without_rows(folder, asked):
    result = run("report", "rent.gramian")
    assert result.exit_code == 0, result.output
    assert "rent.html" in result.stdout
    (model, path), options = asked[0]
    assert isinstance(model, gramian.RFMRegressor)
    assert path.name == "rent.html"
    assert options == {"X": None, "y": None, "title": "rent", "target": None}


@pytest.mark.parametrize("target", ["rent", "large", "kind"])
def test_rows_come_in_the_types_the_model_knows(folder, asked, target):
    record = json.loads(
        run("report", f"{target}.gramian", "--data", "new.csv", "--target", target, "--out", "p.html", "--json").stdout
    )
    assert (record["page"], record["rows"], record["bytes"]) == ("p.html", 29, 6)
    (model, _), options = asked[0]
    assert list(options["X"].columns) == ["area", "rooms"]
    truth = flats(30, 1).drop(index=3)[target].to_numpy()
    assert options["y"].tolist() == (pytest.approx(truth.tolist()) if target == "rent" else truth.tolist())
    assert np.isin(options["y"], getattr(model, "classes_", options["y"])).all()
    assert model.score(options["X"], options["y"]) > 0.5


def test_labels_that_look_like_numbers_are_texts(folder, asked):
    frame = flats()
    frame["code"] = np.where(frame["large"] == 1, "002", "001")
    gramian.RFMClassifier(**QUICK).fit(frame[["area", "rooms"]], frame["code"].to_numpy()).save("code.gramian")
    frame.to_csv("coded.csv", index=False)
    assert run("report", "code.gramian", "--data", "coded.csv", "--target", "code").exit_code == 0
    assert asked[0][1]["y"].tolist() == frame["code"].tolist()


def test_two_models_are_compared(folder, asked):
    shutil.copy("large.gramian", "older.gramian")
    assert run("report", "large.gramian", "--compare", "older.gramian").exit_code == 0
    things, options = asked[0]
    assert len(things) == 3
    assert options == {"X": None, "y": None, "names": ("large.gramian", "older.gramian")}


def test_two_models_that_cannot_be_compared(folder):
    refused(run("report", "large.gramian", "--compare", "kind.gramian"), "classes")
    assert not (folder / "large.html").exists()


def test_targets_between_the_classes_are_not_rounded_to_one(folder, asked):
    frame = flats(30, 1)
    frame["large"] = frame["large"] + 0.2
    frame.to_csv("odd.csv", index=False)
    refused(run("report", "large.gramian", "--data", "odd.csv", "--target", "large"), "'large' holds", "whole numbers")
    assert not asked


def test_fit_writes_the_page_of_the_saved_model_with_the_scores_of_the_first_fit(folder, asked, monkeypatch):
    import gramian.cli.fit_measure as fit_module

    monkeypatch.setattr(fit_module, "RFMRegressor", lambda **options: gramian.RFMRegressor(**{**QUICK, **options}))
    flats().drop(columns=["large", "kind"]).to_csv("flats.csv", index=False)
    args = ("fit", "flats.csv", "--target", "rent", "--out", "m.gramian", "--report", "m.html")
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert "m.html: a page about this model; its scores are those above" in result.stdout
    (model, path), options = asked[0]
    assert path.name == "m.html"
    assert len(options["X"]) == len(options["y"]) == 12
    record = json.loads(run(*args, "--json").stdout)
    scored = options["scored_by"]
    assert scored.score(options["X"], options["y"]) == pytest.approx(record["held_out"]["scores"]["R²"]["model"])
    rows = flats()[["area", "rooms"]]
    assert model.predict(rows).tolist() == gramian.load("m.gramian").predict(rows).tolist()
    assert scored.predict(rows).tolist() != model.predict(rows).tolist()
    assert record["report"] == "m.html"
    assert run(*args, "--test-size", 0).exit_code == 0
    assert asked[-1][1]["X"] is None, "rows that were learned from say nothing"
    refused(run(*args[:-1], folder / "no" / "m.html"), "there is no folder")


def test_a_page_is_html(folder, asked):
    refused(run("report", "rent.gramian", "--out", "rent.pdf"), "a page must end in .html or .htm", "such as rent.html")
    assert not asked


def test_errors_name_the_fix(folder, asked):
    refused(run("report", "rentt.gramian"), "there is no file rentt.gramian; did you mean 'rent.gramian'")
    refused(run("report", "new.csv"), "is not a gramian model file")
    refused(run("report", "rent.gramian", "--data", "new.csv", "--target", "rentt"), "did you mean 'rent'?")
    refused(run("report", "rent.gramian", "--data", "new.csv", "--target", "kind"), "holds text", "predicts numbers")
    frame = flats()
    gramian.RFMRegressor(**QUICK).fit(frame[["area"]], frame["rent"]).save("less.gramian")
    refused(run("report", "rent.gramian", "--compare", "less.gramian", "--data", "new.csv"), "without --data")
    assert run("report", "rent.gramian", "--target", "rent").exit_code == 2
    assert run("report", "rent.gramian", "--compare", "large.gramian", "--title", "x").exit_code == 2
    assert not asked


def test_pages_are_not_written_over_what_they_are_of(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "link.html").symlink_to("rent.gramian")
    for out in ("rent.gramian", folder / "rent.gramian", "link.html", "new.csv", "large.gramian"):
        more = ("--data", "new.csv", "--compare", "large.gramian", "--out", out)
        refused(run("report", "rent.gramian", *more), "would be written over", "name another file")
    (folder / "link.html").unlink()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_pages_are_written(folder):
    rows = ("--data", "new.csv", "--target", "rent", "--out", "page.html")
    frame = flats()
    gramian.RFMRegressor(**{**QUICK, "n_rounds": 0}).fit(frame[["area", "rooms"]], frame["rent"]).save("plain.gramian")
    for more in ((), ("--compare", "plain.gramian")):
        result = run("report", "rent.gramian", *rows, *more)
        assert result.exit_code == 0, result.output
        text = (folder / "page.html").read_text(encoding="utf-8")
        assert text.startswith(("<!doctype html>", "<!DOCTYPE html>"))
        assert "area" in text
        assert "rent" in text


def test_targets_of_money_are_scored_as_numbers(folder, asked):
    frame = flats(15, 2)
    frame.assign(rent=[f"${rent:,.2f}" for rent in frame["rent"]]).to_csv("money.csv", index=False)
    result = CliRunner().invoke(cli, ["report", "rent.gramian", "--data", "money.csv", "--target", "rent"])
    assert result.exit_code == 0, result.output
    assert asked[0][1]["y"] == pytest.approx(frame["rent"].to_numpy(), abs=0.006)
