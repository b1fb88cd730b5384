"""The first line of a table: its column names, read without pandas and without the rest of the file.

Completion of column names and checks of the names in a command use it, so that they take no time.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

from gramian.core.paths import check_exists, did_you_mean
from gramian.tables.formats import READABLE, SEPARATORS, STANDARD_STREAM, is_packed, table_suffix
from gramian.tables.text_encoding import text_encoding

_ENCODING_BYTES = 2**16
"""Bytes at the beginning of a file from which its encoding is recognised."""
_NAMED_COLUMNS = 20
"""The columns of a table that an error names at most."""
_LOOKED_AT = 200
"""Rows from which a file without column names is recognised."""
_CLOSE = 0.7
"""Similarity (that of difflib) from which on a name is suggested."""


def open_text(path: Path) -> io.BufferedIOBase:
    """Open a table of text as bytes, unpacked if its name ends in ``.gz``."""
    return gzip.open(path, "rb") if is_packed(path) else path.open("rb")


def encoding_and_separator(file: io.BufferedIOBase, suffix: str) -> tuple[str, str]:
    r"""Return the encoding of a table of text, and the mark between its columns, from its beginning.

    A ``.csv`` whose first line has semicolons or tabs and no comma is separated by those.

    >>> encoding_and_separator(io.BytesIO(b"a;b\n1;2\n"), ".csv")
    ('utf-8', ';')
    """
    start = file.read(_ENCODING_BYTES)
    encoding = text_encoding(start)
    first = start.decode(encoding, errors="replace").partition("\n")[0]
    if suffix == ".csv" and "," not in first:
        return encoding, next((mark for mark in (";", "\t") if mark in first), ",")
    return encoding, SEPARATORS[suffix]


def first_rows(file: io.BufferedIOBase, encoding: str, separator: str, count: int) -> list[list[str]]:
    r"""Return at most ``count`` lines of a table of text as lists of cells; empty lines are left out.

    >>> first_rows(io.BytesIO(b"a,b\n\n1,2\n"), "utf-8", ",", 2)
    [['a', 'b'], ['1', '2']]
    """
    # "replace": a letter that is not in this encoding matters to the reader of the whole file, not here.
    text = io.TextIOWrapper(cast(IO[bytes], file), encoding=encoding, errors="replace", newline="")
    try:
        rows: list[list[str]] = []
        for row in csv.reader(text, delimiter=separator):
            if len(rows) == count:
                break
            if row:
                rows.append([cell.strip() for cell in row])
        return rows
    except csv.Error:  # no table: the reader of the whole file says so
        return []
    finally:
        text.detach()  # the file belongs to the caller


def read_header(path: Path, header: bool = True) -> list[str] | None:
    """Return the column names of a table of text; None for the formats of which the first line is no text.

    Without a ``header`` the columns are named as :func:`numbered_names` does.
    """
    suffix = table_suffix(path)
    if suffix not in SEPARATORS or path == STANDARD_STREAM:
        return None
    with open_text(path) as file:
        encoding, separator = encoding_and_separator(file, suffix)
    with open_text(path) as file:
        rows = first_rows(file, encoding, separator, 1)
    names = rows[0] if rows else []
    return names if header else numbered_names(len(names))


def numbered_names(count: int) -> list[str]:
    """Return the names of the columns of a table without names.

    >>> numbered_names(3)
    ['x0', 'x1', 'x2']
    """
    return [f"x{j}" for j in range(count)]


def check_table(path: Path, columns: Iterable[str] = (), header: bool = True) -> None:
    """Raise an error if there is no such table, or if its first line lacks one of ``columns``.

    Only the first line is read. A table of which the first line is no text passes: it is checked when it is read.
    """
    table_suffix(path)
    if path == STANDARD_STREAM:
        return
    check_exists(path, f"a table ends in {READABLE}")
    try:
        names = read_header(path, header)
    except (ValueError, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}") from error
    if names:
        check_names(columns, names, path)


def check_names(names: Iterable[str], columns: Sequence[str], path: Path) -> None:
    """Raise a ValueError that names the columns a table lacks, and those it has with similar names."""
    present = set(columns)
    missing = [name for name in names if name not in present]
    if not missing:
        return
    listed = ", ".join(repr(name) for name in missing[:5])
    listed += f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    exact = {name.lower(): name for name in columns}
    close = difflib.get_close_matches(missing[0].lower(), exact, n=3, cutoff=_CLOSE)
    more = f" and {len(columns) - _NAMED_COLUMNS} more" if len(columns) > _NAMED_COLUMNS else ""
    hint = did_you_mean(exact[name] for name in close) if close else f"it has {_listed(columns)}{more}"
    raise ValueError(f"{path} has no column{'s' if len(missing) > 1 else ''} {listed}; {hint}")


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns[:_NAMED_COLUMNS])


def looks_like_a_row(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first of some lines of a table looks like values of the columns, and not like their names.

    A cell of the first line looks like a value if it is a number above numbers, or if the same text stands below it. It
    looks like a name if it is a text above numbers. The line is a row if no cell looks like a name, and at least half
    of its cells look like values. Consecutive whole numbers (0, 1, 2, … or years, also beside texts) are names.

    >>> looks_like_a_row([["5.1", "3.5", "setosa"], ["4.9", "3.0", "setosa"], ["7.0", "3.2", "versicolor"]])
    True
    >>> looks_like_a_row([["length", "width", "kind"], ["4.9", "3.0", "setosa"]])
    False
    >>> looks_like_a_row([["2019", "2020", "2021"], ["3.1", "4.1", "5.9"]])
    False
    """
    if len(rows) < 2:
        return False
    first, below = rows[0], rows[1:]
    if _consecutive(first):
        return False
    like_values = 0
    for j, cell in enumerate(first):
        values = [row[j] for row in below if j < len(row) and row[j]]
        numbers = bool(values) and sum(map(_is_number, values)) > 0.5 * len(values)
        if cell and numbers and not _is_number(cell):
            return False
        like_values += bool(cell) and ((numbers and _is_number(cell)) or cell in values)
    return 2 * like_values >= len(first)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _consecutive(names: Sequence[str]) -> bool:
    numbers = [name for name in names if _is_number(name)]
    if len(numbers) < min(3, len(names)) or len(numbers) < 2 or not all(name.isdecimal() for name in numbers):
        return False
    return all(int(b) - int(a) == 1 for a, b in pairwise(numbers))


def header_doubt(file: io.BufferedIOBase, encoding: str, separator: str) -> str:
    """Return a sentence for a table whose first line looks like a row of values, and empty text for any other."""
    rows = first_rows(file, encoding, separator, _LOOKED_AT)
    if not looks_like_a_row(rows):
        return ""
    start = ", ".join(rows[0][:4]) + (", …" if len(rows[0]) > 4 else "")
    return (
        f"its first line ({start}) looks like a row of values, not like column names; if the table has no line of "
        "names, --no-header names its columns x0, x1, … and keeps that row"
    )
