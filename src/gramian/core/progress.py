"""Progress bars with a time estimate, on a terminal and in a notebook; elsewhere lines are logged."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE, _PACE = 1.0, 0.2
"""Seconds before a notebook shows a bar (quick work shows none), and between two drawings of it."""


_inside: ContextVar[bool] = ContextVar("gramian_progress", default=False)
"""True while a bar is shown: work inside of it draws none of its own."""


class Tick:
    """Callback for each finished step; ``expect(n)`` announces n more steps than were known in the beginning.

    >>> tick = Tick()
    >>> tick.expect(3)
    >>> tick()
    """

    visible = False
    """A bar is shown: lines of a log would repeat it."""
    left_behind = ""
    """Text that remains when the bar is removed."""

    def __call__(self) -> None:
        """Count one finished step."""

    def expect(self, steps: int) -> None:
        """Add steps to the total."""

    def leave(self, text: str) -> None:
        """Let a text remain where the bar was."""
        self.left_behind = text


@contextmanager
def progress(what: str, total: int | None, show: bool) -> Iterator[Tick]:
    """Yield a :class:`Tick` to call after each of ``total`` steps (None: unknown); it draws a bar if ``show``.

    The bar is rich's on a terminal and plain HTML, without widgets, in a notebook; it is removed at the end, and the
    text of :meth:`Tick.leave` remains. Nothing is written to a pipe or a file, and work inside of shown work has no bar
    of its own.

    >>> with progress("counting", 2, show=False) as tick:
    ...     tick()
    """
    if not show or _inside.get():
        yield Tick()
        return
    token = _inside.set(True)
    try:
        with _bar(what, total) as tick:
            yield tick
    finally:
        _inside.reset(token)


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Tick]:
    if _notebook() is not None:
        bar = _NotebookBar(what, total, _notebook())
        try:
            yield bar
        finally:
            bar.close()
        return
    # Imported here, so that a fit without progress does not wait for rich.
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
        terminal = _TerminalBar(what, total, shown)
        yield terminal
    if terminal.left_behind:
        console.print(terminal.left_behind, highlight=False, markup=False)


class _TerminalBar(Tick):
    """Progress bar of rich."""

    visible = True

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
    """Return IPython's display module inside a notebook's kernel, else None, also for IPython on a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display")


class _NotebookBar(Tick):
    """Progress bar in the output of a cell, redrawn in place."""

    visible = True

    def __init__(self, what: str, total: int | None, display: Any) -> None:
        self.what, self.total, self.display = what, total, display
        self.done, self.begin, self.last = 0, time.monotonic(), 0.0
        self.place: Any = None

    def __call__(self) -> None:
        """Count one finished step; redraw the bar only if that is due."""
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
        """Remove the bar, and leave its text behind."""
        html = self.display.HTML(f"<div>{escape(self.left_behind)}</div>" if self.left_behind else "")
        if self.place is not None:
            self.place.update(html)
        elif self.left_behind:
            self.display.display(html, display_id=True)

    def html(self, passed: float) -> str:
        """Return the bar with the time used, and an estimate of the time left at the same pace."""
        if self.total is None:
            return f"<div>{escape(self.what)} <progress></progress> {self.done} · {_clock(passed)}</div>"
        left = passed * (self.total - self.done) / self.done
        bar = f'<progress max="{self.total}" value="{self.done}"></progress>'
        words = f"{self.done} of {self.total} · {_clock(passed)}, {_clock(max(left, 0.0))} left"
        return f"<div>{escape(self.what)} {bar} {words}</div>"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
