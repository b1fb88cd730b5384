"""All commands as a shell runs them: help, exit codes, one line for an error, pipes, JSON, files."""

import json
import logging
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import click
import numpy as np
import pytest
import torch
from click.testing import CliRunner

import gramian
import gramian.cli.fit_measure as fit_module
from example_network import refused, weights
from gramian.cli.main import cli
from gramian.files.container import FORMAT
from quick_models import QUICK

N = 60


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


ANNOUNCED = """
from dataclasses import replace
import gramian.demo
first, *rest = gramian.demo.TASKS
def run(*args):
    print("begins", flush=True)
    return first.run(*args)
gramian.demo.TASKS = (replace(first, run=run), *rest)
"""


def process(*arguments, before="", **options):
    """The command in a process of its own, with pipes."""
    command = [sys.executable, "-c", f"{before}\nfrom gramian.cli.main import main; main()", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def leaves(command: click.Command, name: str):
    """All commands with their full names."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for key, one in command.commands.items():
            if not one.hidden:
                yield from leaves(command.resolve_command(context, [key])[1], f"{name} {key}")
    else:
        yield name, command


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table, and fits that cost nothing."""
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, N), "rooms": rng.integers(1, 7, N)})
    frame.assign(rent=10.5 * frame["area"]).to_csv("t.csv", index=False)
    made = gramian.RFMRegressor
    monkeypatch.setattr(fit_module, "RFMRegressor", lambda **options: made(**{**QUICK, **options}))
    return Path("t.csv")


@pytest.fixture
def saved(tmp_path, monkeypatch, quick):
    """A folder with a table and a model of it."""
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.uniform(20, 200, 60), "rooms": rng.integers(1, 7, 60)})
    frame["price"] = 10.5 * frame["area"] + frame["rooms"]
    frame.to_csv("d.csv", index=False)
    gramian.RFMRegressor(**QUICK).fit(frame[["area", "rooms"]], frame["price"]).save("m.gramian")
    return tmp_path


FIT = ("fit", "t.csv", "--target", "rent", "--out", "m.gramian")


class TestHelp:
    @pytest.mark.parametrize(("name", "command"), list(leaves(cli, "gramian")))
    def test_every_command_shows_examples_that_parse(self, name, command):
        text = run(*name.split()[1:], "--help").output
        assert "Examples:" in text
        assert max(map(len, text.splitlines())) <= 80
        shown = [line for line in (command.help or "").splitlines() if name in line]
        assert len(shown) >= 2
        options = {word for option in command.params for word in option.opts}
        for line in shown:
            mine = line[line.index(name) :].split(" | ")[0].split("#")[0]
            for word in mine.split():
                assert not word.startswith("--") or word in options, f"{name} has no {word}"

    def test_the_list_is_whole_and_nothing_in_it_is_cut_off(self):
        text = run("--help").output
        commands = text[text.index("Commands:") :]
        assert "..." not in commands
        names = [line.split()[0] for line in commands.splitlines()[1:]]
        expected = "demo fit predict explain report inspect concept reproduce bench info completion"
        assert names == expected.split()

    def test_exit_codes_are_told(self):
        text = run("--help").output
        for code in ("0 ", "1 ", "2 ", "130 "):
            assert f"\n    {code}" in text

    def test_what_runs_code_and_what_does_not(self):
        text = " ".join(run("inspect", "--help").output.split())
        assert "Importing the factory runs your own code. The checkpoint never does" in text


