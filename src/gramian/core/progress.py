"""A progress bar with a time estimate, on a terminal and only there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Tick:
    """Called after each step; ``expect(n)`` tells of n more steps than were known in the beginning.

    >>> tick = Tick()
    >>> tick.expect(3)
    >>> tick()
    """

    def __init__(self, bar: Progress | None = None, what: str = "", total: int = 0) -> None:
        self._bar, self._total = bar, total
        self._task = None if bar is None else bar.add_task(what, total=total)

    def __call__(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)

    def expect(self, steps: int) -> None:
        """There are so many more steps."""
        self._total += steps
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=self._total)


@contextmanager
def progress(what: str, total: int, show: bool) -> Iterator[Tick]:
    """Yield a :class:`Tick` to call after each of ``total`` steps; it draws a bar if asked to, on a terminal.

    >>> with progress("counting", 2, show=False) as tick:
    ...     tick()
    """
    console = Console(stderr=True)
    if not (show and console.is_terminal):
        yield Tick()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        yield Tick(bar, what, total)
