"""Detection of Ctrl-C: an interrupted fit returns its best round, and the command must still stop afterwards."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended: 128 + SIGINT."""


@contextmanager
def noticing_interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; the handler of the signal stays in effect.

    >>> with noticing_interrupts() as interrupted:
    ...     interrupted()
    False
    """
    seen: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda: bool(seen)  # signals reach the main thread only, and an ignored signal stays ignored
        return

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        handler(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, handler)
