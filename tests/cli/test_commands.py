"""The commands as a user runs them: output, errors, pipes, JSON, figures."""

import json
import logging
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import gramian
from gramian.cli.main import cli


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(cli, [str(a) for a in arguments])


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"gramian {gramian.__version__}\n"


def test_help_lists_the_commands_and_hides_the_picture(run):
    text = run("--help").output
    assert "demo" in text
    assert "info" in text
    assert "picture" not in text


def test_info(run):
    text = run("info").output
    assert gramian.__version__ in text
    assert "torch" in text
    assert "threads" in text


def test_info_as_json(run):
    facts = json.loads(run("info", "--json").output)
    assert facts["gramian"] == gramian.__version__
    assert facts["packages"]["torch"]
    assert facts["free_bytes"] >= facts["budget_bytes"] > 0


def test_verbose_logs_and_leaves_no_handler_behind(run, monkeypatch, tmp_path):
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
