"""Files are written completely or not at all."""

import os

import pytest

from gramian.core.atomic import atomic_write


@pytest.mark.skipif(os.name != "posix", reason="permissions by umask")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_permissions_of_a_file_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        atomic_write(tmp_path / "page.html", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "new" / "page.html"
    atomic_write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        atomic_write(path, "\ud800")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
