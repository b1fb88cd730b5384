"""Run cells in worker processes and store their records; finished cells are never repeated."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from gramian.core.workers import Lost, in_workers
from gramian.records.cell import Record, WorkCell
from gramian.records.store import Store

log = logging.getLogger(__name__)
C = TypeVar("C", bound=WorkCell)


def run(
    cells: Iterable[C],
    store: Store,
    *,
    jobs: int = 1,
    keep_failed: bool = False,
    time_limit: float = math.inf,
    begin: Callable[[list[C], list[tuple[C, Record]]], object] = lambda waiting, finished: None,
    tick: Callable[[C, Record], object] = lambda cell, record: None,
) -> list[Record]:
    """Run the cells that have no record yet, and return the records of all.

    Parameters
    ----------
    cells : iterable of WorkCell
    store : Store
        Receives each record as soon as it is complete: an interrupt loses only the cells that are running.
    jobs : int
        Number of worker processes, of one thread each.
    keep_failed : bool
        Return the stored failures; by default cells that failed before run again.
    time_limit : float
        Seconds after which a cell counts as failed.
    begin : function
        Called once with the cells that will run and, for the others, pairs of cell and stored record.
    tick : function
        Called with each cell that has run and its new record.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after the workers have been stopped; finished records are in the store.
    """
    wanted = list(cells)
    stored = store.find(wanted)
    finished: list[tuple[C, Record]] = []
    waiting: list[C] = []
    for cell in wanted:
        record = stored.get(cell.key)
        if record is None or (record["error"] and not keep_failed):
            waiting.append(cell)
        else:
            finished.append((cell, record))
    begin(waiting, finished)
    records = [record for _, record in finished]
    by_key = {cell.key: cell for cell in waiting}  # equal cells run once
    items = ((key, cell.task()) for key, cell in by_key.items())
    call = _Call(frozenset(type(cell) for cell in waiting))
    with closing(in_workers(call, items, jobs=jobs, time_limit=time_limit)) as answers:
        for (key, _), answer in answers:
            cell = by_key[key]
            rest = cell.failure(answer.error, answer.seconds) if isinstance(answer, Lost) else answer
            record = store.put(cell.head() | rest)
            log.info("%s", cell.summary(record))
            records.append(record)
            tick(cell, record)
    return records


@dataclass(frozen=True)
class _Call:
    """Run one task in a worker; the engine records what it raises.

    A worker imports the modules of the cells' types with this object, before the time of its first task starts.
    """

    types: frozenset[type[WorkCell]]

    def __call__(self, item: tuple[str, Callable[[], Record]]) -> Record:
        return item[1]()
