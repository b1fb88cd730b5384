"""Remarks on the columns of a table that may be read otherwise than they were meant, with the option that helps.

They are printed before a fit. Nothing in the table is changed without being said.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from gramian.tables import ColumnRecord, TableEncoder
from gramian.tables.date_texts import DateText
from gramian.tables.number_words import take_apart
from gramian.tables.preprocessing import NOT_USED
from gramian.tables.values import read_levels
from gramian.tables.written import WrittenNumber

if TYPE_CHECKING:
    import pandas as pd

_NAMED_WORDS = 4
_MARKERS = frozenset(
    {"?", "-", "--", "---", ".", "..", "*", "na", "n.a.", "n.a", "nil", "none", "missing", "unknown", "tbd"}
)
"""Words, in small letters, that stand for an empty cell more often than for a value."""
_MOSTLY_DATES = 0.8
"""Share of dates among the different texts of a column that is meant to hold dates."""


def remarks(X: pd.DataFrame) -> list[str]:
    """Return one line for each thing that may be meant otherwise: dates, bounds, words for missing, identifiers.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"area": ["1.5", "2", "?", "7"], "when": ["24.07.2008", "01.02.1999", "03.04.2001", None]})
    >>> remarks(frame)
    ["'area': '?' among the numbers: words have a column of their own each (--missing '?' makes it an empty cell)",
     "'when': dates are read with the day first, as '24.07.2008' shows"]
    """
    return [line for record in TableEncoder().fit(X).records_ for line in _remarks(record, X[record.name])]


@contextmanager
def without_repeated_remarks() -> Iterator[None]:
    """Ignore the warning of a fit about dropped columns, which the remarks have named."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*{NOT_USED}", category=UserWarning)
        yield


def _remarks(record: ColumnRecord, column: pd.Series) -> list[str]:
    drop = f"--drop {shlex.quote(record.name)}"
    lines = [f"{record.name!r}: {note}" for note in record.notes]
    if isinstance(record.encoding, WrittenNumber):
        markers = [word for word in record.encoding.writing.words if word.strip().lower() in _MARKERS][:_NAMED_WORDS]
        if markers:
            options = " ".join(f"--missing {shlex.quote(word)}" for word in markers)
            lines[-1] += f" ({options} makes {'it an empty cell' if len(markers) == 1 else 'them empty cells'})"
    if record.kind == "identifier":
        lines.append(f"{record.name!r} is not used: its values are codes that differ in every row")
    elif _counts_rows(column):
        lines.append(f"{record.name!r} counts the rows: {drop} if it is only an index")
    elif record.names_rows:
        lines.append(f"{record.name!r} is different in (almost) every row: is it an identifier? {drop} leaves it out")
    if record.kind in ("category", "many-levels", "text", "identifier"):
        lines += [f"{record.name!r} {line}" for line in _mixed(column)]
    return lines


def _mixed(column: pd.Series) -> list[str]:
    """Return remarks on text that is almost a column of dates or of numbers in one unit."""
    texts = read_levels(column.to_numpy(dtype=object)).texts
    orders = [DateText(day_first, False, "") for day_first in (True, False)]
    others = [text for text in texts if all(order.read(text) is None for order in orders)]
    if texts and not others:
        return ["holds dates with the day first and dates with the month first: it is used as text"]
    if len(others) <= (1 - _MOSTLY_DATES) * len(texts) and len(texts) > 2:
        listed = ", ".join(map(repr, others[:_NAMED_WORDS])) + ", …" * (len(others) > _NAMED_WORDS)
        options = " ".join(f"--missing {shlex.quote(text)}" for text in others[:_NAMED_WORDS])
        return [f"is text, because it holds {listed} among its dates: {options} makes it dates"]
    units = {
        amount.unit or amount.currency for text in texts if (parts := take_apart(text)) for amount in parts.amounts
    }
    numbers = sum(take_apart(text) is not None for text in texts)
    if 1 < len(units) <= _NAMED_WORDS and numbers == len(texts) > len(units):
        listed = ", ".join(repr(unit) if unit else "no unit" for unit in sorted(units))
        return [f"is text, because its numbers have different units ({listed}): write all of them in one unit"]
    return []


def _counts_rows(column: pd.Series) -> bool:
    """Return whether a column counts the rows in their order: an index that was saved with them predicts nothing."""
    from pandas import to_numeric

    if len(column) < 3 or column.isna().any() or column.dtype.kind == "M":
        return False
    values = to_numeric(column, errors="coerce").to_numpy(dtype=float)
    return bool(np.all(np.diff(values) >= 1) and values[0] in (0.0, 1.0) and values[-1] < 2 * len(values))
