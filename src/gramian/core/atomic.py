"""Text files that are whole at any moment."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def atomic_write(path: Path, text: str) -> None:
    """Write a file, with its folder: whoever reads it sees the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not by tempfile: its files are their owner's only, and what others may read is for the umask to say.
    temporary = path.parent / f"{uuid.uuid4().hex}.part"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
