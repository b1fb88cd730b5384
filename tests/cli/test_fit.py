"""gramian fit as a user runs it: from a table on disk to a model on disk, with scores and a page."""

import json
import subprocess
import sys

import numpy as np
import pytest

import gramian
from example_network import refused
from gramian import report as pages
from gramian.cli.fit import TASKS
from gramian.cli.fit_measure import named_importances
from gramian.tables import target_column
from quick_models import N_HOUSES, QUICK, houses

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.usefixtures("quick")


class TestFit:
    def test_says_what_it_sees_what_it_does_and_how_good_it_is(self, run, table, tmp_path):
        result = run("fit", table, "--target", "price", "--drop", "sold", "--out", tmp_path / "m.gramian")
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
        assert result.stderr == "", "progress vanishes in a pipe"
        for words in ("120 rows × 3 columns", "number", "Regression: price — it holds numbers with decimals", "R²"):
            assert words in result.stdout
        assert "24 held-out rows" in result.stdout
        assert "baseline: mean of the target" in result.stdout
        assert "fitted to 96 rows and has not seen the 24 held-out rows" in " ".join(result.stdout.split())
        assert "all 120 rows" in result.stdout
        assert (tmp_path / "m.gramian").exists()

    def test_the_saved_model_is_fitted_to_all_rows(self, model):
        frame = houses()[["area", "rooms", "noise"]]
        expected = gramian.RFMRegressor(**QUICK).fit(frame, houses()["price"].to_numpy())
        # Prices come from text: pandas before version 3 may read the last bit of a number differently.
        assert np.allclose(gramian.load(model).predict(frame), expected.predict(frame), rtol=1e-12)

    def test_the_json_record_has_scores_importances_and_columns(self, run, table, tmp_path):
        result = run("fit", table, "--target", "sold", "--drop", "price", "--out", tmp_path / "m.gramian", "--json")
        record = json.loads(result.stdout)
        assert record["task"] == "classification"
        assert record["held_out"]["rows"] == 24
        scores = record["held_out"]["scores"]
        assert scores["accuracy"]["model"] > 0.8 > scores["accuracy"]["baseline"]
        assert scores["AUC"]["baseline"] == 0.5
        assert next(iter(record["importances"])) == "area"
        assert sum(record["importances"].values()) == pytest.approx(1)
        assert [column["name"] for column in record["columns"]] == ["area", "rooms", "noise"]
        assert record["bytes"] == (tmp_path / "m.gramian").stat().st_size

    def test_no_rows_held_out(self, run, table, tmp_path):
        args = ("fit", table, "--target", "price", "--drop", "sold", "--out", tmp_path / "m.gramian", "--json")
        assert json.loads(run(*args, "--test-size", 0).stdout)["held_out"] is None

    def test_rows_without_a_target_are_left_out(self, run, tmp_path):
        frame = houses()
        frame["rooms_wanted"] = (frame["area"] > 100).astype(float)
        frame.loc[::10, "rooms_wanted"] = np.nan
        frame.to_csv(tmp_path / "gaps.csv", index=False)
        args = ("fit", tmp_path / "gaps.csv", "--target", "rooms_wanted", "--drop", "sold")
        record = json.loads(run(*args, "--out", tmp_path / "m.gramian", "--json").stdout)
        assert record["rows_without_target"] == 12
        assert record["rows"] == 108
        assert record["task"] == "classification"
        assert gramian.load(tmp_path / "m.gramian").classes_.tolist() == [0, 1]
        assert "12 rows without a rooms_wanted are left out" in run(*args, "--out", tmp_path / "m.gramian").stdout

    def test_a_class_with_one_row(self, run, tmp_path):
        frame = houses()
        frame.loc[0, "sold"] = "perhaps"
        frame.drop(columns="price").to_csv(tmp_path / "rare.csv", index=False)
        result = run("fit", tmp_path / "rare.csv", "--target", "sold", "--out", tmp_path / "m.gramian", "--seed", 1)
        assert result.exit_code == 0, result.output

    def test_columns_of_any_kind(self, run, tmp_path):
        frame = houses().drop(columns="sold")
        frame["colour"] = np.where(np.arange(N_HOUSES) % 3, "red", None)
        frame["built"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N_HOUSES), unit="D")
        frame["id"] = [f"house {i}" for i in range(N_HOUSES)]
        frame.loc[::5, "area"] = np.nan
        frame.to_csv(tmp_path / "mixed.csv", index=False)
        args = ("fit", tmp_path / "mixed.csv", "--target", "price", "--out", tmp_path / "m.gramian")
        record = json.loads(run(*args, "--json").stdout)
        kinds = {column["name"]: column["kind"] for column in record["columns"]}
        assert kinds == {
            "area": "number",
            "rooms": "number",
            "noise": "number",
            "colour": "category",
            "built": "date",
            "id": "identifier",
        }
        assert set(record["importances"]) == set(kinds), "importances speak of the user's columns"
        assert record["importances"]["id"] == 0
        text = run(*args).stdout
        assert "dropped" in text
        assert len(run("predict", tmp_path / "m.gramian", tmp_path / "mixed.csv").stdout.splitlines()) == N_HOUSES + 1

    def test_names_in_brackets_are_shown_as_they_are(self, run, tmp_path):
        frame = houses().drop(columns="sold").rename(columns={"area": "area [bold]", "noise": "[/]"})
        frame.to_csv(tmp_path / "[x].csv", index=False)
        result = run("fit", tmp_path / "[x].csv", "--target", "price", "--out", tmp_path / "[m].gramian")
        assert result.exit_code == 0, result.output
        assert "area [bold]" in result.stdout
        assert "[/]" in result.stdout
        assert "[m].gramian" in result.stdout

    def test_wide_tables_are_shown_in_part(self, run, tmp_path):
        frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 60)), columns=[f"c{j}" for j in range(60)])
        frame.to_csv(tmp_path / "wide.csv", index=False)
        result = run("fit", tmp_path / "wide.csv", "--target", "c0", "--out", tmp_path / "m.gramian")
        assert "and 19 more columns" in result.stdout

    def test_errors_in_one_line(self, run, table, tmp_path):
        out = ("--out", tmp_path / "m.gramian")
        refused(run("fit", table, "--target", "prize", *out), "no column 'prize'; did you mean 'price'?")
        refused(run("fit", table, "--target", "price", "--drop", "colour", *out), "no column 'colour'; it has area")
        refused(run("fit", table, "--target", "price", "--drop", "price", *out), "cannot be dropped")
        refused(
            run("fit", table, "--target", "sold", "--task", "regression", *out), "'sold' holds text", "needs numbers"
        )
        refused(run("fit", tmp_path / "no.csv", "--target", "price", *out), "there is no file")
        refused(run("fit", tmp_path / "no.pptx", "--target", "price", *out), ".csv, .tsv", ".parquet")
        refused(run("fit", table, "--target", "price", "--out", tmp_path / "no" / "m.gramian"), "there is no folder")
        refused(run("fit", table, "--target", "price", "--out", tmp_path), "is a folder: name a file in it")
        drops = [word for name in ("area", "rooms", "noise", "sold") for word in ("--drop", name)]
        refused(run("fit", table, "--target", "price", *drops, *out), "no columns besides")
        houses().head(5).to_csv(tmp_path / "five.csv", index=False)
        refused(run("fit", tmp_path / "five.csv", "--target", "price", *out), "5 rows", "at least 10")
        assert not (tmp_path / "m.gramian").exists()

    def test_names_of_outputs_say_what_they_are(self, run, table, tmp_path):
        args = ("fit", table, "--target", "price")
        named = run(*args, "--out", tmp_path / "eu.txt")
        refused(named, "eu.txt cannot be written", "a model file must end in .gramian or .safetensors", "eu.gramian")
        refused(run(*args, "--out", tmp_path / "m"), "such as m.gramian")
        page = run(*args, "--out", tmp_path / "m.gramian", "--report", tmp_path / "page.pdf")
        refused(page, "page.pdf cannot be written", "a page must end in .html or .htm", "page.html")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["houses.csv"]

    def test_wrong_options_are_usage_errors(self, run, table, tmp_path):
        assert run("fit", table, "--out", tmp_path / "m").exit_code == 2
        assert run("fit", table, "--target", "price", "--out", tmp_path / "m", "--preset", "huge").exit_code == 2
        assert run("fit", table, "--target", "price", "--out", tmp_path / "m", "--test-size", "1").exit_code == 2

    def test_preset_and_time_limit_reach_the_model(self, run, table, tmp_path):
        path = tmp_path / "m.gramian"
        args = ("fit", table, "--target", "price", "--drop", "sold", "--out", path)
        assert run(*args, "--preset", "fast", "--time-limit", 30).exit_code == 0
        model = gramian.load(path)
        assert model.preset == "fast"
        assert model.time_limit == 15, "half for the fit that is scored, half for the fit that is kept"

    @pytest.mark.parametrize("option", ["--groups", "--time"])
    def test_rows_are_split_by_a_column_that_is_no_feature(self, run, tmp_path, option):
        frame = houses().head(60).assign(street=np.arange(60) // 4)
        frame.to_csv(tmp_path / "t.csv", index=False)
        path = tmp_path / "m.gramian"
        args = ("fit", tmp_path / "t.csv", "--target", "price", "--out", path, "--preset", "fast", option, "street")
        result = run(*args, "--metric", "mae", "--json")
        assert result.exit_code == 0, result.output
        model = gramian.load(path)
        assert "street" not in model.feature_names_in_
        assert model.metric == "mae"
        assert json.loads(result.stdout)["held_out"]["rows"] % 4 == 0  # whole streets
        refused(run(*args[:-1], "price"), "'price' is the target")
        refused(run(*args, "--groups", "area", "--time", "street"), "both given")

    def test_help_has_examples(self, run):
        for command in ("fit", "predict", "explain"):
            text = run(command, "--help").output
            assert f"gramian {command} houses" in text


def test_importances_belong_to_their_columns_when_one_is_dropped_and_another_has_two_channels():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": [f"n{i}" for i in range(120)], "area": rng.normal(size=120), "noise": rng.normal(size=120)})
    X.loc[::9, "noise"] = np.nan  # a channel for the number, and one for its being missing
    model = gramian.RFMRegressor(**QUICK).fit(X, X["area"].to_numpy())
    assert len(model.encoder_.groups_) == X.shape[1], "as many channels as columns"
    found = named_importances(model)
    assert next(iter(found)) == "area"
    assert found["id"] == 0


class TestALabelThatIsNotInTheTrainingRows:
    def test_its_rows_are_left_out_of_scores_and_page(self, run, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"area": rng.uniform(20, 200, 60), "year": np.arange(60) // 10})
        frame["kind"] = np.where(frame["area"] > 110, "house", "flat")
        frame.loc[59, "kind"] = "boat"  # in the last year, which is held out
        frame.to_csv("kinds.csv", index=False)
        asked = []
        write = pages.write_report
        monkeypatch.setattr(pages, "write_report", lambda *a, **options: (asked.append(options), write(*a, **options)))
        args = ("fit", "kinds.csv", "--target", "kind", "--time", "year", "--out", "k.gramian", "--report", "k.html")
        result = run(*args, "--json")
        assert result.exit_code == 0, result.output
        record = json.loads(result.stdout)
        rows = record["held_out"]["rows"]
        assert f"1 of {rows + 1} held-out rows are left out of the scores" in result.stderr
        assert "no training row has the kind 'boat'" in result.stderr
        assert len(asked[-1]["X"]) == len(asked[-1]["y"]) == rows
        assert "boat" in gramian.load("k.gramian").classes_, "the saved model knows it"


HEAVY = ("torch", "sklearn", "pandas", "scipy", "matplotlib")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "--help"],
        ["fit", "no.csv", "--target", "y", "--out", "m.gramian"],
        ["fit", "t.csv", "--tarjet", "y", "--out", "m.gramian"],
        ["fit", "t.csv", "--target", "y", "--out", "m.txt"],
        ["fit", "t.csv", "--target", "ages", "--out", "m.gramian"],
        ["report", "--help"],
        ["report", "no.gramian"],
        ["report", "m.gramian", "--out", "page.pdf"],
    ],
)
def test_help_and_wrong_arguments_import_nothing_slow(arguments, tmp_path):
    (tmp_path / "t.csv").write_text("age,y\n1,2\n3,4\n", encoding="utf-8")
    (tmp_path / "m.gramian").write_bytes(b"")
    code = f"""
import sys
from gramian.cli.main import cli
try:
    cli({arguments!r}, prog_name="gramian")
except SystemExit as error:
    assert (error.code == 0) == {"--help" in arguments}, error.code
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_the_tasks_are_those_of_the_tables():
    assert TASKS == target_column.TASKS
