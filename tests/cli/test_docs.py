"""The commands in the document on the command line run, and say what it shows (numbers and bars aside)."""

import doctest
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gramian.cli.main import cli

DOCUMENT = Path(__file__).parents[2] / "docs/cli.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")
SLOW = ("demo",)
"""Commands of two minutes, which have tests of their own with fewer rows."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the document's code writes."""
    pytest.importorskip("pandas")
    place = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        result = doctest.testfile(str(DOCUMENT), module_relative=False)
        assert result.attempted >= 5
        assert result.failed == 0
        yield place
    sys.modules.pop("small_net", None)


def run(*arguments):
    return CliRunner().invoke(cli, list(arguments))


def words(text: str) -> list[str]:
    """Words of a text without numbers and drawings; lines folded together."""
    return re.findall(r"[A-Za-z_]{3,}", text)


def test_the_commands_say_what_the_document_shows(folder):
    blocks = re.findall(r"```console\n(.*?)```", TEXT, flags=re.DOTALL)
    commands = [part for block in blocks for part in re.split(r"^\$ gramian ", block, flags=re.MULTILINE)[1:]]
    shown_commands = {part.split()[0] for part in commands}
    assert shown_commands == set(cli.commands) - {"picture"}, "every command has an example"
    for part in commands:
        command, _, shown = part.partition("\n")
        if command.startswith(SLOW):
            continue
        result = run(*shlex.split(command))
        if shown.startswith("Error:"):
            assert result.stderr == shown
            assert result.exit_code == 1
        else:
            assert result.exit_code == 0, result.output
            missing = set(words(shown)) - set(words(result.stdout))
            assert not missing, f"{command}: the document shows {missing}"


FIT = "fit patients.csv --target progression --out j.gramian --preset fast --test-size 0"


@pytest.mark.parametrize(
    "command",
    [
        FIT,
        "predict j.gramian new.csv",
        "predict j.gramian new.csv --out p.csv",
        "explain j.gramian new.csv",
        "report j.gramian",
        "inspect early.pt --model small_net:make --data test.npz",
        "inspect early.pt late.ckpt --model small_net:make --data test.npz",
        "info",
        "reproduce --list d/table2",
        "bench tables --list",
    ],
)
def test_the_keys_of_the_json_are_those_of_the_document(folder, command):
    if "j.gramian" in command and not Path("j.gramian").exists():
        assert run(*FIT.split()).exit_code == 0
    name = "bench tables" if command.startswith("bench") else command.split()[0]
    row = re.search(rf"^\| `{name}` \| (.*) \|$", TEXT, flags=re.MULTILINE)[1]
    result = run(*command.split(), "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    keys = set(found[0] if isinstance(found, list) else found) - {"gramian"}
    assert keys
    assert keys <= set(re.findall(r"`(\w+)`", row))
