"""Text in CSV files that a spreadsheet would run as a formula."""

from __future__ import annotations

_MARKS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First letters of a cell that spreadsheets read as a formula, or skip before they look for one."""


def escape_formula(cell: object) -> object:
    """Return text that begins like a formula with an apostrophe before it, and any other value unchanged.

    A label or a name may come from anywhere: opened in a spreadsheet, the label ``=HYPERLINK(…)`` would be a link.
    Text that is a number, such as ``-1.5``, is no formula.

    >>> escape_formula("=1+1"), escape_formula("-1.5"), escape_formula("- none"), escape_formula(-1.5)
    ("'=1+1", '-1.5', "'- none", -1.5)
    """
    if not isinstance(cell, str) or not cell.startswith(_MARKS):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