class TestExitCodes:
    def test_done_failed_and_no_sense(self, table):
        assert run("info").exit_code == 0
        assert run("fit", "t.csv", "--target", "rents", "--out", "m.gramian").exit_code == 1
        assert run("fit").exit_code == 2
        assert run("no-such-command").exit_code == 2

    def test_ctrl_c_before_anything_is_done(self, table, monkeypatch):
        def interrupted(self, X, y):
            raise KeyboardInterrupt

        monkeypatch.setattr(gramian.RFMRegressor, "fit", interrupted)
        result = run(*FIT)
        assert result.exit_code == 130
        assert result.stderr.splitlines()[-1] == "Interrupted"
        assert not Path("m.gramian").exists()

    @pytest.mark.usefixtures("ctrl_c")
    @pytest.mark.parametrize("swallowed", [False, True])
    def test_ctrl_c_in_the_last_fit_keeps_the_one_that_was_scored(self, table, monkeypatch, swallowed):
        real = gramian.RFMRegressor.fit

        def interrupted(self, X, y):
            if len(y) < N:
                return real(self, X, y)
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:  # as a fit does that gives what it has
                if not swallowed:
                    raise
            return real(self, X[:20], y[:20])

        monkeypatch.setattr(gramian.RFMRegressor, "fit", interrupted)
        result = run(*FIT, "--json")
        assert result.exit_code == 130
        record = json.loads(result.stdout)
        assert record["interrupted"]
        assert record["fitted_rows"] == 48
        assert "m.gramian is the model of 48 of 60 rows" in result.stderr
        kept = gramian.load("m.gramian")
        import pandas as pd

        frame = pd.read_csv("t.csv")
        assert kept.score(frame[["area", "rooms"]], frame["rent"]) > 0.9

    @pytest.mark.usefixtures("ctrl_c")
    def test_ctrl_c_in_the_first_fit_keeps_what_it_gave(self, table, monkeypatch):
        real = gramian.RFMRegressor.fit

        def interrupted(self, X, y):
            assert len(y) == 48, "no second fit for someone who wants to stop"
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            return real(self, X, y)

        monkeypatch.setattr(gramian.RFMRegressor, "fit", interrupted)
        result = run(*FIT)
        assert result.exit_code == 130
        assert Path("m.gramian").exists()
        assert "48 rows" in result.stdout

    @pytest.mark.usefixtures("ctrl_c")
    @pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
    def test_ctrl_c_of_the_process_itself(self, tmp_path):
        """The signal comes in the middle of the first task, which says when it begins."""
        with process("demo", "--out", tmp_path / "figures", before=ANNOUNCED) as running:
            assert running.stdout.readline() == b"begins\n"
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=300)
        assert running.returncode == 130
        assert errors.splitlines()[-1].startswith(b"Interrupted: figures of 0 finished tasks")
        assert b"Traceback" not in errors


class TestErrors:
    def test_debug_may_stand_at_the_end(self, table):
        wrong = ("fit", "t.csv", "--target", "rents", "--out", "m.gramian")
        assert isinstance(run(*wrong, "--debug").exception, ValueError)
        assert isinstance(run("--debug", *wrong).exception, ValueError)
        assert run(*wrong).stderr.endswith("(--debug shows where)\n")

    def test_a_model_of_a_later_version(self, table):
        assert run(*FIT).exit_code == 0
        content = Path("m.gramian").read_bytes()
        Path("m.gramian").write_bytes(content.replace(f'\\"format\\":{FORMAT}'.encode(), b'\\"format\\":9'))
        result = run("predict", "m.gramian", "t.csv")
        assert result.exit_code == 1
        assert "update gramian to open it" in result.stderr
        assert len(result.stderr.splitlines()) == 1

    def test_a_warning_does_not_write_into_a_progress_bar(self, table, monkeypatch):
        real = gramian.RFMRegressor.fit

        def warning(self, X, y):
            warnings.warn("two\nlines", stacklevel=1)
            return real(self, X, y)

        monkeypatch.setattr(gramian.RFMRegressor, "fit", warning)
        assert run(*FIT).stderr == "Warning: two lines\n" * 2


