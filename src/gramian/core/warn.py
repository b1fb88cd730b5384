"""Warnings that point at the line of the user's code that called the package."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

_BETWEEN = {"gramian", "sklearn", "joblib", "contextlib", "functools"}
"""Packages whose lines are skipped: this one, and those that stand between it and the user's code."""

_THREADS = {"concurrent", "threading"}
"""Packages from which on the frames of another thread do not lead to the user's code."""


@dataclass(frozen=True)
class Caller:
    """A line of code that a warning can point at: file, line, module, and the module's register of warnings shown."""

    file: str
    line: int
    module: str
    shown: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)


_caller: ContextVar[Caller | None] = ContextVar("gramian_caller", default=None)
"""The caller of the work of another thread, whose own frames do not lead to it."""


def find_caller() -> Caller | None:
    """Return the innermost line outside this package, scikit-learn and joblib; None where there is none.

    >>> find_caller().module
    '...'
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        package = module.partition(".")[0]
        if package in _THREADS:
            break
        if package not in _BETWEEN:
            shown = frame.f_globals.setdefault("__warningregistry__", {})
            return Caller(frame.f_code.co_filename, frame.f_lineno, module, shown)
        frame = frame.f_back
    return _caller.get()


@contextmanager
def called_from(caller: Caller | None) -> Iterator[None]:
    """Let warnings of the work inside, in another thread, point at this caller."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called the package, however deep inside of it the reason was found.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("a column is empty")
    >>> str(caught[0].message)
    'a column is empty'
    """
    found = find_caller()
    if found is None:  # the whole process is gramian's, as on the command line
        warnings.warn(message, category, stacklevel=2)
        return
    warnings.warn_explicit(message, category, found.file, found.line, found.module, found.shown)


def on_behalf_of_caller(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function for another thread whose warnings point at the present caller."""
    caller = find_caller()

    def work(shared: Any, item: Any) -> Any:
        with called_from(caller):
            return function(shared, item)

    return work
