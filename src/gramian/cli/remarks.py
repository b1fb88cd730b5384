"""What looks wrong with a table and what to type about it: said before a fit, never changed behind one's back."""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np

from gramian.cli.target import MOSTLY, odd_words

_DATE = re.compile(r"\s*(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2})(\s.*)?")
_GROUPED = re.compile(
    r"\s*[^\d\s]{0,3}\s*[+-]?\d{1,3}([, ' ]\d{3})+(\.\d+)?\s*[^\d\s]{0,3}\s*|\s*\D{0,3}\d+(\.\d+)?\s*[%€$£]\s*"
)
_SHOWN = 4


def remarks(X: Any) -> list[str]:
    """One line for each column of a frame that seems to be read otherwise than it was meant.

    >>> import pandas as pd
    >>> remarks(pd.DataFrame({"area": ["1.5", "2", "?"], "when": ["24.07.2008", "01.02.1999", "03.04.2001"]}))
    ["'area' is text, since it holds '?' among its numbers: --missing '?' makes them numbers",
     "'when' is text: dates are read as 2008-07-24 only"]
    """
    found = (_remark(str(name), X[name]) for name in X)
    return [line for line in found if line]


def _remark(name: str, column: Any) -> str:
    words, share = odd_words(column)
    if not words:
        return _row_numbers(name, column)
    if share > MOSTLY:
        some = ", ".join(map(repr, words[:_SHOWN])) + (", …" if len(words) > _SHOWN else "")
        options = " ".join(f"--missing {shlex.quote(word)}" for word in words[:_SHOWN])
        return f"{name!r} is text, since it holds {some} among its numbers: {options} makes them numbers"
    if all(_DATE.fullmatch(word) for word in words):
        return f"{name!r} is text: dates are read as 2008-07-24 only"
    if all(_GROUPED.fullmatch(word) for word in words):
        return f"{name!r} is text such as {words[0]!r}: numbers are read without units and without marks for thousands"
    return ""


def _row_numbers(name: str, column: Any) -> str:
    """A column that counts the rows as they lie is an index that was saved along, and says nothing about new rows."""
    from pandas import to_numeric

    if len(column) < 3 or column.isna().any() or column.dtype.kind == "M":
        return ""
    values = to_numeric(column, errors="coerce").to_numpy(dtype=float)
    counts = bool(np.all(np.diff(values) >= 1)) and values[0] in (0.0, 1.0) and values[-1] < 2 * len(values)
    return f"{name!r} counts the rows: --drop {shlex.quote(name)} if that means nothing" if counts else ""
