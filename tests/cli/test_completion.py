"""Completion of commands, options, files and columns in shells."""

import subprocess

import pytest
from click.shell_completion import ShellComplete

from gramian.cli.main import cli


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("area,rooms,rent\n1,2,3\n")


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_every_shell_gets_its_script(self, run, shell):
        text = run("completion", shell).output
        assert f"_GRAMIAN_COMPLETE={shell}_complete" in text
        assert run("completion", "cmd").exit_code == 2

    def test_bash_takes_the_script(self, run, tmp_path):
        script = tmp_path / "gramian.bash"
        script.write_text(run("completion", "bash").output)
        subprocess.run(["bash", "-n", script], check=True)

    def offered(self, *args, incomplete=""):
        made = ShellComplete(cli, {}, "gramian", "_GRAMIAN_COMPLETE").get_completions(list(args), incomplete)
        return [(item.type, item.value) for item in made]

    def test_commands_options_files_and_columns(self, folder):
        assert ("plain", "inspect") in self.offered(incomplete="in")
        assert ("plain", "--target") in self.offered("fit", incomplete="--t")
        assert self.offered("predict", "m.gramian") == [("file", "")]
        assert self.offered("fit", "t.csv", "--out") == [("file", "")]
        assert self.offered("inspect", "--data") == [("file", "")]
        assert [value for _, value in self.offered("fit", "t.csv", "--target", incomplete="r")] == ["rooms", "rent"]
        assert [value for _, value in self.offered("fit", "t.csv", "--drop")] == ["area", "rooms", "rent"]
        assert [value for _, value in self.offered("report", "m.gramian", "--data", "t.csv", "--target")] != []
        assert self.offered("fit", "no.csv", "--target") == []
