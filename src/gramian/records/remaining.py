"""Estimate of the time that a run still needs; cells differ in duration by orders of magnitude."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from gramian.core.clock import Clock
from gramian.records.cell import Record, WorkCell


class RemainingTime:
    """Estimate the seconds until all waiting cells are finished.

    The expected duration of a cell is the mean over finished cells of its smallest group (see :meth:`WorkCell.levels`)
    that has any, or over all finished cells. The cells are divided among the workers.

    Parameters
    ----------
    waiting : sequence of WorkCell
    finished : iterable of (WorkCell, Record)
        From earlier runs; failures are ignored.
    jobs : int
        Number of worker processes.
    """

    def __init__(self, waiting: Sequence[WorkCell], finished: Iterable[tuple[WorkCell, Record]], jobs: int):
        self._waiting = {cell.key: cell.levels() for cell in waiting}
        self._jobs = jobs
        self._since_last = Clock()
        self._durations: dict[tuple[str, ...], list[float]] = {}
        for cell, record in finished:
            self._learn(cell, record)

    def tick(self, cell: WorkCell, record: Record) -> None:
        """Take note of a finished cell."""
        self._waiting.pop(cell.key, None)
        self._since_last = Clock()
        self._learn(cell, record)

    def seconds(self) -> float | None:
        """Return the estimate, or None before the first cell has finished."""
        if not self._durations:
            return None
        expected = [self._expected(levels) for levels in self._waiting.values()]
        workers = min(self._jobs, len(expected)) or 1
        # The last cell cannot be divided; the time since the last answer is work already done.
        total = max(sum(expected) / workers, max(expected, default=0.0))
        return max(0.0, total - self._since_last.seconds)

    def _learn(self, cell: WorkCell, record: Record) -> None:
        if not record["error"]:
            for group in _groups(cell.levels()):
                self._durations.setdefault(group, []).append(cell.seconds(record))

    def _expected(self, levels: tuple[str, ...]) -> float:
        return fmean(next(self._durations[group] for group in _groups(levels) if group in self._durations))


def _groups(levels: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The nested groups of a cell, smallest first; the last contains every cell."""
    return [levels[:depth] for depth in range(len(levels), -1, -1)]
