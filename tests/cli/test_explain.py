"""gramian explain as a user runs it: the columns and training rows behind one prediction."""

import json
import subprocess
import sys

import numpy as np
import pytest

import gramian
from example_network import refused
from gramian.display import format_value
from quick_models import N_HOUSES, QUICK, houses

pd = pytest.importorskip("pandas")


def test_the_columns_are_shown_without_colour(run, model, table):
    result = run("explain", model, table, "--row", 3)
    assert result.exit_code == 0, result.output
    assert "area" in result.stdout
    assert "\x1b" not in result.stdout


def test_json_adds_up(run, model, classifier, table):
    record = json.loads(run("explain", model, table, "--row", 3, "--json").stdout)
    expected = gramian.load(model).predict(houses()[["area", "rooms", "noise"]])[3]
    assert record["prediction"] == pytest.approx(expected)
    total = sum(column["contribution"] for column in record["columns"]) + record["gap"]
    assert record["reference_score"] + total == pytest.approx(record["score"])
    assert record["columns"][0]["column"] == "area"
    record = json.loads(run("explain", classifier, table, "--json").stdout)
    assert sum(record["probabilities"].values()) == pytest.approx(1)


def test_influential_training_rows_have_their_entries_and_targets(run, model, table):
    record = json.loads(run("explain", model, table, "--row", 3, "--influential", 2, "--json").stdout)
    frame = houses()
    assert len(record["training_rows"]) == 2
    for found in record["training_rows"]:
        row = frame.iloc[found["position"]]
        assert found["target"] == pytest.approx(row["price"], rel=1e-5)
        assert found["entries"]["area"] == pytest.approx(row["area"], rel=1e-5)
        assert found["without"] == pytest.approx(record["prediction"] + found["change"], rel=1e-6)
    text = run("explain", model, table, "--row", 3, "--influential", 2).stdout
    for found in record["training_rows"]:
        assert text.count(f"row {found['position']} ") >= 2  # a narrow table continues below
    assert "training rows" not in run("explain", model, table, "--influential", 0).stdout


def test_columns_that_the_model_does_not_use_are_shown(run, model, table):
    text = run("explain", model, table, "--row", 3).stdout
    assert "columns that the model does not use" in text
    assert format_value(float(houses()["price"][3])) in text
    assert f" {format_value(float(houses()['area'][3]))} " in text


def test_help_does_not_import_torch():
    code = "import sys; sys.argv = ['gramian', 'explain', '--help']\nfrom gramian.cli.main import main\n"
    code += "try: main()\nexcept SystemExit: pass\nassert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--influential" in done.stdout


def test_a_row_that_is_not_there(run, model, table):
    refused(run("explain", model, table, "--row", N_HOUSES), "--row counts from 0 to 119")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_explanations_of_dates_are_iso_text(run, tmp_path, unit):
    rng = np.random.default_rng(0)
    days = np.datetime64("2024-01-01") + rng.permutation(60)
    frame = pd.DataFrame({"day": days.astype(f"datetime64[{unit}]"), "size": rng.normal(size=60)})
    frame["price"] = np.arange(60.0)
    gramian.RFMRegressor(**QUICK).fit(frame[["day", "size"]], frame["price"]).save(tmp_path / "dates.gramian")
    frame.loc[1, "day"] = pd.NaT
    frame.to_parquet(tmp_path / "dates.parquet")
    for row, said in ((0, str(days[0])), (1, None)):
        result = run("explain", tmp_path / "dates.gramian", tmp_path / "dates.parquet", "--row", row, "--json")
        assert result.exit_code == 0, result.output
        values = {column["column"]: column["value"] for column in json.loads(result.stdout)["columns"]}
        assert (values["day"] and values["day"][:10]) == said
        assert values["size"] == frame["size"][row]
        assert len(json.loads(result.stdout)["training_rows"][0]["entries"]["day"]) >= 10


def test_a_table_without_column_names_is_explained(run, quick, tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "x.gramian"
    houses().drop(columns="sold").to_csv(table, index=False, header=False)
    assert run("fit", table, "--no-header", "--target", "x3", "--out", model).exit_code == 0
    result = run("explain", model, table, "--no-header", "--row", N_HOUSES - 1, "--json")
    assert result.exit_code == 0, result.output
    assert {column["column"] for column in json.loads(result.stdout)["columns"]} == {"x0", "x1", "x2"}
