"""Tables on disk: CSV, TSV, Parquet and Excel files to pandas frames, and frames to files (needs pandas)."""

from __future__ import annotations

import gzip
import importlib
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gramian.core.atomic import atomic_file, atomic_write
from gramian.core.paths import check_exists
from gramian.core.warn import warn
from gramian.tables.formats import (
    EXCEL,
    JSON_LINES,
    PARQUET,
    READABLE,
    SEPARATORS,
    STANDARD_STREAM,
    is_packed,
    output_suffix,
    table_suffix,
)
from gramian.tables.formulas import escape_formula
from gramian.tables.header import check_names, encoding_and_separator, header_doubt, numbered_names, open_text
from gramian.tables.spreadsheets import read_sheet, workbook_bytes

if TYPE_CHECKING:
    import pandas as pd

_NEEDS_PYARROW = 'Parquet files need pyarrow: pip install "gramian[tables]"'
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")


def read_frame(path: Path, missing: Sequence[str] = (), header: bool = True) -> pd.DataFrame:
    """Read a table from a file; its suffix gives the format, and ``.gz`` may follow that of a text file.

    A ``.csv`` whose first line has semicolons or tabs and no comma is read with those as separators; with semicolons
    ``1,5`` is read as 1.5, as spreadsheets write it where the comma is decimal. Text is in UTF-8, in UTF-16 or UTF-32
    (with a byte order mark or without), or else in Windows-1252. Cells that equal one of the texts in ``missing`` are
    empty. Two columns of one name are refused.

    Of an Excel workbook the first sheet is read. The path ``-`` is standard input with a CSV. Without a ``header`` the
    columns are named x0, x1, … and the first line is a row. With it, a warning tells if the first line looks like one.
    """
    suffix = table_suffix(path)
    if path != STANDARD_STREAM:
        check_exists(path, f"a table ends in {READABLE}")
    if not header and suffix in PARQUET:
        raise ValueError(f"{path}: a Parquet file holds the names of its columns; leave --no-header out")
    pandas = _pandas()
    try:
        if suffix in PARQUET:
            frame = _read_parquet(pandas, path)
        elif suffix == EXCEL:
            frame = _read_sheet(pandas, path, header)
        else:
            frame = _read_text(pandas, path, suffix, header)
    except (ValueError, EOFError, gzip.BadGzipFile) as error:  # the parsing errors of pandas are ValueErrors
        raise ValueError(f"{_named(path)} cannot be read as a table: {error}") from error
    if frame.shape[1] == 0 or len(frame) == 0:
        raise ValueError(f"{_named(path)} holds no rows: a table needs a line of column names and at least one row")
    if suffix not in PARQUET and not isinstance(frame.index, pandas.RangeIndex):
        raise ValueError(
            f"{_named(path)} cannot be read as a table: its rows have more values than its first line has names"
        )
    frame.columns = [str(name).strip() for name in frame.columns]
    _check_different(path, list(frame.columns))
    return frame.mask(frame.isin(list(missing))) if missing else frame


def write_frame(frame: pd.DataFrame, path: Path, escape: bool = True) -> None:
    """Write a frame in the format that the suffix of the file asks for: CSV, TSV, Parquet, Excel or JSON lines.

    With ``escape``, text in CSV and TSV files that a spreadsheet would run as a formula has an apostrophe before it. In
    an Excel workbook text is never a formula.
    """
    suffix = output_suffix(path)
    if suffix == JSON_LINES:
        atomic_write(path, frame.to_json(orient="records", lines=True, double_precision=15, force_ascii=False))
    elif suffix == EXCEL:
        atomic_write(path, workbook_bytes(frame))
    elif suffix in PARQUET:
        try:
            atomic_write(path, frame.to_parquet(index=False))
        except ImportError as error:
            raise ImportError(_NEEDS_PYARROW) from error
    else:
        packing = "gzip" if is_packed(path) else None
        with atomic_file(path) as file:
            csv_frame(frame, escape).to_csv(
                file, mode="wb", sep=SEPARATORS[suffix], index=False, encoding="utf-8", compression=packing
            )


