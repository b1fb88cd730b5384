"""Text files that are complete at any moment."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def atomic_write(path: Path, text: str) -> None:
    """Write a file, and its folder where missing; a reader sees the old text or the new one, never a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not with tempfile: only the owner may read its files, whereas here the umask decides.
    temporary = path.parent / f"{uuid.uuid4().hex}.part"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
