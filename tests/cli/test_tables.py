"""fit, predict and explain as a user runs them: from a table on disk to a model on disk and back."""

import builtins
import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner

import gramian
import gramian.cli.fit as fit_module
from gramian.cli import frames
from gramian.cli.main import cli
from gramian.cli.target import choose_task, measure
from gramian.kernels import Laplace
from gramian.tables import TableEncoder

pd = pytest.importorskip("pandas")
QUICK = {"n_rounds": 1, "kernel": Laplace(3.0), "ridge": 1e-2, "update": "agop", "select_round": "last"}
N = 120


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(cli, [str(a) for a in arguments])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """These tests are about the commands: kernel ridge with nothing to choose is fast."""
    for name in ("RFMClassifier", "RFMRegressor"):
        made = getattr(gramian, name)
        monkeypatch.setattr(fit_module, name, lambda made=made, **options: made(**{**QUICK, **options}))


def houses() -> "pd.DataFrame":
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, N), "rooms": rng.integers(1, 7, N), "noise": rng.normal(size=N)})
    frame["price"] = 1000.5 * frame["area"] + 5000 * frame["rooms"]
    frame["sold"] = np.where(frame["area"] > 110, "yes", "no")
    return frame


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "houses.csv"
    houses().to_csv(path, index=False)
    return path


@pytest.fixture
def model(tmp_path, table, run):
    path = tmp_path / "m.gramian"
    result = run("fit", table, "--target", "price", "--drop", "sold", "--out", path)
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def classifier(tmp_path, table, run):
    path = tmp_path / "c.gramian"
    result = run("fit", table, "--target", "sold", "--drop", "price", "--out", path, "--json")
    assert result.exit_code == 0, result.output
    return path


def refused(result, *words):
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


class TestFit:
    def test_says_what_it_sees_what_it_does_and_how_good_it_is(self, run, table, tmp_path):
        result = run("fit", table, "--target", "price", "--drop", "sold", "--out", tmp_path / "m.gramian")
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
        assert result.stderr == "", "progress vanishes in a pipe"
        for words in ("120 rows × 3 columns", "number", "Regression: price — it holds numbers with decimals", "R²"):
            assert words in result.stdout
        assert "24 held-out rows" in result.stdout
        assert "all 120 rows" in result.stdout
        assert (tmp_path / "m.gramian").exists()

    def test_the_saved_model_is_fitted_to_all_rows(self, model):
        frame = houses()[["area", "rooms", "noise"]]
        expected = gramian.RFMRegressor(**QUICK).fit(frame, houses()["price"].to_numpy())
        assert np.array_equal(gramian.load(model).predict(frame), expected.predict(frame))

    def test_json(self, run, table, tmp_path):
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
        frame["colour"] = np.where(np.arange(N) % 3, "red", None)
        frame["built"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), unit="D")
        frame["id"] = [f"house {i}" for i in range(N)]
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
        assert len(run("predict", tmp_path / "m.gramian", tmp_path / "mixed.csv").stdout.splitlines()) == N + 1

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
        refused(run("fit", tmp_path / "no.xlsx", "--target", "price", *out), ".csv, .tsv", ".parquet")
        refused(run("fit", table, "--target", "price", "--out", tmp_path / "no" / "m.gramian"), "there is no folder")
        refused(run("fit", table, "--target", "price", "--out", tmp_path), "is a folder: name a file in it")
        drops = [word for name in ("area", "rooms", "noise", "sold") for word in ("--drop", name)]
        refused(run("fit", table, "--target", "price", *drops, *out), "no columns besides")
        houses().head(5).to_csv(tmp_path / "five.csv", index=False)
        refused(run("fit", tmp_path / "five.csv", "--target", "price", *out), "5 rows", "at least 10")
        assert not (tmp_path / "m.gramian").exists()

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

    def test_help_has_examples(self, run):
        for command in ("fit", "predict", "explain"):
            text = run(command, "--help").output
            assert f"gramian {command} houses" in text