def csv_frame(frame: pd.DataFrame, escape: bool = True) -> pd.DataFrame:
    """Return the frame as it is written to a CSV file: by default with an apostrophe before text like a formula."""
    if not escape:
        return frame
    texts = [j for j, kind in enumerate(frame.dtypes) if getattr(kind, "kind", "O") not in "biufcmM"]
    escaped = frame.copy()
    for j in texts:
        escaped.isetitem(j, frame.iloc[:, j].map(escape_formula, na_action="ignore"))
    return escaped.rename(columns=escape_formula)


def check_columns(names: Iterable[str], frame: pd.DataFrame, path: Path) -> None:
    """Raise a ValueError that names the columns a table lacks, and those it has with similar names."""
    check_names(names, list(frame.columns), path)


def _read_text(pandas: ModuleType, path: Path, suffix: str, header: bool) -> pd.DataFrame:
    # As text: types guessed from one file may differ in the next, and predictions would differ with them. The encoder
    # recognises numbers and dates once, from the training rows. Only an empty cell is missing.
    opened = _opener(path)
    with opened() as file:
        encoding, separator = encoding_and_separator(file, suffix)
    options = {"sep": separator, "dtype": str, "keep_default_na": False, "na_values": [""]}

    def read(encoding: str, **more: object) -> pd.DataFrame:
        with opened() as file:
            frame: pd.DataFrame = pandas.read_csv(file, encoding=encoding, **options, **more)
            return frame

    first = "infer" if header else None
    try:
        frame = read(encoding, header=first)
    except UnicodeDecodeError:
        if not encoding.startswith("utf-8"):
            raise
        encoding = "cp1252"
        frame = read(encoding, header=first)
        warn(f"{_named(path)} is not in UTF-8: its letters are read as Windows-1252 (Western Europe)")
    if header:
        with opened() as file:
            doubt = header_doubt(file, encoding, separator)
        # pandas renames the second of two equal names, so the first line is read once more as it is.
        names = read(encoding, header=None, nrows=1).iloc[0]
        _check_different(path, [name.strip() for name in names if isinstance(name, str)], doubt)
        if doubt:
            warn(f"{_named(path)}: {doubt}")
    else:
        frame.columns = numbered_names(frame.shape[1])
    if separator == ";":
        frame = frame.apply(lambda column: column.map(_decimal_point, na_action="ignore"))
    return frame


def _read_sheet(pandas: ModuleType, path: Path, header: bool) -> pd.DataFrame:
    names, rows = read_sheet(path, header)
    if header:
        _check_different(path, names)
    else:
        names = numbered_names(len(rows[0]) if rows else 0)
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=names, dtype="str")
    return frame


def _read_parquet(pandas: ModuleType, path: Path) -> pd.DataFrame:
    try:
        frame: pd.DataFrame = pandas.read_parquet(path)
    except ImportError as error:
        raise ImportError(_NEEDS_PYARROW) from error
    return frame


def _opener(path: Path) -> Callable[[], io.BufferedIOBase]:
    """Return a function that opens a table of text from its beginning; standard input is read once, into memory."""
    return partial(open_text, path) if path != STANDARD_STREAM else partial(io.BytesIO, sys.stdin.buffer.read())


def _named(path: Path) -> str:
    return "standard input" if path == STANDARD_STREAM else str(path)


def _check_different(path: Path, names: Sequence[str], doubt: str = "") -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        listed = " and two named ".join(map(repr, repeated[:3])) + (" and more" if len(repeated) > 3 else "")
        hint = doubt or "rename them in its first line so that all differ"
        raise ValueError(f"{_named(path)} has two columns named {listed}: {hint}")


def _decimal_point(text: str) -> str:
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text


def _pandas() -> ModuleType:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError('reading tables needs pandas: pip install "gramian[tables]"') from error
