"""A progress bar with a time estimate: on a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE, _PACE = 1.0, 0.2
"""Seconds before a notebook shows a bar, so that what is quick leaves no trace, and between two drawings of it."""


class Tick:
    """Called after each step; ``expect(n)`` tells of n more steps than were known in the beginning.

    >>> tick = Tick()
    >>> tick.expect(3)
    >>> tick()
    """

    def __call__(self) -> None:
        """One more step is done."""

    def expect(self, steps: int) -> None:
        """There are so many more steps."""


@contextmanager
def progress(what: str, total: int | None, show: bool) -> Iterator[Tick]:
    """Yield a :class:`Tick` to call after each of ``total`` steps (None: nobody knows); it draws a bar if asked to.

    On a terminal the bar is rich's, in a notebook it is HTML that needs no widgets; both vanish at the end. Into a pipe
    or a file nothing is written.

    >>> with progress("counting", 2, show=False) as tick:
    ...     tick()
    """
    if not show:
        yield Tick()
        return
    if _notebook() is not None:
        bar = _NotebookBar(what, total, _notebook())
        try:
            yield bar
        finally:
            bar.close()
        return
    # Here: a fit that shows nothing need not wait for rich.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Tick()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as shown:
        yield _TerminalBar(what, total, shown)


class _TerminalBar(Tick):
    """A bar of rich's."""

    def __init__(self, what: str, total: int | None, bar: Progress) -> None:
        self.bar, self.total = bar, total
        self.task = bar.add_task(what, total=total)

    def __call__(self) -> None:
        self.bar.advance(self.task)

    def expect(self, steps: int) -> None:
        if self.total is not None:
            self.total += steps
            self.bar.update(self.task, total=self.total)


def _notebook() -> Any:
    """IPython's display module inside a notebook's kernel, else None; a terminal that runs IPython is a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display")


class _NotebookBar(Tick):
    """A bar in the output of a cell, drawn again in the same place."""

    def __init__(self, what: str, total: int | None, display: Any) -> None:
        self.what, self.total, self.display = what, total, display
        self.done, self.begin, self.last = 0, time.monotonic(), 0.0
        self.place: Any = None

    def __call__(self) -> None:
        """One more step; draws only if a drawing is due."""
        self.done += 1
        now = time.monotonic()
        if now - self.begin < _PATIENCE or now - self.last < _PACE:
            return
        self.last = now
        html = self.display.HTML(self.html(now - self.begin))
        if self.place is None:
            self.place = self.display.display(html, display_id=True)
        else:
            self.place.update(html)

    def expect(self, steps: int) -> None:
        if self.total is not None:
            self.total += steps

    def close(self) -> None:
        """Leave nothing behind."""
        if self.place is not None:
            self.place.update(self.display.HTML(""))

    def html(self, passed: float) -> str:
        """The bar with the time it took, and how long the rest takes at that pace."""
        if self.total is None:
            return f"<div>{escape(self.what)} <progress></progress> {self.done} · {_clock(passed)}</div>"
        left = passed * (self.total - self.done) / self.done
        bar = f'<progress max="{self.total}" value="{self.done}"></progress>'
        words = f"{self.done} of {self.total} · {_clock(passed)}, {_clock(max(left, 0.0))} left"
        return f"<div>{escape(self.what)} {bar} {words}</div>"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
