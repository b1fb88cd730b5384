"""Tables on disk: CSV, TSV and Parquet files to pandas frames, and frames to files (needs pandas)."""

from __future__ import annotations

import difflib
import gzip
import importlib
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from gramian.core.paths import check_exists, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_JSON_LINES = ".jsonl"
_READABLE = ", ".join((*_SEPARATORS, *_PARQUET))
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_NAMED_COLUMNS = 20
"""The columns of a table that an error names at most."""


def read_frame(path: Path, missing: Sequence[str] = ()) -> pd.DataFrame:
    """Read a table from a file; its suffix gives the format, and ``.gz`` may follow that of a text file.

    A ``.csv`` whose first line has semicolons or tabs and no comma is read with those as separators; with semicolons
    ``1,5`` is read as 1.5, as spreadsheets write it where the comma is decimal. Cells that equal one of the texts in
    ``missing`` are empty.
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
    duplicated = frame.columns[frame.columns.duplicated()]
    if len(duplicated):
        raise ValueError(f"{path} has two columns named {duplicated[0]!r}: rename one of them in its first line")
    return frame.mask(frame.isin(list(missing))) if missing else frame


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame in the format that the suffix of the file asks for: CSV, TSV, Parquet or JSON lines."""
    if path.suffix.lower() == _JSON_LINES:
        frame.to_json(path, orient="records", lines=True, double_precision=15, force_ascii=False)
        return
    suffix = _table_suffix(path)
    if suffix in _PARQUET:
        try:
            frame.to_parquet(path, index=False)
        except ImportError as error:
            raise ImportError('Parquet files need pyarrow: pip install "gramian[tables]"') from error
    else:
        frame.to_csv(path, sep=_SEPARATORS[suffix], index=False)


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
    separator = _separator(path, suffix)
    options = {"sep": separator, "dtype": str, "keep_default_na": False, "na_values": [""]}
    try:
        frame = pandas.read_csv(path, encoding="utf-8-sig", **options)
    except UnicodeDecodeError:
        frame = pandas.read_csv(path, encoding="cp1252", **options)
        warnings.warn(f"{path} is not in UTF-8: its letters are read as Windows-1252 (Western Europe)", stacklevel=2)
    if separator == ";":
        frame = frame.apply(lambda column: column.map(_decimal_point, na_action="ignore"))
    return frame


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


def _separator(path: Path, suffix: str) -> str:
    packed = path.suffix.lower() == ".gz"
    with (
        gzip.open(path, "rt", encoding="utf-8", errors="replace")
        if packed
        else path.open(encoding="utf-8", errors="replace")
    ) as file:
        first = file.readline()
    if suffix == ".csv" and "," not in first:
        return next((mark for mark in (";", "\t") if mark in first), ",")
    return _SEPARATORS[suffix]


def _pandas() -> ModuleType:
    try:
        return importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError('reading tables needs pandas: pip install "gramian[tables]"') from error
