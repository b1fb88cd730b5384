"""Lines that a long operation logs because its caller asked for them, without any configuration of logging.

The loggers of the library have no handlers and no levels of their own. A user who sets ``verbose=1`` expects to see
something all the same, so these lines go to a logger that belongs to one operation: its records reach the handlers of
the program's own logging, if there are any, and else the standard error.
"""

from __future__ import annotations

import logging
import sys


class _StandardError(logging.Handler):
    """Writes to what is the standard error at the time: a progress bar or a test may replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record as one line."""
        sys.stderr.write(f"{self.format(record)}\n")


def line_logger(name: str) -> logging.Logger:
    """Return a logger for the lines of one operation; it is not registered, so nothing remains of it.

    >>> log = line_logger("gramian.fit")
    >>> log.isEnabledFor(logging.INFO), log in logging.Logger.manager.loggerDict.values()
    (True, False)
    """
    log = logging.Logger(name, logging.INFO)
    log.parent = logging.getLogger(name.rpartition(".")[0])
    if not log.parent.hasHandlers():
        log.addHandler(_StandardError())
    return log
