"""Writing of files: as a whole or not at all, and only where the user's path is a regular file or a new name.

Every writer of the library goes through :func:`atomic_write`, :func:`atomic_file` or :func:`append_bytes`.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_SPECIAL = (
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def check_target(path: Path) -> Path:
    """Return the file that a path leads to, links followed; raise an error if it exists and is not a regular file.

    A device, a named pipe or a socket would be replaced by a file of that name, and lost.

    >>> check_target(Path("/dev/null"))  # doctest: +SKIP
    Traceback (most recent call last):
    ValueError: /dev/null is a device, which would be lost: name a new file, or a regular file to be replaced
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    except NotADirectoryError as error:
        raise NotADirectoryError(
            f"{path} cannot be written: a part of the path before its name is no folder"
        ) from error
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder: name a file in it, such as {path / 'model.gramian'}")
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _SPECIAL if is_kind(mode)), "not a regular file")
        raise ValueError(f"{path} is {kind}, which would be lost: name a new file, or a regular file to be replaced")
    return Path(os.path.realpath(path))


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of ``path`` at the end of the block; after an error nothing has changed.

    An error of the disk names ``path``, not the temporary file beside it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder, "a.txt")) as file:
    ...         _ = file.write(b"text")
    ...     Path(folder, "a.txt").read_text()
    'text'
    """
    target = check_target(path)
    with _temporary(path, target) as temporary:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)


def check_folder(path: Path) -> None:
    """Raise an error that names ``path`` if no file can be created in its folder, by creating one and removing it."""
    with _temporary(path, check_target(path)) as temporary:
        open(temporary, "xb").close()


@contextmanager
def _temporary(path: Path, target: Path) -> Iterator[Path]:
    """Give the name of a file beside the target, which is removed at the end if it is still there."""
    # The tempfile module is no option: only the owner may read its files, whereas here the umask decides.
    temporary = target.parent / f".{uuid.uuid4().hex}.part"
    try:
        yield temporary
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write a file, and create its folder if missing; a reader sees the old content or the new one, never a part.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder, "new", "a.txt"), "text")
    ...     Path(folder, "new", "a.txt").read_text()
    'text'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def append_bytes(path: Path, content: bytes) -> None:
    """Append to a regular file, which is created with its folder if missing, and wait until the disk has it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for line in (b"a\\n", b"b\\n"):
    ...         append_bytes(Path(folder, "new", "a.txt"), line)
    ...     Path(folder, "new", "a.txt").read_bytes()
    b'a\\nb\\n'
    """
    target = check_target(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
