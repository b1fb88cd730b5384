"""Remarks on the columns of a table that seem to be read otherwise than they were meant, with the option that helps.

They are printed before a fit. Nothing in the table is changed without being asked for.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import numpy as np

from gramian.tables.target_column import MOSTLY_NUMBERS, text_among_numbers

if TYPE_CHECKING:
    import pandas as pd

_DATE = re.compile(r"\s*(\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2})(\s.*)?")
_GROUPED = re.compile(
    r"\s*[^\d\s]{0,3}\s*[+-]?\d{1,3}([, ' ]\d{3})+(\.\d+)?\s*[^\d\s]{0,3}\s*|\s*\D{0,3}\d+(\.\d+)?\s*[%€$£]\s*"
)
_NAMED_WORDS = 4


def remarks(X: pd.DataFrame) -> list[str]:
    """Return one line for each column that seems to be read otherwise than it was meant.

    >>> import pandas as pd
    >>> remarks(pd.DataFrame({"area": ["1.5", "2", "?"], "when": ["24.07.2008", "01.02.1999", "03.04.2001"]}))
    ["'area' is text, because it holds '?' among its numbers: --missing '?' makes it numbers",
     "'when' is text: dates are read in the form 2008-07-24 only"]
    """
    lines = (_remark(str(name), X[name]) for name in X)
    return [line for line in lines if line]


def _remark(name: str, column: pd.Series) -> str:
    words, share = text_among_numbers(column)
    if not words:
        return _row_numbers(name, column)
    if share > MOSTLY_NUMBERS:
        listed = ", ".join(map(repr, words[:_NAMED_WORDS])) + (", …" if len(words) > _NAMED_WORDS else "")
        options = " ".join(f"--missing {shlex.quote(word)}" for word in words[:_NAMED_WORDS])
        return f"{name!r} is text, because it holds {listed} among its numbers: {options} makes it numbers"
    if all(_DATE.fullmatch(word) for word in words):
        return f"{name!r} is text: dates are read in the form 2008-07-24 only"
    if all(_GROUPED.fullmatch(word) for word in words):
        return f"{name!r} is text such as {words[0]!r}: numbers are read without units and without thousands separators"
    return ""


def _row_numbers(name: str, column: pd.Series) -> str:
    """Remark on a column that counts the rows in their order: an index that was saved with them predicts nothing."""
    from pandas import to_numeric

    if len(column) < 3 or column.isna().any() or column.dtype.kind == "M":
        return ""
    values = to_numeric(column, errors="coerce").to_numpy(dtype=float)
    counts = bool(np.all(np.diff(values) >= 1)) and values[0] in (0.0, 1.0) and values[-1] < 2 * len(values)
    return f"{name!r} counts the rows: --drop {shlex.quote(name)} if it is only an index" if counts else ""
