"""Files are replaced as a whole or not at all."""

import os
import re
import socket
from pathlib import Path

import pytest

import gramian
from gramian.core.atomic import append_bytes, atomic_file, atomic_write, check_folder, check_target
from gramian.files import write

WRITERS = [
    lambda path: atomic_write(path, "text"),
    lambda path: atomic_file(path).__enter__(),
    lambda path: append_bytes(path, b"text"),
    lambda path: write(1, path),
    check_target,
]


def special_files(folder):
    """A named pipe, a socket and, where the user may, a device."""
    os.mkfifo(folder / "pipe")
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.relpath(folder / "socket"))
    server.close()
    try:
        os.mknod(folder / "device", 0o20666, os.makedev(1, 3))
    except PermissionError:
        return ["pipe", "socket"]
    return ["pipe", "socket", "device"]


@pytest.mark.skipif(os.name != "posix", reason="special files of POSIX")
@pytest.mark.parametrize("writer", WRITERS)
def test_special_files_are_refused_and_remain(tmp_path, writer, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in special_files(tmp_path):
        (tmp_path / f"link to {name}").symlink_to(tmp_path / name)
        for path in (tmp_path / name, tmp_path / f"link to {name}"):
            before = os.stat(path)
            with pytest.raises(ValueError, match=rf"{path.name} is a (named )?{name}, which would be lost: name a new"):
                writer(path)
            assert os.stat(path) == before
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        writer(tmp_path / "folder")
    assert not list(tmp_path.glob("*.part"))


def test_links_are_followed_and_remain(tmp_path):
    (tmp_path / "link").symlink_to("file")  # the file does not exist yet
    atomic_write(tmp_path / "link", "one")
    append_bytes(tmp_path / "link", b" two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "one two"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nothing can be created")
@pytest.mark.parametrize("writer", [WRITERS[0], WRITERS[3], check_folder])
def test_an_error_names_the_path_and_not_the_temporary_file(writer):
    with pytest.raises(OSError, match=r"cannot be written: .*'/proc/new\.file'") as caught:
        writer(Path("/proc/new.file"))
    assert caught.value.filename == "/proc/new.file"
    assert ".part" not in str(caught.value)


def test_every_writer_of_the_library_goes_through_this_module():
    """Files are opened for writing in one module; exceptions have a reason."""
    pattern = re.compile(
        r"""open\([^()]*(\([^()]*\))?[^()]*["'][wax]b?\+?["']|\.write_(text|bytes)\(|os\.replace|os\.rename"""
        r"""|(to_csv|to_parquet|savefig|save_file|np\.save)\((?!\)|buffer|stream|sys\.stdout|\s*file,|index)"""
    )
    root = Path(gramian.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        code = "\n".join(line for line in path.read_text(encoding="utf-8").split("\n") if ">>>" not in line)
        if pattern.search(code):
            found.add(str(path.relative_to(root)))
    assert found == {"core/atomic.py", "core/workers.py"}  # the second opens the null device to silence a child


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
