"""Text of errors for records and logs: one line, without the folders of the computer it was written on."""

from __future__ import annotations

import os
import re


def one_line(error: BaseException, longest: int = 300) -> str:
    """Describe an error in one line: its type, its message without folders, and the line that raised it.

    Folders are left out because the text may be published.

    >>> one_line(ValueError("no file\\n  in /home/user/data: permission denied"))
    'ValueError: no file in data: permission denied'
    """
    text = f"{type(error).__name__}: {without_folders(str(error))}"
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno})" if trace else ""
    return text + where


def without_folders(text: str) -> str:
    """Return the text on one line, with every absolute path reduced to its last part.

    >>> without_folders("there is no mnist/a.gz in /srv/data")
    'there is no mnist/a.gz in data'
    """
    return re.sub(r"(?<![\w./\\])(?:[A-Za-z]:)?(?:[/\\][\w.+-]+)*[/\\]([\w.+-]+)", r"\1", " ".join(text.split()))
