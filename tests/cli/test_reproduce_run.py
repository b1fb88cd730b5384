"""Folders of records: the one that is named, that of the current folder, and that of the repository."""

import pytest

import gramian.cli.reproduce_run as module
from gramian.cli.reproduce_run import find_records


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def repository(elsewhere, monkeypatch):
    """A clone in another folder, from which gramian is imported."""
    clone = elsewhere / "clone"
    (clone / "src/gramian").mkdir(parents=True)
    (clone / "reproduction/records").mkdir(parents=True)
    monkeypatch.setattr(module.gramian, "__file__", str(clone / "src/gramian/__init__.py"))
    return clone / "reproduction"


def test_a_named_folder_is_used_without_a_word(elsewhere, repository, capsys):
    assert find_records(elsewhere / "mine", reads=True).folder == elsewhere / "mine"
    assert capsys.readouterr().err == ""


def test_a_list_finds_the_records_of_the_repository(elsewhere, repository, capsys):
    assert find_records(None, reads=True).folder == repository
    assert f"the verdicts are those of {repository}" in capsys.readouterr().err


def test_a_run_writes_here(elsewhere, repository, capsys):
    assert str(find_records(None, reads=False).folder) == "reproduction"
    assert capsys.readouterr().err == ""


def test_records_here_come_first(elsewhere, repository, capsys):
    (elsewhere / "reproduction/records").mkdir(parents=True)
    assert str(find_records(None, reads=True).folder) == "reproduction"
    assert capsys.readouterr().err == ""


def test_without_any_records_the_sentence_says_where_they_are(elsewhere, repository, capsys):
    (repository / "records").rmdir()
    assert str(find_records(None, reads=True).folder) == "reproduction"
    assert "in the repository of gramian has the recorded runs" in capsys.readouterr().err
