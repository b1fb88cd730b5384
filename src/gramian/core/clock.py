"""A time limit, and the time used so far."""

from __future__ import annotations

import time


class TimeLimitReached(Exception):
    """The share of the time limit that was set aside for the current work is used up."""


class Clock:
    """Seconds since the clock was made, compared with a limit.

    Parameters
    ----------
    limit : float, optional
        Seconds; no limit by default.

    >>> Clock().passed, Clock(0.0).passed
    (False, True)
    >>> Clock().check()  # never raises
    >>> Clock(0.0).check()
    Traceback (most recent call last):
        ...
    gramian.core.clock.TimeLimitReached
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._begin = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time since the clock was made."""
        return time.perf_counter() - self._begin

    @property
    def left(self) -> float | None:
        """Seconds until the limit, at least 0; None without a limit."""
        return None if self.limit is None else max(0.0, self.limit - self.seconds)

    @property
    def passed(self) -> bool:
        """True once the limit is reached; always False without one."""
        return self.limit is not None and self.seconds >= self.limit

    def check(self, share: float = 1.0) -> None:
        """Raise :class:`TimeLimitReached` once this share of the limit is used."""
        if self.limit is not None and self.seconds >= share * self.limit:
            raise TimeLimitReached

    def reason(self, error: BaseException) -> str:
        """Name the cause of an early end, for a warning: the time limit or an interrupt."""
        return f"time_limit={self.limit:g}" if isinstance(error, TimeLimitReached) else "interrupted"
