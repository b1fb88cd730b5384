"""Solves within a time limit: forecasts of their time, and as many rows as the time left allows.

A forecast is the nominal time of a solve (:meth:`gramian.solvers.Solver.seconds_needed`) times the *pace* of the fit,
the ratio of measured to nominal time in its latest solve. Solvers look at the clock too, so a forecast that is too
short costs the rows of the last attempt, not the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gramian.core.clock import Clock, Pace, TimeLimitReached
from gramian.solvers import SolveInfo

T = TypeVar("T")

_SURE, _FIRST, _SAFE = 0.25, 0.15, 0.7
"""Shares of the time left: up to the first a solve is begun without a smaller one before it, which may take the second;
up to the third a solve is begun at all."""
_WORTH = 1.25
"""Factor by which a further solve must have more rows than the one before."""
_ROUGH = 0.05
"""Relative residual up to which the iterate of a solver that the time limit has stopped is used."""


def solve_within(
    clock: Clock, pace: Pace, size: int, nominal: Callable[[int], float], solve: Callable[[int], T]
) -> tuple[T, int] | None:
    """Solve for all of ``size`` rows, or for as many as the time left allows; None where no solve ended in time.

    The second value is the number of rows (or centres) of the result.

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
    ('1000 rows', 1000)
    """
    found: tuple[T, int] | None = None
    while not clock.passed:
        count = _next_size(clock, pace, size, nominal, first=found is None)
        if count < 1 or (found is not None and count < _WORTH * found[1] and count < size):
            break
        begin = clock.seconds
        try:
            found = solve(count), count
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
