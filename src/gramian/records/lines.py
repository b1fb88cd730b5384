"""A store that keeps all records in one file of JSON lines."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gramian.core.atomic import append_bytes
from gramian.records.cell import Record, WorkCell
from gramian.records.store import Store

log = logging.getLogger(__name__)


class LinesStore(Store):
    """One JSON object per line; only the parent process writes, one whole line at a time.

    Parameters
    ----------
    path : path
        Created, with its folder, when the first record is written.

    >>> LinesStore("nowhere.jsonl").all()
    []
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def find(self, cells: Iterable[WorkCell]) -> dict[str, Record]:
        """Return the records of these cells by key; of several with the same key the last."""
        stored = {record["key"]: record for record in self.all()}
        return {key: stored[key] for key in (cell.key for cell in cells) if key in stored}

    def put(self, record: Mapping[str, Any]) -> Record:
        """Append a record as a new line, and return it."""
        line = json.dumps(dict(record)) + "\n"
        if not _ends_a_line(self.path):  # an interrupt has cut the last line short
            line = "\n" + line
        append_bytes(self.path, line.encode())
        return dict(record)

    def all(self) -> list[Record]:
        """Return the records in the order of the file; an incomplete line is skipped with a warning."""
        if not self.path.exists():
            return []
        found: list[Record] = []
        for number, line in enumerate(self.path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                if line.strip():
                    log.warning("%s, line %d is not a whole record and is skipped", self.path, number)
                continue
            if isinstance(record, dict) and "key" in record:
                found.append(record)
        return found


def _ends_a_line(path: Path) -> bool:
    if not path.is_file() or path.stat().st_size == 0:
        return True
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
