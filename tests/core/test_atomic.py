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


@pytest.mark.skipif(os.name != "posix", reason="permissions by umask")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_permissions_of_a_file_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        atomic_write(tmp_path / "page.html", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o666 & ~umask


def test_text_that_cannot_be_encoded_leaves_the_old_file(tmp_path):
    path = tmp_path / "new" / "page.html"
    atomic_write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        atomic_write(path, "\ud800")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
