"""Target columns of tables on the command line."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def read_target(column: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return a mask of the rows with a target, and their targets as numbers, booleans or text.

    Words such as ``NA`` mean an empty cell, as in the other columns. Numbers with a few other words among them are more
    often a mistake in the table than classes: a ValueError names the words and the option that makes them empty cells.

    >>> import pandas as pd
    >>> known, y = read_target(pd.Series(["3", None, "4.5", "NA"]))
    >>> known.tolist(), y.tolist()
    ([True, False, True, False], [3.0, 4.5])
    """
    from gramian.tables.plain_texts import is_gap
    from gramian.tables.target_column import MOSTLY_NUMBERS, text_among_numbers, typed_column  # here: for quick help

    known = column.notna() & ~column.map(lambda value: isinstance(value, str) and is_gap(value)).astype(bool)
    y = typed_column(column[known])
    words, share = text_among_numbers(y)
    if words and share > MOSTLY_NUMBERS:
        named = " ".join(f"--missing {shlex.quote(word)}" for word in words[:5])
        raise ValueError(
            f"{share:.0%} of the target {column.name!r} are numbers, the rest is text such as "
            f"{', '.join(map(repr, words[:5]))}: {named} leaves those rows out (or make all of it text)"
        )
    return known, y
