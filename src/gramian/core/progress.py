"""A progress bar with a time estimate, on a terminal and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def progress(what: str, total: int, show: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each of ``total`` steps; it draws a bar if asked to, on a terminal.

    >>> with progress("counting", 2, show=False) as tick:
    ...     tick()
    """
    console = Console(stderr=True)
    if not (show and console.is_terminal):
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
