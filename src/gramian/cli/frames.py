"""Tables on disk: CSV, TSV and Parquet into frames, and frames back."""

from __future__ import annotations

import difflib
import gzip
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from gramian.cli.target import odd_words

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_KNOWN = ", ".join((*_SEPARATORS, *_PARQUET))
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")

missing_option: Callable[[Any], Any] = click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    help="Text that stands for no value, such as NA or ?; may be given several times. An empty cell always does.",
)


def read_frame(path: Path, missing: Sequence[str] = ()) -> Any:
    """The table in a file, as a pandas frame; its suffix says what it is, and ``.gz`` may follow for text.

    A ``.csv`` whose first line has semicolons or tabs and no comma is read with those; with semicolons ``1,5`` is 1.5,
    as spreadsheets write it where the comma is decimal. Cells that read as one of ``missing`` are empty.
    """
    pandas = _pandas()
    suffix = _suffix(path)
    check_exists(path, f"a table ends in {_KNOWN}")
    try:
        frame = pandas.read_parquet(path) if suffix in _PARQUET else _read_text(pandas, path, suffix)
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow: pip install "gramian[tables]"') from error
    except (ValueError, EOFError, gzip.BadGzipFile) as error:  # pandas' own errors of parsing are ValueErrors
        raise ValueError(f"{path} cannot be read as a table: {error}") from error
    if frame.shape[1] == 0 or len(frame) == 0:
        raise ValueError(f"{path} holds no rows: a table needs a line of column names and at least one row")
    if suffix not in _PARQUET and not isinstance(frame.index, pandas.RangeIndex):
        raise ValueError(f"{path} cannot be read as a table: its rows have more values than its first line has names")
    frame.columns = [str(name).strip() for name in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{path} has two columns named {twice[0]!r}: rename one of them in its first line")
    return frame.mask(frame.isin(list(missing))) if missing else frame


def _read_text(pandas: Any, path: Path, suffix: str) -> Any:
    # As text: types that are guessed from one file may differ in the next, and then so would predictions. The encoder
    # finds out about numbers and dates, once, from the training rows; only nothing at all is missing.
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


def write_frame(frame: Any, path: Path) -> None:
    """Write a frame in the format its file's suffix asks for."""
    if path.suffix.lower() == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15, force_ascii=False)
        return
    suffix = _suffix(path)
    if suffix in _PARQUET:
        try:
            frame.to_parquet(path, index=False)
        except ImportError as error:
            raise ImportError('Parquet files need pyarrow: pip install "gramian[tables]"') from error
    else:
        frame.to_csv(path, sep=_SEPARATORS[suffix], index=False)


def check_writable(path: Path, *others: Path | None) -> None:
    """Raise before the work is done if its result could not be written, or would be over one of the other files.

    ``others`` are what the command reads, and what else it writes.
    """
    for other in others:
        if other is not None and _is_same(path, other):
            raise ValueError(f"{path} would be written over {other}, which the same command uses: name another file")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it, such as {path / 'model.gramian'}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}: make it first")


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names are of one file, there or not yet; links count, of both kinds."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def check_table_writable(path: Path, *others: Path | None) -> None:
    """The same for a table, whose name must also say what it is to be."""
    if path.suffix.lower() != ".jsonl":
        _suffix(path)
    check_writable(path, *others)


def check_exists(path: Path, hint: str) -> None:
    """Raise a FileNotFoundError that names files beside it that look alike, or says what to look for."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.exists():
        return
    beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, beside, n=2, cutoff=0.7)
    raise FileNotFoundError(f"there is no file {path}; {_did_you_mean(close) if close else hint}")


def _did_you_mean(names: Iterable[str]) -> str:
    return f"did you mean {' or '.join(map(repr, names))}?"


def check_columns(names: Iterable[str], frame: Any, path: Path) -> None:
    """Raise a ValueError that says which columns a table lacks, and which it has that look alike."""
    missing = [name for name in names if name not in frame.columns]
    if not missing:
        return
    shown = ", ".join(repr(name) for name in missing[:5]) + (
        f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    )
    exact = {name.lower(): name for name in frame.columns}
    close = difflib.get_close_matches(missing[0].lower(), exact, n=3)
    more = f" and {frame.shape[1] - 20} more" if frame.shape[1] > 20 else ""
    hint = _did_you_mean(exact[name] for name in close) if close else f"it has {', '.join(frame.columns[:20])}{more}"
    raise ValueError(f"{path} has no column{'s' if len(missing) > 1 else ''} {shown}; {hint}")


def rows_for(model: Any, frame: Any, path: Path) -> Any:
    """The columns of a frame that a model was fitted to, in its order; others, such as the target, are left out."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        # A column that the encoder left out (an identifier, a constant) makes no difference, there or not.
        encoder = getattr(model, "encoder_", None)
        used = names if encoder is None else [names[j] for j in sorted(set(encoder.groups_.tolist()))]
        check_columns(used, frame, path)
        _check_numbers(encoder, frame, path)
        return frame.reindex(columns=list(names))
    if frame.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{path} has {frame.shape[1]} columns, and the model was fitted to {model.n_features_in_} without names"
        )
    return frame.to_numpy()


def _check_numbers(encoder: Any, frame: Any, path: Path) -> None:
    """Raise a ValueError that says how to go on where a column holds words and the model learned numbers."""
    for record in [] if encoder is None else encoder.records_:
        words = odd_words(frame[record.name])[0] if record.kind == "number" and record.name in frame else []
        if words:
            options = " ".join(f"--missing {shlex.quote(word)}" for word in words[:5])
            raise ValueError(
                f"{path}: {record.name!r} holds {', '.join(map(repr, words[:5]))} where the model learned from "
                f"numbers; if that means no value: {options}"
            )


def _suffix(path: Path) -> str:
    parts = [part.lower() for part in path.suffixes]
    last = parts[-2] if len(parts) > 1 and parts[-1] == ".gz" else parts[-1] if parts else ""
    if last not in _SEPARATORS and (last not in _PARQUET or parts[-1] == ".gz"):
        raise ValueError(
            f"{path}: the end of a table's name says what it is; use one of {_KNOWN} (or .csv.gz, .tsv.gz)"
        )
    return last


def _separator(path: Path, suffix: str) -> str:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        first = file.readline()
    if suffix == ".csv" and "," not in first:
        return next((mark for mark in (";", "\t") if mark in first), ",")
    return _SEPARATORS[suffix]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError('reading tables needs pandas: pip install "gramian[tables]"') from error
    return pandas