class TestPipes:
    @pytest.mark.skipif(os.name == "nt", reason="pipes of Unix")
    def test_a_reader_that_goes_away(self, table, tmp_path):
        pd = pytest.importorskip("pandas")
        assert run(*FIT).exit_code == 0
        pd.concat([pd.read_csv("t.csv")] * 400).to_csv("long.csv", index=False)
        with process("predict", "m.gramian", "long.csv") as running:
            assert running.stdout.readline() == b"prediction\n"
            running.stdout.close()
            assert running.wait(timeout=300) == 141
            assert running.stderr.read() == b""

    @pytest.mark.skipif(os.name == "nt", reason="pipes of Unix")
    def test_a_reader_that_was_never_there(self):
        with process("info") as running:
            running.stdout.close()
            assert running.wait(timeout=300) == 141
            assert running.stderr.read() == b""

    def test_json_survives_a_pipe_of_ascii(self, table):
        header, rows = Path("t.csv").read_text().split("\n", 1)
        Path("ü.csv").write_text(f"{header.replace('area', 'fläche')}\n{rows}", encoding="utf-8")
        assert run("fit", "ü.csv", *FIT[2:]).exit_code == 0
        env = {**os.environ, "PYTHONIOENCODING": "ascii"}
        with process("explain", "m.gramian", "ü.csv", "--json", env=env) as running:
            output, errors = running.communicate(timeout=300)
        assert running.returncode == 0, errors
        assert {column["column"] for column in json.loads(output)["columns"]} == {"fläche", "rooms"}


class TestJson:
    def test_fit_predict_explain(self, table):
        fitted = json.loads(run(*FIT, "--json").stdout)
        assert fitted["fitted_rows"] == fitted["rows"] == N
        assert not fitted["interrupted"]
        assert fitted["remarks"] == []
        predicted = json.loads(run("predict", "m.gramian", "t.csv", "--interval", 0.9, "--json").stdout)
        assert (predicted["rows"], predicted["columns"]) == (N, ["prediction", "lower", "upper"])
        one = predicted["predictions"][7]
        assert one["lower"] <= one["prediction"] <= one["upper"]
        told = json.loads(run("explain", "m.gramian", "t.csv", "--row", 7, "--json").stdout)
        assert told["prediction"] == pytest.approx(one["prediction"])
        written = json.loads(run("predict", "m.gramian", "t.csv", "--json", "--out", "p.jsonl").stdout)
        assert written["out"] == "p.jsonl"
        assert "predictions" not in written
        lines = [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()]
        assert lines[7]["prediction"] == pytest.approx(one["prediction"])

    def test_a_format_that_cannot_be_written_costs_no_time(self, table):
        result = run("predict", "nowhere.gramian", "t.csv", "--out", "p.pdf")
        assert result.exit_code == 1
        assert "p.pdf" in result.stderr


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
    def test_tables_and_models_stay_as_they_are(self, saved, command):
        (saved / "hard.csv").hardlink_to(saved / "d.csv")
        before = {path.name: path.read_bytes() for path in saved.iterdir()}
        refused(run(*command.split()), "would be written over", "name another file")
        assert {path.name: path.read_bytes() for path in saved.iterdir()} == before

    @pytest.mark.parametrize("out", ["w.pt", "start.pt", "test.npz"])
    def test_checkpoints_and_samples_stay_as_they_are(self, inspecting, tmp_path, out):
        for name in ("w.pt", "start.pt"):
            torch.save(weights(), name)
        before = (tmp_path / out).read_bytes()
        refused(inspecting("w.pt", "--initial", "start.pt", "--html", out), "would be written over", out)
        assert (tmp_path / out).read_bytes() == before


def test_the_version_is_that_of_the_package():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"gramian {gramian.__version__}\n"


def test_help_lists_the_commands_and_hides_the_picture():
    text = run("--help").output
    assert "demo" in text
    assert "info" in text
    assert "picture" not in text


def test_verbose_logs_and_leaves_no_handler_behind():
    log = logging.getLogger("gramian")
    before = list(log.handlers), log.level
    assert run("-vv", "info").exit_code == 0
    assert (list(log.handlers), log.level) == before


def test_the_script_runs_in_a_pipe():
    done = subprocess.run(
        [sys.executable, "-c", "from gramian.cli.main import main; main()", "info"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert b"\x1b" not in done.stdout
    assert gramian.__version__.encode() in done.stdout
