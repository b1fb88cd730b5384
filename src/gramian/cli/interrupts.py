"""Ctrl-C: a fit that is interrupted gives what it has, and the command must still know that it was asked to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended: 128 + SIGINT."""


@contextmanager
def noticing_interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed; what it does in Python (KeyboardInterrupt) stays the same.

    >>> with noticing_interrupts() as interrupted:
    ...     interrupted()
    False
    """
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: bool(seen)  # signals reach the main thread only, and an ignored one stays ignored
        return

    def note(number: int, frame: Any) -> None:
        seen.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)
