"""Files are replaced as a whole or not at all."""

import os

import pytest

from gramian.core.atomic import atomic_write


def test_folders_are_created_and_files_replaced(tmp_path):
    path = tmp_path / "a" / "b.txt"
    atomic_write(path, "naïve")
    atomic_write(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    atomic_write(path, "old")

    def fail(source, target):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