class TestPredict:
    def test_to_standard_output_and_to_files(self, run, model, table, tmp_path):
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

    def test_probabilities(self, run, classifier, table):
        lines = [line.split(",") for line in run("predict", classifier, table, "--proba").stdout.splitlines()]
        assert lines[0] == ["prediction", "probability_no", "probability_yes"]
        for label, no, yes in lines[1:]:
            assert float(no) + float(yes) == pytest.approx(1)
            assert (label == "yes") == (float(yes) > float(no))

    def test_errors_in_one_line(self, run, model, table, tmp_path):
        houses()[["area"]].to_csv(tmp_path / "less.csv", index=False)
        refused(run("predict", model, tmp_path / "less.csv"), "no columns 'rooms', 'noise'")
        refused(run("predict", model, table, "--proba"), "--proba is for classes")
        refused(run("predict", table, table), "is not a gramian model file")
        refused(run("predict", tmp_path / "no.gramian", table), "there is no file", "did you mean 'm.gramian'?")
        model.write_bytes(model.read_bytes()[:-5])
        refused(run("predict", model, table), "cut short")

    def test_intervals_and_sets(self, run, model, classifier, table):
        lines = [line.split(",") for line in run("predict", model, table, "--interval", 0.9).stdout.splitlines()]
        assert lines[0] == ["prediction", "lower", "upper"]
        assert all(float(low) <= float(made) <= float(high) for made, low, high in lines[1:])
        lines = [line.split(",") for line in run("predict", classifier, table, "--interval", 0.9).stdout.splitlines()]
        assert lines[0] == ["prediction", "set"]
        assert {label for _, labels in lines[1:] for label in labels.split("|")} <= {"yes", "no", ""}

    def test_a_warning_is_one_line_on_standard_error(self, run, tmp_path):
        frame = houses()[["area", "rooms", "noise"]]
        model = tmp_path / "m.gramian"
        gramian.RFMRegressor(**QUICK).fit(frame, houses()["price"].to_numpy()).save(model)
        frame.loc[3, "area"] = np.nan
        frame.to_csv(tmp_path / "gap.csv", index=False)
        result = run("predict", model, tmp_path / "gap.csv")
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) == N + 1
        assert result.stderr.startswith("Warning: 1 entries of X are missing in column 'area'")
        assert len(result.stderr.splitlines()) == 1

    def test_a_model_without_names_goes_by_the_number_of_columns(self, run, tmp_path, table):
        frame = houses()[["area", "rooms", "noise"]]
        path = tmp_path / "m.gramian"
        fitted = gramian.RFMRegressor(**QUICK).fit(frame.to_numpy(), houses()["price"].to_numpy())
        fitted.save(path)
        frame.to_csv(tmp_path / "plain.csv", index=False)
        assert len(run("predict", path, tmp_path / "plain.csv").stdout.splitlines()) == N + 1
        refused(run("predict", path, table), "5 columns, and the model was fitted to 3 without names")


@pytest.mark.skipif(not hasattr(gramian.RFMRegressor, "explain"), reason="no explanations yet")
class TestExplain:
    def test_text(self, run, model, table):
        result = run("explain", model, table, "--row", 3)
        assert result.exit_code == 0, result.output
        assert "area" in result.stdout
        assert "\x1b" not in result.stdout

    def test_json_adds_up(self, run, model, classifier, table):
        record = json.loads(run("explain", model, table, "--row", 3, "--json").stdout)
        expected = gramian.load(model).predict(houses()[["area", "rooms", "noise"]])[3]
        assert record["prediction"] == pytest.approx(expected)
        total = sum(column["contribution"] for column in record["columns"]) + record["gap"]
        assert record["reference_score"] + total == pytest.approx(record["score"])
        assert record["columns"][0]["column"] == "area"
        record = json.loads(run("explain", classifier, table, "--json").stdout)
        assert sum(record["probabilities"].values()) == pytest.approx(1)

    def test_a_row_that_is_not_there(self, run, model, table):
        refused(run("explain", model, table, "--row", N), "--row counts from 0 to 119")


