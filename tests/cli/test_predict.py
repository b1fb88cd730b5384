"""gramian predict as a user runs it: to standard output, to files, with probabilities and intervals."""

import numpy as np
import pytest

import gramian
from example_network import refused
from quick_models import N_HOUSES, QUICK, houses

pytest.importorskip("pandas")


def test_to_standard_output_and_to_files(run, model, table, tmp_path):
    expected = gramian.load(model).predict(houses()[["area", "rooms", "noise"]])
    shuffled = tmp_path / "new.tsv"
    houses()[["noise", "price", "rooms", "area"]].to_csv(shuffled, sep="\t", index=False)
    text = run("predict", model, shuffled).stdout
    lines = text.splitlines()
    assert lines[0] == "prediction"
    np.testing.assert_allclose([float(line) for line in lines[1:]], expected, rtol=1e-12)
    result = run("predict", model, table, "--out", tmp_path / "p.csv")
    assert "120 predictions in" in result.stdout
    assert (tmp_path / "p.csv").read_text() == text.replace("\r\n", "\n")


def test_probabilities(run, classifier, table):
    lines = [line.split(",") for line in run("predict", classifier, table, "--proba").stdout.splitlines()]
    assert lines[0] == ["prediction", "probability_no", "probability_yes"]
    for label, no, yes in lines[1:]:
        assert float(no) + float(yes) == pytest.approx(1)
        assert (label == "yes") == (float(yes) > float(no))


def test_errors_in_one_line(run, model, table, tmp_path):
    houses()[["area"]].to_csv(tmp_path / "less.csv", index=False)
    refused(run("predict", model, tmp_path / "less.csv"), "no columns 'rooms', 'noise'")
    refused(run("predict", model, table, "--proba"), "--proba is for classes")
    refused(run("predict", table, table), "is not a gramian model file")
    refused(run("predict", tmp_path / "mm.gramian", table), "there is no file", "did you mean 'm.gramian'?")
    model.write_bytes(model.read_bytes()[:-5])
    refused(run("predict", model, table), "cut short")


def test_intervals_and_sets(run, model, classifier, table):
    lines = [line.split(",") for line in run("predict", model, table, "--interval", 0.9).stdout.splitlines()]
    assert lines[0] == ["prediction", "lower", "upper"]
    assert all(float(low) <= float(made) <= float(high) for made, low, high in lines[1:])
    lines = [line.split(",") for line in run("predict", classifier, table, "--interval", 0.9).stdout.splitlines()]
    assert lines[0] == ["prediction", "set"]
    assert {label for _, labels in lines[1:] for label in labels.split("|")} <= {"yes", "no", ""}


def test_a_warning_is_one_line_on_standard_error(run, tmp_path):
    frame = houses()[["area", "rooms", "noise"]]
    model = tmp_path / "m.gramian"
    gramian.RFMRegressor(**QUICK).fit(frame, houses()["price"].to_numpy()).save(model)
    frame.loc[3, "area"] = np.nan
    frame.to_csv(tmp_path / "gap.csv", index=False)
    result = run("predict", model, tmp_path / "gap.csv")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == N_HOUSES + 1
    assert result.stderr.startswith("Warning: 1 entries of X are missing in column 'area'")
    assert len(result.stderr.splitlines()) == 1


def test_a_model_without_names_goes_by_the_number_of_columns(run, tmp_path, table):
    frame = houses()[["area", "rooms", "noise"]]
    path = tmp_path / "m.gramian"
    fitted = gramian.RFMRegressor(**QUICK).fit(frame.to_numpy(), houses()["price"].to_numpy())
    fitted.save(path)
    frame.to_csv(tmp_path / "plain.csv", index=False)
    assert len(run("predict", path, tmp_path / "plain.csv").stdout.splitlines()) == N_HOUSES + 1
    refused(run("predict", path, table), "5 columns, and the model was fitted to 3 without names")
