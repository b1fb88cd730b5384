"""A time budget."""

from __future__ import annotations

import time


class TimeIsUp(Exception):
    """The part of the budget that was set aside for what is being done is used up."""


class Clock:
    """Seconds since it was made, against a limit; no limit by default.

    >>> clock = Clock(None)
    >>> clock.check(1.0)  # never raises
    >>> Clock(0.0).check(1.0)
    Traceback (most recent call last):
        ...
    gramian.rfm.clock.TimeIsUp
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.begin = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the clock was made."""
        return time.perf_counter() - self.begin

    @property
    def left(self) -> float | None:
        """Seconds that are left; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - self.seconds)

    def check(self, share: float) -> None:
        """Raise :class:`TimeIsUp` once this share of the limit is used."""
        if self.limit is not None and self.seconds >= share * self.limit:
            raise TimeIsUp

    def why(self, error: BaseException) -> str:
        """What ended the work, for a warning: the limit, or somebody's Ctrl-C."""
        return f"time_limit={self.limit:g}" if isinstance(error, TimeIsUp) else "interrupted"
