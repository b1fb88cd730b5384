"""Resumable cells of work: run each once in a worker process, store its record, never repeat a finished one.

A :class:`WorkCell` is one unit of work with a key, a hash of everything that decides its result. :func:`run` runs the
cells that have no record yet, in worker processes with an optional time limit, and stores each record as soon as it is
complete: an interrupted run continues where it stopped, and a cell that raises, crashes or takes too long gets a record
of its failure. ``gramian bench`` and ``gramian reproduce`` are both built on this package.

May import ``core`` only. ``cell`` defines :class:`WorkCell` and its key, ``json_values`` the JSON form of values,
``store`` and ``lines`` the two stores (a folder of JSON files, a file of JSON lines), ``engine`` runs cells,
``remaining`` estimates the time that is left, ``provenance`` describes versions and hardware.

>>> from gramian.records import from_json, hash_key, to_json
>>> hash_key({"experiment": "d/table2", "seed": 0}, digits=8)
'f16f5c8b'
>>> from_json(to_json({"loss": float("inf")}))
{'loss': inf}
"""

from gramian.records.cell import Record, WorkCell, hash_key
from gramian.records.engine import run
from gramian.records.json_values import from_json, to_json
from gramian.records.lines import LinesStore
from gramian.records.provenance import provenance
from gramian.records.remaining import RemainingTime
from gramian.records.store import FolderStore, Store

__all__ = [
    "FolderStore",
    "LinesStore",
    "Record",
    "RemainingTime",
    "Store",
    "WorkCell",
    "from_json",
    "hash_key",
    "provenance",
    "run",
    "to_json",
]
