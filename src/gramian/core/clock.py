"""A time limit, the time used so far, and forecasts of the time of further work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_LEAST_SECONDS = 0.01
"""Shorter measurements are left out: they are mostly overhead."""


class TimeLimitReached(Exception):
    """The share of the time limit that was set aside for the current work is used up."""


class Clock:
    """Seconds since the clock was made, compared with a limit.

    Parameters
    ----------
    limit : float, optional
        Seconds; no limit by default, nor with infinity.
    now : function
        The present time in seconds, from any origin.

    >>> Clock().passed, Clock(0.0).passed, Clock(float("inf")).limit
    (False, True, None)
    >>> Clock().check()  # never raises
    >>> Clock(0.0).check()
    Traceback (most recent call last):
        ...
    gramian.core.clock.TimeLimitReached
    """

    def __init__(self, limit: float | None = None, now: Callable[[], float] = time.perf_counter) -> None:
        limit = None if limit == math.inf else limit
        self.limit = limit
        self._now = now
        self._begin = now()
        self._end = None if limit is None else self._begin + limit

    @property
    def seconds(self) -> float:
        """Time since the clock was made."""
        return self._now() - self._begin

    @property
    def left(self) -> float | None:
        """Seconds until the limit, at least 0; None without a limit."""
        return None if self._end is None else max(0.0, self._end - self._now())

    @property
    def passed(self) -> bool:
        """True once the limit is reached; always False without one."""
        return self._end is not None and self._now() >= self._end

    def check(self, share: float = 1.0) -> None:
        """Raise :class:`TimeLimitReached` once this share of the limit is used."""
        if not self.allows(0.0, share):
            raise TimeLimitReached

    def allows(self, seconds: float, share: float = 1.0) -> bool:
        """Tell whether work of this many seconds, begun now, ends before this share of the limit is used.

        >>> Clock().allows(1e9), Clock(10.0).allows(8.0), Clock(10.0).allows(8.0, share=0.5)
        (True, True, False)
        """
        if self._end is None or self.limit is None:
            return True
        return self._now() + seconds < self._end - (1 - share) * self.limit

    def shared(self, parts: int) -> Clock:
        """Return a clock with the same limit that ends after the first of ``parts`` equal parts of the time left.

        >>> clock = Clock(10.0, now=lambda: 0.0)
        >>> clock.shared(4).left
        2.5
        """
        left = self.left
        return self._ending(None if left is None else self._now() + left / parts)

    def until(self, share: float) -> Clock:
        """Return a clock with the same limit that ends when this share of it is used.

        >>> Clock(10.0, now=lambda: 0.0).until(0.3).left
        3.0
        """
        return self._ending(None if self._end is None or self.limit is None else self._end - (1 - share) * self.limit)

    def _ending(self, end: float | None) -> Clock:
        found = Clock(self.limit, self._now)
        found._begin, found._end = self._begin, end
        return found

    def reason(self, error: BaseException) -> str:
        """Name the cause of an early end, for a warning: the time limit or an interrupt."""
        late = isinstance(error, TimeLimitReached)
        return f"the time limit of {self.limit:g} s was too short" if late else "interrupted"


class Pace:
    """The ratio of measured to nominal seconds of the latest solve of a fit.

    >>> pace = Pace()
    >>> pace.measure(nominal=2.0, seconds=3.0)
    >>> pace.seconds(10.0)
    15.0
    """

    def __init__(self) -> None:
        self.ratio = 1.0
        self.measured = False

    def measure(self, nominal: float, seconds: float) -> None:
        """Take the measured time of a solve into account, unless it is too short to tell anything."""
        if seconds >= _LEAST_SECONDS and nominal > 0:
            self.ratio, self.measured = seconds / nominal, True

    def seconds(self, nominal: float) -> float:
        """Forecast the time of a solve."""
        return self.ratio * nominal
