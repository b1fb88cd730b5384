"""Atomic writing of files."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def atomic_write(path: Path, content: str | bytes) -> None:
    """Write a file, and create its folder if missing; a reader sees the old content or the new one, never a part.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder, "new", "a.txt"), "text")
    ...     Path(folder, "new", "a.txt").read_text()
    'text'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The tempfile module is no option: only the owner may read its files, whereas here the umask decides.
    temporary = path.parent / f"{uuid.uuid4().hex}.part"
    try:
        with open(temporary, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
