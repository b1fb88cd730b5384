"""gramian explain as a user runs it: the columns and training rows behind one prediction."""

import json

import numpy as np
import pytest

import gramian
from example_network import refused
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
