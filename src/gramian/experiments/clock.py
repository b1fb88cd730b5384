"""How long the rest of a run will take, judged by the cells that are done: they differ by orders of magnitude."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from statistics import fmean

from gramian.experiments.store import Cell, Record


class Clock:
    """Estimates the seconds that are left.

    A cell is taken to last as long as others of the same spec (other seeds), else of the same experiment, else as all
    on average; the cells are shared out over the workers.

    Parameters
    ----------
    waiting : sequence of Cell
    finished : iterable of Record
        Of earlier runs.
    jobs : int
    """

    def __init__(self, waiting: Sequence[Cell], finished: Iterable[Record], jobs: int):
        self._left = {cell.key: (cell.experiment.id, _spec_name(cell.head())) for cell in waiting}
        self._jobs = jobs
        self._since = time.monotonic()
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        for record in finished:
            self._learn(record)

    def tick(self, record: Record) -> None:
        """A cell is done."""
        self._left.pop(record["key"], None)
        self._since = time.monotonic()
        self._learn(record)

    def left(self) -> float | None:
        """Seconds until the end, None while nothing is known."""
        if () not in self._seconds:
            return None
        expected = [self._expected(*names) for names in self._left.values()]
        workers = min(self._jobs, len(expected)) or 1
        # The last cell cannot be shared out; what has passed since the last answer is work that is done.
        whole = max(sum(expected) / workers, max(expected, default=0.0))
        return max(0.0, whole - (time.monotonic() - self._since))

    def _learn(self, record: Record) -> None:
        if not record["error"]:
            id, spec = record["experiment"], _spec_name(record)
            for names in ((), (id,), (id, spec)):
                self._seconds.setdefault(names, []).append(record["seconds"])

    def _expected(self, id: str, spec: str) -> float:
        known = next(self._seconds[names] for names in ((id, spec), (id,), ()) if names in self._seconds)
        return fmean(known)


def _spec_name(record: Record) -> str:
    return f"{record['class']} {record['spec']}"
