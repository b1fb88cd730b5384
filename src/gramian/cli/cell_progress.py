"""Progress of a run of cells on the terminal, and the end of an interrupted run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from gramian.cli.interrupts import INTERRUPTED
from gramian.cli.log_lines import LogLines
from gramian.display import format_duration
from gramian.records import Record, RemainingTime, WorkCell


@dataclass(frozen=True)
class CellObserver:
    """The callbacks ``begin`` and ``tick`` of :func:`gramian.records.run`."""

    begin: Callable[[list[Any], list[tuple[Any, Record]]], object] = lambda waiting, finished: None
    tick: Callable[[WorkCell, Record], object] = lambda cell, record: None


@contextmanager
def cell_progress(what: str, jobs: int, out: Path) -> Iterator[CellObserver]:
    """Yield callbacks that draw a progress bar on a terminal, and write lines elsewhere; Ctrl-C ends with a message.

    Parameters
    ----------
    what : str
        Description of the run.
    jobs : int
        Number of worker processes.
    out : path
        File or folder of the records, for the message.
    """
    try:
        with _bar(what, jobs) as observer:
            yield observer
    except KeyboardInterrupt:
        click.echo(f"Interrupted: finished records are in {out}; the same command continues from there.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def _bar(what: str, jobs: int) -> Iterator[CellObserver]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _logged(what, jobs)
        return
    column = _RemainingColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), column)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def begin(waiting: list[WorkCell], finished: list[tuple[WorkCell, Record]]) -> None:
            column.remaining = RemainingTime(waiting, finished, jobs)
            before = f" ({len(finished)} finished before)" if finished else ""
            bar.update(task, total=len(waiting), description=f"{what}{before}")

        def tick(cell: WorkCell, record: Record) -> None:
            assert column.remaining is not None
            column.remaining.tick(cell, record)
            bar.advance(task)

        yield CellObserver(begin, tick)


def _logged(what: str, jobs: int) -> CellObserver:
    """Return callbacks that write a line from time to time."""
    lines = LogLines(what, "cells")
    counts = {"done": 0, "all": 0}
    times: list[RemainingTime] = []

    def begin(waiting: list[WorkCell], finished: list[tuple[WorkCell, Record]]) -> None:
        times.append(RemainingTime(waiting, finished, jobs))
        counts["all"] = len(waiting)

    def tick(cell: WorkCell, record: Record) -> None:
        times[0].tick(cell, record)
        counts["done"] += 1
        lines.step(counts["done"], counts["all"], times[0].seconds())

    return CellObserver(begin, tick)


class _RemainingColumn(ProgressColumn):
    """The remaining time, computed each time the bar is drawn: one cell may take hours."""

    remaining: RemainingTime | None = None

    def render(self, task: Task) -> Text:
        seconds = None if self.remaining is None else self.remaining.seconds()
        return Text("" if seconds is None else f"about {format_duration(seconds)} left")
