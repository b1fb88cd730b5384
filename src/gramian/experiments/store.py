"""Records: one small JSON file for every cell of work that was done, named by a hash of what decides its result.

Folders of records can be joined by copying files. A file is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from gramian.core.atomic import atomic_write
from gramian.experiments.registry import Experiment

log = logging.getLogger(__name__)
Record = dict[str, Any]
"""``key``, ``experiment``, ``version``, ``class`` and ``spec`` (its fields), ``seed``, ``numbers``, ``arrays``,
``error`` (None, or what went wrong), ``missing`` (whether it was data that is not at hand), ``seconds``, ``finished``
(the time), ``versions``, ``machine``."""
_DIGITS = 6
"""Significant digits of arrays: more than a figure shows."""
_UNORDINARY = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plain(value: Any, digits: int | None = None) -> Any:
    """The value as JSON has it: lists, dicts with sorted keys, and floats that are no number as ``"nan"``, ``"inf"``.

    >>> plain({"b": (1, float("nan")), "a": 1 / 3}, digits=3)
    {'a': 0.333, 'b': [1, 'nan']}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return float(value) if digits is None else float(f"{value:.{digits}g}")
    if is_dataclass(value) and not isinstance(value, type):
        return plain({"class": type(value).__name__} | {f.name: getattr(value, f.name) for f in fields(value)}, digits)
    if isinstance(value, Mapping):
        return {str(key): plain(value[key], digits) for key in sorted(value, key=str)}
    if hasattr(value, "tolist"):  # arrays and tensors, and their scalars
        return plain(value.tolist(), digits)
    if isinstance(value, Sequence):
        return [plain(entry, digits) for entry in value]
    raise ValueError(f"a record holds numbers, text, lists and dicts; {type(value).__name__} is none of them")


def lively(value: Any) -> Any:
    """The reverse of :func:`plain`: ``"nan"`` and its kin are floats again.

    >>> lively(["nan", "name", -1.0])
    [nan, 'name', -1.0]
    """
    if isinstance(value, str):
        return _UNORDINARY.get(value, value)
    if isinstance(value, list):
        return [lively(entry) for entry in value]
    if isinstance(value, dict):
        return {key: lively(entry) for key, entry in value.items()}
    return value


def measured(numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and arrays as a record has them: floats, and arrays of six digits.

    >>> measured({"rho": 1}, {"curve": [0.123456789, 2]})
    {'numbers': {'rho': 1.0}, 'arrays': {'curve': [0.123457, 2]}}
    """
    return {
        "numbers": plain({name: float(value) for name, value in numbers.items()}),
        "arrays": plain(arrays, _DIGITS),
    }


@dataclass(frozen=True)
class Cell:
    """One piece of work: an experiment, one of its specs, a seed."""

    experiment: Experiment
    spec: Any
    seed: int

    @property
    def key(self) -> str:
        """The first 24 digits of the sha256 of id, version, the spec's class and fields, and the seed, as JSON."""
        what = {
            "experiment": self.experiment.id,
            "version": self.experiment.version,
            "spec": plain(self.spec),
            "seed": self.seed,
        }
        return hashlib.sha256(json.dumps(what, sort_keys=True, allow_nan=False).encode()).hexdigest()[:24]

    def head(self) -> Record:
        """The part of the record that is known before anything has run."""
        spec = plain(self.spec)
        return {
            "key": self.key,
            "experiment": self.experiment.id,
            "version": self.experiment.version,
            "class": spec.pop("class"),
            "spec": lively(spec),
            "seed": self.seed,
        }


def cells(experiment: Experiment, scale: str, seeds: int | None = None) -> list[Cell]:
    """The cells of a scale, all specs of one seed before the next; ``seeds`` many, or the experiment's own number."""
    count = experiment.seeds[scale] if seeds is None else seeds
    return [Cell(experiment, spec, seed) for seed in range(count) for spec in experiment.specs[scale]]


class Store:
    """The records in ``folder/records``, one file each.

    Parameters
    ----------
    folder : path
        Need not exist before something is written.

    >>> Store("nowhere").all()
    []
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Where the record of the cell is, or would be."""
        return self._path(cell.experiment.id, cell.key)

    def get(self, cell: Cell) -> Record | None:
        """The record of a cell, perhaps of its failure; None if there is none."""
        path = self.path(cell)
        return self._read(path) if path.exists() else None

    def put(self, record: Mapping[str, Any]) -> Record:
        """Write a record, whole or not at all, and return it as it can be read again."""
        written = plain(record) | measured(record["numbers"], record["arrays"])
        # One line for each entry: short for people, and a change of one entry is a change of one line.
        lines = [f"{json.dumps(name)}: {json.dumps(written[name], allow_nan=False)}" for name in record]
        atomic_write(self._path(record["experiment"], record["key"]), "{\n" + ",\n".join(lines) + "\n}\n")
        return lively(written)

    def all(self) -> list[Record]:
        """All records, by experiment and key; files that are none are left out with a warning."""
        return list(self._every())

    def of(self, experiment: Experiment, scale: str) -> list[Record]:
        """Finished and failed records of the specs of a scale and of the experiment's version, for every seed there is.

        Ordered by spec, as the experiment has them, and seed.
        """
        places: dict[str, int] = {}
        for spec in experiment.specs[scale]:
            head = Cell(experiment, spec, 0).head()
            places.setdefault(_identity(head), len(places))
        found = [
            record
            for record in self._every(experiment.id)
            if record["version"] == experiment.version and _identity(record) in places
        ]
        return sorted(found, key=lambda record: (places[_identity(record)], record["seed"]))

    def newest(self, id: str) -> float:
        """When a record of the experiment was last written, in seconds as ``Path.stat`` has it; 0 if there is none."""
        return max((path.stat().st_mtime for path in self.root.glob(f"{id}/*.json")), default=0.0)

    def merge(self, other: str | Path) -> int:
        """Take over the records of another folder, and return how many; ours stay unless they are failures.

        The other may be the folder of a store or its ``records``.
        """
        other = Path(other)
        source = Store(other.parent if other.name == "records" else other)
        if not source.root.is_dir():
            raise ValueError(f"{other} holds no folder 'records': give the --out folder of the other run")
        taken = 0
        for record in source._every():
            path = self._path(record["experiment"], record["key"])
            ours = self._read(path) if path.exists() else None
            if ours is None or (ours["error"] and not record["error"]):
                self.put(record)
                taken += 1
        return taken

    @property
    def root(self) -> Path:
        """The folder of the files."""
        return self.folder / "records"

    def _path(self, id: str, key: str) -> Path:
        return self.root / id / f"{key}.json"

    def _every(self, id: str | None = None) -> Iterator[Record]:
        for path in sorted(self.root.glob(f"{id or '*/*'}/*.json")):
            record = self._read(path)
            if record is not None:
                yield record

    @staticmethod
    def _read(path: Path) -> Record | None:
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(record, dict) and {"key", "experiment", "spec", "numbers", "error"} <= set(record):
                return lively({"missing": False} | record)  # the first records were made before there was such a field
        except (json.JSONDecodeError, UnicodeDecodeError):
            pass
        log.warning("%s is not a record and is left out", path)
        return None


def _identity(record: Mapping[str, Any]) -> str:
    return json.dumps([record["class"], plain(record["spec"])], sort_keys=True)
