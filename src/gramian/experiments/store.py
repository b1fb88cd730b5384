"""The store of the experiments' records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any, final

from gramian.experiments.cell import ExperimentCell, measured
from gramian.experiments.registry import Experiment
from gramian.records import FolderStore, Record, to_json

_TYPES: dict[str, type | tuple[type, ...]] = {
    "key": str,
    "experiment": str,
    "version": int,
    "class": str,
    "spec": dict,
    "seed": int,
    "numbers": dict,
    "arrays": dict,
    "seconds": (int, float),
    "error": (str, NoneType),
}


@final
class ExperimentStore(FolderStore):
    """The records in ``folder/records/<id>/<key>.json``.

    Parameters
    ----------
    folder : path
        Created when the first record is written.

    >>> ExperimentStore("nowhere").all()
    []
    """

    def group(self, record: Mapping[str, Any]) -> str:
        """Return the id of the record's experiment."""
        id: str = record["experiment"]
        return id

    def restore(self, values: dict[str, Any]) -> Record | None:
        """Return the record whose values were read from a file, or None where a field is missing or of another type."""
        if not set(values) >= set(_TYPES) or not all(isinstance(values[name], of) for name, of in _TYPES.items()):
            return None
        if not all(isinstance(number, (int, float)) for number in values["numbers"].values()):
            return None
        return {"missing": False} | values  # the oldest records have no field ``missing``

    def put(self, record: Mapping[str, Any]) -> Record:
        """Write a record atomically, arrays with six digits, and return it as it will be read."""
        return super().put({**record, **measured(record["numbers"], record["arrays"])})

    def of(self, experiment: Experiment, scale: str) -> list[Record]:
        """Return the records of a scale's specs and of the experiment's version, of all seeds, failures included.

        They are ordered by spec, as in the experiment, and seed.
        """
        places: dict[str, int] = {}
        for spec in experiment.specs[scale]:
            places.setdefault(spec_identity(ExperimentCell(experiment, spec, 0).head()), len(places))
        found = [
            record
            for record in self.records_in(experiment.id)
            if record["version"] == experiment.version and spec_identity(record) in places
        ]
        return sorted(found, key=lambda record: (places[spec_identity(record)], record["seed"]))


def spec_identity(record: Mapping[str, Any]) -> str:
    """Return the spec of a record as text: its class and its fields."""
    return json.dumps([record["class"], to_json(record["spec"])], sort_keys=True)
