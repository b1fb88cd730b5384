"""The commands in the document on the command line run, and say what it shows (numbers and bars aside)."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import gramian
from gramian.cli.main import cli

DOCUMENT = Path(__file__).parents[2] / "docs/cli.md"


def words(text: str) -> list[str]:
    """Words of a text without numbers and drawings; lines folded together."""
    return re.findall(r"[A-Za-z_]{3,}", text)


def test_the_commands_say_what_the_document_shows(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert result.attempted >= 5
    assert result.failed == 0
    blocks = re.findall(r"```console\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), flags=re.DOTALL)
    commands = [part for block in blocks for part in re.split(r"^\$ gramian ", block, flags=re.MULTILINE)[1:]]
    assert len(commands) >= 5
    for part in commands:
        command, _, shown = part.partition("\n")
        if command.startswith("explain") and not hasattr(gramian.RFMRegressor, "explain"):
            continue
        result = CliRunner().invoke(cli, shlex.split(command))
        if shown.startswith("Error:"):
            assert result.stderr == shown
            assert result.exit_code == 1
        else:
            assert result.exit_code == 0, result.output
            missing = set(words(shown)) - set(words(result.stdout))
            assert not missing, f"{command}: the document shows {missing}"
