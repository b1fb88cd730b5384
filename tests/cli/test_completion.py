"""Completion of commands, options, files and columns in shells."""

import subprocess
from pathlib import Path

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

    @pytest.mark.parametrize(
        "words", [("predict", "m.gramian", "t.csv", "--keep"), ("predict", "m.gramian", "t.csv", "--id")]
    )
    def test_columns_to_keep_are_those_of_the_table_and_not_of_the_model(self, folder, words):
        assert [value for _, value in self.offered(*words, incomplete="r")] == ["rooms", "rent"]

    @pytest.mark.parametrize("content", ["area;rooms;rent\n1;2;3\n", "area\trooms\trent\n", "area,rooms,rent"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_any_text_that_the_reader_reads(self, folder, content, encoding):
        Path("t.csv").write_text(content, encoding=encoding)
        assert [value for _, value in self.offered("fit", "t.csv", "--target")] == ["area", "rooms", "rent"]

    def test_a_table_without_names_has_numbered_columns(self, folder):
        made = self.offered("predict", "m.gramian", "t.csv", "--no-header", "--keep")
        assert [value for _, value in made] == ["x0", "x1", "x2"]

    @pytest.mark.parametrize("name", ["no.csv", "folder.csv", "broken.csv.gz", "t.parquet", "zeros.csv"])
    def test_what_cannot_be_read_has_no_columns(self, folder, name):
        Path("folder.csv").mkdir()
        Path("broken.csv.gz").write_bytes(b"no gzip")
        Path("t.parquet").write_bytes(b"PAR1")
        Path("zeros.csv").write_bytes(b"a\0\0b" * 9)
        assert self.offered("fit", name, "--target") == []
