"""Recognition of columns that number or name the rows: they are different in (almost) every row and predict nothing.

Numbers are flagged only, since a measured value can be different in every row as well.
"""

from __future__ import annotations

import re

import numpy as np

from gramian.tables.values import Array

_FEWEST_ROWS = 20
"""Rows below which nothing is called an identifier: a few values are different by chance."""
_DIFFERENT = 0.95
"""Share of the rows with a value of their own from which values are different in almost every row."""
_EVEN = 1.63
"""Kolmogorov's distance from an even spread, times the root of the number of values, that 99 % of even ones have."""
_WORDS = re.compile(r"(?:.*[\W_])?(?:id|uuid|guid|key|index|idx|number|no|nr)[\W_]*", re.IGNORECASE)
_CAMEL = re.compile(r".*[a-z](?:Id|ID)")


def numbers_rows(name: str, values: Array, copies: Array) -> bool:
    """Return whether numbers seem to be identifiers: whole, different in 95 % of rows, evenly spread or named so.

    ``values (n,)`` may be NaN where missing; ``copies (n,)`` says how often each row is in the table. Numbers that were
    given to rows one after the other are spread evenly between their ends, which measured values rarely are.

    >>> rng = np.random.default_rng(0)
    >>> given, measured = rng.permutation(5000)[:300] * 1.0, np.rint(1e6 * rng.lognormal(size=300))
    >>> numbers_rows("row", given, np.ones(300)), numbers_rows("income", measured, np.ones(300))
    (True, False)
    """
    known = ~np.isnan(values)
    if not known.any() or (values[known] != np.rint(values[known])).any():
        return False
    different = np.unique(values[known])
    if not names_rows(len(different), float(copies[known].sum())):
        return False
    return is_identifier_name(name) or _is_even(different)


def names_rows(different: int, rows: float) -> bool:
    """Return whether so many different values are an own value for almost every one of the rows.

    >>> names_rows(99, 100), names_rows(50, 100)
    (True, False)
    """
    return rows >= _FEWEST_ROWS and different >= _DIFFERENT * rows


def is_identifier_name(name: str) -> bool:
    """Return whether a column is named as identifiers are.

    >>> [is_identifier_name(name) for name in ("customer_id", "PassengerId", "ID", "paid", "humid")]
    [True, True, True, False, False]
    """
    return bool(_WORDS.fullmatch(name) or _CAMEL.fullmatch(name))


def _is_even(different: Array) -> bool:
    """Compare the sorted values with an even spread between the least and the greatest."""
    width = different[-1] - different[0]
    if not (np.isfinite(width) and width > 0):
        return False
    place = (different - different[0]) / width
    steps = np.arange(len(different) + 1) / len(different)
    distance = max(float(np.abs(place - steps[1:]).max()), float(np.abs(place - steps[:-1]).max()))
    return bool(distance * np.sqrt(len(different)) < _EVEN)
