"""Run cells in worker processes and keep their records: what is finished is never done again."""

from __future__ import annotations

import logging
import math
import os
import pickle
import platform
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gramian.core.error_text import without_folders
from gramian.core.version import __version__
from gramian.core.workers import Lost, in_workers
from gramian.experiments import papers
from gramian.experiments.registry import Result
from gramian.experiments.store import Cell, Record, Store, measured

log = logging.getLogger(__name__)


def run(
    todo: Iterable[Cell],
    store: Store,
    *,
    jobs: int = 1,
    keep_failed: bool = False,
    time_limit: float = math.inf,
    begin: Callable[[list[Cell], list[Record]], Any] = lambda waiting, finished: None,
    tick: Callable[[Record], Any] = lambda record: None,
) -> list[Record]:
    """Run the cells that have no record yet, and return the records of all.

    Parameters
    ----------
    todo : iterable of Cell
    store : Store
        Gets each record as soon as it is there: an interrupt costs the cells at work and nothing else.
    jobs : int
        Worker processes, of one thread each.
    keep_failed : bool
        Leave failures as they are; otherwise cells that failed before are run again.
    time_limit : float
        Seconds after which a cell counts as failed.
    begin : function
        Called once with the cells that will run and the records that are there.
    tick : function
        Called with each new record.
    """
    finished: list[Record] = []
    waiting: list[Cell] = []
    for cell in todo:
        record = store.get(cell)
        if record is None or (record["error"] and not keep_failed):
            waiting.append(cell)
        else:
            finished.append(record)
    begin(waiting, finished)
    by_key = {cell.key: cell for cell in waiting}  # a spec may be in twice
    items = ((key, c.experiment.id, _travelling(c.experiment.run), c.spec, c.seed) for key, c in by_key.items())
    answers = in_workers(run_item, items, jobs=jobs, time_limit=time_limit)
    with closing(answers):
        for (key, *_), answer in answers:
            if isinstance(answer, Lost):
                answer = _nothing(answer.error, answer.seconds)
            record = store.put(by_key[key].head() | answer | _circumstances())
            _say(record)
            finished.append(record)
            tick(record)
    return finished


def run_item(item: tuple[str, str, Callable[[Any, int], Result] | None, Any, int]) -> Record:
    """What a worker does: run one cell and time it. What it raises is recorded by the parent."""
    _, id, function, spec, seed = item
    function = papers.find(id).run if function is None else function
    begin = time.perf_counter()
    try:
        result = function(spec, seed)
    except FileNotFoundError as error:  # data that this machine does not have
        why = without_folders(str(error))
        return _nothing(why, time.perf_counter() - begin, missing=True)
    if not isinstance(result, Result):
        raise TypeError(f"the run of {id} must return a Result, got {type(result).__name__}")
    seconds = round(time.perf_counter() - begin, 3)
    return measured(result.numbers, result.arrays) | {"error": None, "missing": False, "seconds": seconds}


def _nothing(error: str, seconds: float, missing: bool = False) -> Record:
    return {"numbers": {}, "arrays": {}, "error": error, "missing": missing, "seconds": round(seconds, 3)}


def _travelling(function: Any) -> Any:
    """The function, if it can travel to another process; else None: the process finds it by its id."""
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return function


def _circumstances() -> Record:
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "gramian": __version__,
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "machine": {"cores": os.cpu_count(), "cpu": _cpu_name()},
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _say(record: Record) -> None:
    outcome = f"failed: {record['error']}" if record["error"] else f"{len(record['numbers'])} numbers"
    log.info("%s seed %d: %s, %.1f s", record["experiment"], record["seed"], outcome, record["seconds"])