class TestFrames:
    @pytest.mark.parametrize(
        ("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.CSV", "\t"), ("a.tsv", "\t"), ("a.tab", "\t")]
    )
    @pytest.mark.parametrize("packed", [False, True])
    def test_text_formats(self, tmp_path, name, separator, packed):
        text = houses().to_csv(sep=separator, index=False).encode()
        path = tmp_path / (name + ".gz" if packed else name)
        path.write_bytes(gzip.compress(text) if packed else text)
        read = frames.read_frame(path)
        assert read.columns.tolist() == houses().columns.tolist()
        np.testing.assert_array_equal(TableEncoder().fit_transform(read), TableEncoder().fit_transform(houses()))

    def test_parquet(self, tmp_path):
        pytest.importorskip("pyarrow")
        frames.write_frame(houses(), tmp_path / "a.parquet")
        pd.testing.assert_frame_equal(frames.read_frame(tmp_path / "a.parquet"), houses())

    def test_types_do_not_depend_on_the_length_of_the_file(self, tmp_path):
        path = tmp_path / "long.csv"
        path.write_text("a,b\n" + "1,2\n" * 300_000 + "x,3\n")
        assert frames.read_frame(path)["a"].map(type).nunique() == 1

    @pytest.mark.parametrize("content", [b"", b"a,b\n", b'a,b\n"1,2\n3', b"a,b\n1,2,3,4\n1,2\n"])
    def test_what_is_no_table(self, tmp_path, content):
        path = tmp_path / "bad.csv"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"bad\.csv (cannot be read as a table|holds no rows)"):
            frames.read_frame(path)
        broken = tmp_path / "bad.csv.gz"
        broken.write_bytes(b"no gzip")
        with pytest.raises((ValueError, OSError)):
            frames.read_frame(broken)

    def test_without_pandas(self, tmp_path, monkeypatch, run, table):
        real = builtins.__import__

        def without(name, *args, **kwargs):
            if name == "pandas":
                raise ImportError(name)
            return real(name, *args, **kwargs)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(ImportError, match=r'reading tables needs pandas: pip install "gramian\[tables\]"'):
            frames.read_frame(table)


class TestTask:
    @pytest.mark.parametrize(
        ("values", "task"),
        [
            ([1.5, 2.0] * 50, "regression"),
            ([0, 1] * 50, "classification"),
            ([0.0, 1.0] * 50, "classification"),
            ([1, 2, 3] * 100, "classification"),
            ([1, 2, 3] * 5, "regression"),
            (list(range(100)), "regression"),
            ([-1, 1], "classification"),
            (["a", "b"], "classification"),
            ([True, False], "classification"),
            (pd.to_datetime(["2020-01-01", "2020-01-02"]), "classification"),
        ],
    )
    def test_inferred_with_a_reason(self, values, task):
        chosen = choose_task(pd.Series(values))
        assert chosen.name == task
        assert chosen.reason.startswith("it holds")

    def test_asked_for(self):
        assert choose_task(pd.Series([0, 1]), "regression").name == "regression"
        assert choose_task(pd.Series([0.5, 1]), "classification").name == "classification"


def test_the_baseline_is_the_mean_or_the_most_frequent_class():
    frame = houses()
    X = frame[["area", "rooms", "noise"]]
    regressor = gramian.RFMRegressor(**QUICK).fit(X[:80], frame["price"][:80])
    scores = measure(regressor, X[80:], frame["price"][80:], frame["price"][:80])
    miss = frame["price"][80:] - frame["price"][:80].mean()
    assert scores["RMSE"]["baseline"] == pytest.approx(np.sqrt((miss**2).mean()))
    assert scores["R²"]["model"] == pytest.approx(regressor.score(X[80:], frame["price"][80:]))
    classifier = gramian.RFMClassifier(**QUICK).fit(X[:80], frame["sold"][:80])
    strange = frame["sold"][80:].replace({"no": "never seen"})
    assert list(measure(classifier, X[80:], strange, frame["sold"][:80])) == ["accuracy"]
