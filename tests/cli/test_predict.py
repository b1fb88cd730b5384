"""gramian predict as a user runs it: to standard output, to files, with probabilities and intervals."""

import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import gramian
from example_network import refused
from gramian.cli.main import cli
from gramian.tables.frame_files import read_frame, write_frame
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


def test_labels_are_as_the_table_writes_them(run, tmp_path):
    codes = np.where(houses()["area"] > 110, "002", "001")
    houses()[["area", "rooms"]].assign(code=codes).to_csv(tmp_path / "t.csv", index=False)
    result = run("fit", tmp_path / "t.csv", "--target", "code", "--preset", "fast", "--out", tmp_path / "c.gramian")
    assert result.exit_code == 0, result.output
    lines = run("predict", tmp_path / "c.gramian", tmp_path / "t.csv", "--proba").stdout.splitlines()
    assert lines[0] == "prediction,probability_001,probability_002"
    assert {line.partition(",")[0] for line in lines[1:]} == {"001", "002"}


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


class TestKeep:
    @pytest.mark.parametrize("option", ["--keep", "--id"])
    def test_columns_stand_before_the_predictions(self, run, model, table, option):
        lines = run("predict", model, table, option, "noise", option, "sold", option, "noise").stdout.splitlines()
        assert lines[0] == "noise,sold,prediction"
        alone = run("predict", model, table).stdout.splitlines()
        assert [line.rpartition(",")[2] for line in lines] == alone
        cells = table.read_text().splitlines()
        place = cells[0].split(",").index("noise")
        assert [line.split(",")[0] for line in lines] == [line.split(",")[place] for line in cells]

    def test_all_of_them(self, run, model, table):
        lines = run("predict", model, table, "--keep", "all").stdout.splitlines()
        assert lines[0] == table.read_text().splitlines()[0] + ",prediction"

    def test_mistakes(self, run, model, table, tmp_path):
        refused(run("predict", model, table, "--keep", "nois"), "no column 'nois'; did you mean 'noise'?")
        houses().assign(prediction=1).to_csv(tmp_path / "again.csv", index=False)
        result = run("predict", model, tmp_path / "again.csv", "--keep", "prediction")
        refused(result, "the table has a column 'prediction', and so have the predictions")


class TestStreams:
    def test_standard_input_and_output(self, model, table):
        arguments = ["predict", str(model), "-", "--out", "-"]
        result = CliRunner().invoke(cli, arguments, input=table.read_bytes())
        assert result.exit_code == 0, result.output
        assert result.stdout == CliRunner().invoke(cli, ["predict", str(model), str(table)]).stdout

    def test_a_pipe(self, model, table):
        command = [sys.executable, "-m", "gramian", "predict", str(model), "-", "--keep", "area"]
        with table.open("rb") as file:
            done = subprocess.run(command, stdin=file, capture_output=True, check=True)
        assert done.stdout.splitlines()[0].strip() == b"area,prediction"
        assert len(done.stdout.splitlines()) == N_HOUSES + 1
        assert done.stderr == b""


def test_suffixes_are_respected(run, model, table, tmp_path):
    for name in ("p.tsv", "p.parquet", "p.csv.gz"):
        assert run("predict", model, table, "--keep", "area", "--out", tmp_path / name).exit_code == 0
        assert read_frame(tmp_path / name).columns.tolist() == ["area", "prediction"]
    assert (tmp_path / "p.parquet").read_bytes().startswith(b"PAR1")
    refused(run("predict", model, table, "--out", tmp_path / "p.pdf"), "use one of .csv, .tsv")
    assert not (tmp_path / "p.pdf").exists()


def test_excel_in_and_out(run, model, table, tmp_path):
    pytest.importorskip("openpyxl", reason='Excel workbooks need openpyxl ("gramian[excel]")')
    write_frame(houses(), tmp_path / "new.xlsx")
    result = run("predict", model, tmp_path / "new.xlsx", "--keep", "all", "--out", tmp_path / "p.xlsx")
    assert result.exit_code == 0, result.output
    found = read_frame(tmp_path / "p.xlsx")["prediction"].astype(float)
    expected = gramian.load(model).predict(houses()[["area", "rooms", "noise"]])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_table_without_column_names(run, quick, tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "m.gramian"
    houses()[["area", "rooms", "noise", "price"]].to_csv(table, index=False, header=False)
    assert run("fit", table, "--no-header", "--target", "x3", "--out", model).exit_code == 0
    result = run("predict", model, table, "--no-header", "--keep", "x3")
    lines = result.stdout.splitlines()
    assert (lines[0], len(lines)) == ("x3,prediction", N_HOUSES + 1)
    warned = run("predict", model, table)
    assert warned.exit_code == 1
    assert "looks like a row of values" in warned.stderr.splitlines()[0]
    assert "has no columns 'x0', 'x1', 'x2'" in warned.stderr.splitlines()[1]


class TestUnseenLevels:
    @pytest.fixture
    def countries(self, tmp_path):
        model = tmp_path / "m.gramian"
        frame = houses()[["area"]].assign(country=np.resize(["Peru", "Mali", "Oman"], N_HOUSES))
        gramian.RFMRegressor(**QUICK).fit(frame, houses()["price"].to_numpy()).save(model)
        return model

    def test_rows_are_counted_on_standard_error(self, run, countries, tmp_path):
        (tmp_path / "new.csv").write_text("area,country\n1,Atlantis\n2,Mali\n3,Atlantis\n4,Utopia\n5,\n")
        result = run("predict", countries, tmp_path / "new.csv")
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) == 6
        note = "3 rows have a 'country' that the model does not know from its training: Atlantis (2), Utopia (1)"
        assert note in result.stderr

    def test_known_levels_are_not_noted(self, run, countries, tmp_path):
        (tmp_path / "new.csv").write_text("area,country\n1,Oman\n2,Mali\n")
        assert run("predict", countries, tmp_path / "new.csv").stderr == ""
