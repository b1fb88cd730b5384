"""Lines about the progress of long work where standard error is no terminal: a log instead of a bar."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

FIRST, NEXT = 15.0, 60.0
"""Seconds before the first line (quick work writes none), and between two lines."""


class LogLines:
    """Writer of lines such as ``predicting: 4,000 of 19,158 rows, 20 s, about 75 s left`` on standard error.

    Parameters
    ----------
    what : str
        Description of the work.
    unit : str
        What is counted, in the plural.
    clock : callable
        Returns seconds; only its differences count.

    >>> lines = LogLines("predicting", "rows")
    >>> lines.step(10, 1000)
    """

    def __init__(self, what: str, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.what, self.unit, self.clock = what, unit, clock
        self.begin = clock()
        self.due = self.begin + FIRST

    def step(self, done: int, total: int, left: float | None = None) -> None:
        """Write a line if one is due; ``left`` are the seconds that remain, by default at the pace so far."""
        now = self.clock()
        if now < self.due or not done or done >= total:
            return
        self.due = now + NEXT
        passed = now - self.begin
        rest = passed * (total - done) / done if left is None else left
        click.echo(
            f"{self.what}: {done:,} of {total:,} {self.unit}, {_seconds(passed)}, about {_seconds(rest)} left", err=True
        )


def _seconds(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )
