"""The formats of tables on disk: the suffix of a file gives its format, and ``-`` is standard input or output."""

from __future__ import annotations

from pathlib import Path

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Suffixes of tables as text, with what separates their columns."""
PARQUET = (".parquet", ".pq")
EXCEL = ".xlsx"
JSON_LINES = ".jsonl"
STANDARD_STREAM = Path("-")
"""The name that stands for standard input or output; the table there is a CSV."""
_ZIP = ".gz"
_READ = (*SEPARATORS, *PARQUET, EXCEL)
READABLE = ", ".join((*_READ, ".csv.gz", ".tsv.gz"))
"""The formats of tables that are read, for messages."""
_WRITABLE = ", ".join((*_READ, JSON_LINES, ".csv.gz", ".tsv.gz"))
_ADVICE = {
    ".xls": "the old format of Excel cannot be read: save the table as .xlsx or .csv",
    ".xlsm": "workbooks with macros are not read: save the table as .xlsx or .csv",
    ".xlsb": "binary workbooks are not read: save the table as .xlsx or .csv",
    ".ods": "tables of OpenDocument are not read: save the table as .xlsx or .csv",
    ".zip": "an archive is not read: unpack it first",
}
"""Advice for files of common formats that are not read."""


def table_suffix(path: Path) -> str:
    """Return the suffix that gives the format of a table to read, in small letters; ``-`` is a CSV.

    >>> table_suffix(Path("a/Houses.CSV.gz")), table_suffix(Path("-"))
    ('.csv', '.csv')
    >>> table_suffix(Path("houses.xls"))
    Traceback (most recent call last):
    ValueError: houses.xls: the old format of Excel cannot be read: save the table as .xlsx or .csv
    """
    if path == STANDARD_STREAM:
        return ".csv"
    return _known_suffix(path, _READ, READABLE)


def output_suffix(path: Path) -> str:
    """Return the suffix that gives the format of a table to write, or raise a ValueError with the list of formats.

    >>> output_suffix(Path("predictions.jsonl"))
    '.jsonl'
    >>> output_suffix(Path("predictions.txt"))
    Traceback (most recent call last):
    ValueError: predictions.txt: the suffix of a table gives its format; use one of .csv, .tsv, .tab, ...
    """
    if path == STANDARD_STREAM:
        return ".csv"
    return _known_suffix(path, (*_READ, JSON_LINES), _WRITABLE)


def is_packed(path: Path) -> bool:
    """Return whether a text file is compressed with gzip, by its name.

    >>> is_packed(Path("a.csv.gz")), is_packed(Path("a.csv"))
    (True, False)
    """
    return path.suffix.lower() == _ZIP


def _known_suffix(path: Path, known: tuple[str, ...], listed: str) -> str:
    parts = [part.lower() for part in path.suffixes]
    packed = is_packed(path)
    last = parts[-2] if packed and len(parts) > 1 else parts[-1] if parts else ""
    if last in known and not (packed and last not in SEPARATORS):
        return last
    advice = _ADVICE.get(last, f"the suffix of a table gives its format; use one of {listed}")
    raise ValueError(f"{path}: {advice}")
