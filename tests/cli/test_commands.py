"""The list of commands: help, version and completion import no numerical library."""

import json
import os
import signal
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import gramian
from gramian.cli.commands import ENTRIES
from gramian.cli.main import cli

HEAVY = ("torch", "sklearn", "scipy", "numpy", "matplotlib", "pandas")
RUN = f"""
import atexit, json, sys
from gramian.cli.main import main
atexit.register(lambda: print(json.dumps([m for m in {HEAVY} if m in sys.modules]), file=sys.stderr))
main()
"""


def heavy(*arguments, **environment) -> tuple[list[str], str]:
    """The libraries that a command imports in a process of its own, and what it prints."""
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return json.loads(done.stderr), done.stdout


def tab(words: str) -> dict[str, str]:
    """Return the variables that bash sets when Tab is pressed at the end of a line."""
    return {"_GRAMIAN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}


class TestNothingHeavy:
    def test_help(self):
        imported, text = heavy("--help")
        assert imported == []
        assert all(entry.short_help in text for entry in ENTRIES.values() if not entry.hidden)

    @pytest.mark.parametrize("command", [entry.name for entry in ENTRIES.values()])
    def test_help_of_a_command(self, command):
        imported, text = heavy(command, "--help")
        assert set(imported) <= {"numpy"}
        assert f"gramian {command}" in text

    def test_help_of_a_command_of_a_group(self):
        assert set(heavy("bench", "tables", "--help")[0]) <= {"numpy"}
        assert set(heavy("concept", "fit", "--help")[0]) <= {"numpy"}

    def test_version(self):
        assert heavy("--version") == ([], f"gramian {gramian.__version__}\n")

    def test_the_script_of_a_shell(self):
        imported, text = heavy("completion", "bash")
        assert imported == []
        assert "_GRAMIAN_COMPLETE" in text

    def test_tab_after_part_of_a_command(self):
        assert heavy(**tab("gramian in")) == ([], "plain,inspect\nplain,info\n")

    @pytest.mark.parametrize("words", ["gramian fit {} --target r", "gramian predict m.gramian {} --keep r"])
    def test_tab_after_part_of_a_column(self, tmp_path, words):
        (tmp_path / "t.csv").write_text("area,rent\n1,2\n")
        imported, text = heavy(**tab(words.format(tmp_path / "t.csv")))
        assert text == "plain,rent\n"
        assert set(imported) <= {"numpy"}

    def test_tab_after_part_of_an_experiment(self):
        imported, text = heavy(**tab("gramian reproduce d/theorem"))
        assert imported == []
        assert text.startswith("plain,d/theorem-3-1")

    def test_a_command_that_works_with_numbers_does_import_them(self):
        imported, _ = heavy("info")
        assert {"torch", "numpy"} <= set(imported), "or this file proves nothing"


WRONG = {
    "fit t.csv --target rents --out m.gramian": "did you mean 'rent'?",
    "fit t.csv --target rent --drop aera --out m.gramian": "did you mean 'area'?",
    "fit tt.csv --target rent --out m.gramian": "did you mean 't.csv'?",
    "fit t.txt --target rent --out m.gramian": "gives its format; use one of .csv",
    "fit t.csv --target rent --out m.gramian --presets fast": "No such option",
    "fit t.csv --target rent": "Missing option '--out'",
    "predict mm.gramian t.csv": "did you mean 'm.gramian'?",
    "predict m.gramian tt.csv": "did you mean 't.csv'?",
    "predict m.gramian t.csv --keep rents": "did you mean 'rent'?",
    "predict m.gramian t.csv --out p.txt": "gives its format; use one of .csv",
    "predict m.gramian t.xls": "save the table as .xlsx or .csv",
    "predict m.gramian t.csv --interval 2": "is not in the range",
    "explain mm.gramian t.csv": "did you mean 'm.gramian'?",
    "explain m.gramian tt.csv": "did you mean 't.csv'?",
    "report mm.gramian": "did you mean 'm.gramian'?",
    "report m.gramian --data t.csv --target rents": "did you mean 'rent'?",
    "inspect ww.pt": "did you mean 'w.pt'?",
    "inspect w.pt --out layers.txt": "must end in .csv, .json or .gramian",
    "inspect": "name a checkpoint",
    "reproduce d/tabel2": "did you mean d/table2",
    "reproduce --paper fast": "there is no paper 'fast'",
    "reproduce": "no experiment is given",
    "bench tables --suite uci": "is not one of 'uci-small'",
    "ft": "No such command",
}


@pytest.mark.parametrize(("words", "answer"), WRONG.items())
def test_mistakes_are_answered_without_torch(words, answer, tmp_path):
    (tmp_path / "t.csv").write_text("area,rent\n1,2\n")
    for name in ("m.gramian", "w.pt", "t.xls", "t.txt"):
        (tmp_path / name).write_bytes(b"")
    command = [sys.executable, "-c", RUN, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert answer in done.stderr
    assert not {"torch", "sklearn", "pandas"} & set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
class TestEveryEntry:
    def test_loads_the_command_of_its_name(self, entry):
        command = entry.load()
        assert isinstance(command, click.Command)
        assert command.name == entry.name
        context = click.Context(cli)
        assert cli.resolve_command(context, [entry.name, "--json"]) == (entry.name, command, ["--json"])

    def test_has_the_only_words_about_itself(self, entry):
        command = entry.load()
        assert command.short_help is None, "its line in the list is written in the table"
        assert not command.hidden
        assert len(entry.short_help) <= 60
        assert entry.short_help.endswith(".")

    def test_shows_its_help(self, entry):
        result = CliRunner().invoke(cli, [entry.name, "--help"])
        assert result.exit_code == 0
        assert result.output.startswith(f"Usage: cli {entry.name} ")
        assert " ".join(entry.load().help.split("\n\n")[0].split()) in " ".join(result.output.split())


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_while_a_command_is_imported(tmp_path):
    # A library that takes its time, in the place of one that does.
    (tmp_path / "torch.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = [sys.executable, "-c", "from gramian.cli.main import main; main()", "info"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, **pipes) as running:
        assert running.stdout.readline() == b"here\n"
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=300)
    assert (running.returncode, errors) == (130, b"Interrupted\n")
