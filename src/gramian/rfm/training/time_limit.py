"""Solves within a time limit: forecasts of their time, and as many rows as the time left allows.

A forecast is the nominal time of a solve (:meth:`gramian.solvers.Solver.seconds_needed`) times the *pace* of the fit,
the ratio of measured to nominal time in its latest solve. Solvers look at the clock too, so a forecast that is too
short costs the rows of the last attempt, not the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gramian.core.clock import Clock, TimeLimitReached
from gramian.solvers import SolveInfo

T = TypeVar("T")

_SURE, _FIRST, _SAFE = 0.25, 0.15, 0.7
"""Shares of the time left: up to the first a solve is begun without a smaller one before it, which may take the second;
up to the third a solve is begun at all."""
_WORTH = 1.25
"""Factor by which a further solve must have more rows than the one before."""
_LEAST_SECONDS = 0.01
"""Shorter measurements are left out: they are mostly overhead."""
_ROUGH = 0.05
"""Relative residual up to which the iterate of a solver that the time limit has stopped is used."""


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


@dataclass(frozen=True)
class SolvedPart(Generic[T]):
    """The result of a solve, and the number of rows (or centres) that it was for."""

    result: T
    size: int


def solve_within(
    clock: Clock, pace: Pace, size: int, nominal: Callable[[int], float], solve: Callable[[int], T]
) -> SolvedPart[T] | None:
    """Solve for all of ``size`` rows, or for as many as the time left allows; None where no solve ended in time.

    Where all rows may take more than a quarter of the time left, a smaller part is solved first: its time makes the
    forecast for more rows exact, and its result remains if a larger solve does not end in time.

    Parameters
    ----------
    clock : Clock
        After its limit no solve begins.
    pace : Pace
        Is measured with each solve.
    size : int
    nominal : function
        Number of rows → nominal time of a solve.
    solve : function
        Number of rows → result; it may raise :class:`TimeLimitReached`.

    >>> solve_within(Clock(), Pace(), 1000, lambda n: n**2, lambda n: f"{n} rows")
    SolvedPart(result='1000 rows', size=1000)
    """
    found: SolvedPart[T] | None = None
    while not clock.passed:
        count = _next_size(clock, pace, size, nominal, first=found is None)
        if count < 1 or (found is not None and count < _WORTH * found.size and count < size):
            break
        begin = clock.seconds
        try:
            found = SolvedPart(solve(count), count)
        except TimeLimitReached:
            break
        pace.measure(nominal(count), clock.seconds - begin)
        if count == size:
            break
    return found


def _next_size(clock: Clock, pace: Pace, size: int, nominal: Callable[[int], float], *, first: bool) -> int:
    left = clock.left
    if left is None or pace.seconds(nominal(size)) <= (_SURE if first else _SAFE) * left:
        return size
    return largest_size(size, nominal, (_FIRST if first else _SAFE) * left / pace.seconds(1.0))


def largest_size(size: int, nominal: Callable[[int], float], bound: float) -> int:
    """Return the largest number up to ``size`` whose nominal time is at most ``bound``; 0 where there is none.

    >>> largest_size(1000, lambda n: n**2, 400.0)
    20
    """
    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if nominal(middle) <= bound else (low, middle - 1)
    return low


def check_solved(clock: Clock, info: SolveInfo) -> None:
    """Raise :class:`TimeLimitReached` where the limit has stopped a solver before its result is of any use."""
    if clock.passed and not info.residual <= _ROUGH:
        raise TimeLimitReached
