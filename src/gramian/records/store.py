"""Stores of records, and the one that keeps every record in a small JSON file of its own."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gramian.core.atomic import atomic_write
from gramian.records.cell import Record, WorkCell
from gramian.records.json_values import from_json, to_json

log = logging.getLogger(__name__)


class Store(ABC):
    """Records on disk, found by the keys of their cells."""

    @abstractmethod
    def find(self, cells: Iterable[WorkCell]) -> dict[str, Record]:
        """Return the stored records of these cells by key, those of failures included."""

    @abstractmethod
    def put(self, record: Mapping[str, Any]) -> Record:
        """Write a record, and return it as it will be read."""

    @abstractmethod
    def all(self) -> list[Record]:
        """Return all records; damaged ones are skipped with a warning."""

    def get(self, cell: WorkCell) -> Record | None:
        """Return the record of a cell, or None."""
        return self.find([cell]).get(cell.key)


class FolderStore(Store):
    """One JSON file for every record: ``folder/records/<group>/<key>.json``.

    Folders can be joined by copying files. A file is written atomically.

    Parameters
    ----------
    folder : path
        Created when the first record is written.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    @abstractmethod
    def group(self, record: Mapping[str, Any]) -> str:
        """Return the sub-folder of a record, from the part that :meth:`WorkCell.head` returns."""

    @abstractmethod
    def restore(self, values: dict[str, Any]) -> Record | None:
        """Return the record whose values were read from a file, or None where fields of a record are missing."""

    @property
    def root(self) -> Path:
        """The folder of the files."""
        return self.folder / "records"

    def path(self, cell: WorkCell) -> Path:
        """Return the file of a cell's record, which need not exist."""
        return self._path(cell.head())

    def find(self, cells: Iterable[WorkCell]) -> dict[str, Record]:
        """Return the stored records of these cells by key, those of failures included."""
        found = {}
        for cell in cells:
            path = self.path(cell)
            record = self._read(path) if path.exists() else None
            if record is not None:
                found[cell.key] = record
        return found

    def put(self, record: Mapping[str, Any]) -> Record:
        """Write a record atomically, and return it as it will be read."""
        written = to_json(record)
        # One line for each entry: readable, and a change of one entry is a change of one line.
        lines = [f"{json.dumps(name)}: {json.dumps(written[name], allow_nan=False)}" for name in record]
        atomic_write(self._path(record), "{\n" + ",\n".join(lines) + "\n}\n")
        restored: Record = from_json(written)
        return restored

    def all(self) -> list[Record]:
        """Return all records, by group and key; files that hold no record are skipped with a warning."""
        return list(self.records_in("*/*"))

    def records_in(self, group: str) -> Iterator[Record]:
        """Yield the records of a group (or of all groups that match a pattern), by key."""
        for path in sorted(self.root.glob(f"{group}/*.json")):
            record = self._read(path)
            if record is not None:
                yield record

    def modified(self, group: str) -> float:
        """Return the time of the last change of a group's records, as ``Path.stat`` gives it; 0 without records."""
        return max((path.stat().st_mtime for path in self.root.glob(f"{group}/*.json")), default=0.0)

    def merge(self, other: str | Path) -> int:
        """Copy the records of another folder; an existing record is replaced only if it is that of a failure.

        Parameters
        ----------
        other : path
            The folder of another store, or its sub-folder ``records``.

        Returns
        -------
        int
            The number of records copied.
        """
        other = Path(other)
        source = type(self)(other.parent if other.name == "records" else other)
        if not source.root.is_dir():
            raise ValueError(f"{other} holds no folder 'records': give the --out folder of the other run")
        copied = 0
        for record in source.all():
            path = self._path(record)
            ours = self._read(path) if path.exists() else None
            if ours is None or (ours["error"] and not record["error"]):
                self.put(record)
                copied += 1
        return copied

    def _path(self, record: Mapping[str, Any]) -> Path:
        return self.root / self.group(record) / f"{record['key']}.json"

    def _read(self, path: Path) -> Record | None:
        try:
            values = from_json(json.loads(path.read_text(encoding="utf-8")))
        except (json.JSONDecodeError, UnicodeDecodeError):
            values = None
        record = self.restore(values) if isinstance(values, dict) else None
        # A record that names another place than its own is not copied there: it may be outside the folder.
        if record is None or self._path(record) != path:
            log.warning("%s is not a record and is skipped", path)
            return None
        return record
