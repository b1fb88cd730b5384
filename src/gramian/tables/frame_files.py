"""Tables on disk: CSV, TSV and Parquet files to pandas frames, and frames to files (needs pandas)."""

from __future__ import annotations

import difflib
import gzip
import importlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gramian.core.atomic import atomic_file, atomic_write
from gramian.core.paths import check_exists, did_you_mean
from gramian.core.warn import warn
from gramian.tables.formulas import escape_formula
from gramian.tables.text_encoding import text_encoding

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_JSON_LINES = ".jsonl"
_READABLE = ", ".join((*_SEPARATORS, *_PARQUET))
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_ENCODING_BYTES = 2**16
"""Bytes at the beginning of a file from which its encoding is recognised."""
_NAMED_COLUMNS = 20
"""The columns of a table that an error names at most."""


def read_frame(path: Path, missing: Sequence[str] = ()) -> pd.DataFrame:
    """Read a table from a file; its suffix gives the format, and ``.gz`` may follow that of a text file.

    A ``.csv`` whose first line has semicolons or tabs and no comma is read with those as separators; with semicolons
    ``1,5`` is read as 1.5, as spreadsheets write it where the comma is decimal. Text is in UTF-8, in UTF-16 or UTF-32
    (with a byte order mark or without), or else in Windows-1252. Cells that equal one of the texts in ``missing`` are
    empty. Two columns of one name are refused.
    """
    pandas = _pandas()
    suffix = _table_suffix(path)
    check_exists(path, f"a table ends in {_READABLE}")
    try:
        frame = pandas.read_parquet(path) if suffix in _PARQUET else _read_text(pandas, path, suffix)
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow: pip install "gramian[tables]"') from error
    except (ValueError, EOFError, gzip.BadGzipFile) as error:  # the parsing errors of pandas are ValueErrors
        raise ValueError(f"{path} cannot be read as a table: {error}") from error
    if frame.shape[1] == 0 or len(frame) == 0:
        raise ValueError(f"{path} holds no rows: a table needs a line of column names and at least one row")
    if suffix not in _PARQUET and not isinstance(frame.index, pandas.RangeIndex):
        raise ValueError(f"{path} cannot be read as a table: its rows have more values than its first line has names")
    frame.columns = [str(name).strip() for name in frame.columns]
    _check_names(path, list(frame.columns))
    return frame.mask(frame.isin(list(missing))) if missing else frame


def write_frame(frame: pd.DataFrame, path: Path, escape: bool = True) -> None:
    """Write a frame in the format that the suffix of the file asks for: CSV, TSV, Parquet or JSON lines.

    With ``escape``, text in CSV and TSV files that a spreadsheet would run as a formula has an apostrophe before it.
    """
    if path.suffix.lower() == _JSON_LINES:
        atomic_write(path, frame.to_json(orient="records", lines=True, double_precision=15, force_ascii=False))
        return
    suffix = _table_suffix(path)
    if suffix in _PARQUET:
        try:
            atomic_write(path, frame.to_parquet(index=False))
        except ImportError as error:
            raise ImportError('Parquet files need pyarrow: pip install "gramian[tables]"') from error
    else:
        packing = "gzip" if path.suffix.lower() == ".gz" else None
        with atomic_file(path) as file:
            csv_frame(frame, escape).to_csv(
                file, mode="wb", sep=_SEPARATORS[suffix], index=False, encoding="utf-8", compression=packing
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


def check_frame_suffix(path: Path) -> None:
    """Raise a ValueError if :func:`write_frame` knows no format for the suffix of the file.

    >>> check_frame_suffix(Path("predictions.csv.gz"))
    """
    if path.suffix.lower() != _JSON_LINES:
        _table_suffix(path)


def check_columns(names: Iterable[str], frame: pd.DataFrame, path: Path) -> None:
    """Raise a ValueError that names the columns a table lacks, and those it has with similar names."""
    missing = [name for name in names if name not in frame.columns]
    if not missing:
        return
    listed = ", ".join(repr(name) for name in missing[:5])
    listed += f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    exact = {name.lower(): name for name in frame.columns}
    close = difflib.get_close_matches(missing[0].lower(), exact, n=3)
    more = f" and {frame.shape[1] - _NAMED_COLUMNS} more" if frame.shape[1] > _NAMED_COLUMNS else ""
    present = f"it has {', '.join(frame.columns[:_NAMED_COLUMNS])}{more}"
    hint = did_you_mean(exact[name] for name in close) if close else present
    raise ValueError(f"{path} has no column{'s' if len(missing) > 1 else ''} {listed}; {hint}")


def _read_text(pandas: ModuleType, path: Path, suffix: str) -> pd.DataFrame:
    # As text: types guessed from one file may differ in the next, and predictions would differ with them. The encoder
    # recognises numbers and dates once, from the training rows. Only an empty cell is missing.
    encoding = _encoding(path)
    separator = _separator(path, suffix, encoding)
    options = {"sep": separator, "dtype": str, "keep_default_na": False, "na_values": [""]}
    try:
        frame = pandas.read_csv(path, encoding=encoding, **options)
    except UnicodeDecodeError:
        if not encoding.startswith("utf-8"):
            raise
        encoding = "cp1252"
        frame = pandas.read_csv(path, encoding=encoding, **options)
        warn(f"{path} is not in UTF-8: its letters are read as Windows-1252 (Western Europe)")
    # pandas renames the second of two equal names, so the first line is read once more as it is.
    names = pandas.read_csv(path, encoding=encoding, header=None, nrows=1, **options).iloc[0]
    _check_names(path, [name.strip() for name in names if isinstance(name, str)])
    if separator == ";":
        frame = frame.apply(lambda column: column.map(_decimal_point, na_action="ignore"))
    return frame


def _check_names(path: Path, names: Sequence[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        listed = " and two named ".join(map(repr, repeated[:3])) + (" and more" if len(repeated) > 3 else "")
        raise ValueError(f"{path} has two columns named {listed}: rename them in its first line so that all differ")


def _decimal_point(text: str) -> str:
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text


def _table_suffix(path: Path) -> str:
    parts = [part.lower() for part in path.suffixes]
    last = parts[-2] if len(parts) > 1 and parts[-1] == ".gz" else parts[-1] if parts else ""
    if last not in _SEPARATORS and (last not in _PARQUET or parts[-1] == ".gz"):
        raise ValueError(
            f"{path}: the suffix of a table gives its format; use one of {_READABLE} (or .csv.gz, .tsv.gz)"
        )
    return last


def _opened(path: Path) -> io.BufferedReader | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _encoding(path: Path) -> str:
    with _opened(path) as file:
        return text_encoding(file.read(_ENCODING_BYTES))


def _separator(path: Path, suffix: str, encoding: str) -> str:
    with _opened(path) as file, io.TextIOWrapper(file, encoding=encoding, errors="replace") as text:
        first = text.readline()
    if suffix == ".csv" and "," not in first:
        return next((mark for mark in (";", "\t") if mark in first), ",")
    return _SEPARATORS[suffix]


def _pandas() -> ModuleType:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError('reading tables needs pandas: pip install "gramian[tables]"') from error
