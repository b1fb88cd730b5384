"""Tables on disk: CSV, TSV and Parquet into frames, and frames back."""

from __future__ import annotations

import difflib
import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")
_KNOWN = ", ".join((*_SEPARATORS, *_PARQUET))


def read_frame(path: Path) -> Any:
    """The table in a file, as a pandas frame; its suffix says what it is, and ``.gz`` may follow for text.

    A ``.csv`` whose first line has semicolons or tabs and no comma is read with those.
    """
    pandas = _pandas()
    suffix = _suffix(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        if suffix in _PARQUET:
            frame = pandas.read_parquet(path)
        else:
            # As text: types that are guessed from one file may differ in the next, and then so would predictions. The
            # encoder finds out about numbers and dates, once, from the training rows; only nothing at all is missing.
            frame = pandas.read_csv(
                path, sep=_separator(path, suffix), dtype=str, keep_default_na=False, na_values=[""]
            )
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow: pip install "gramian[tables]"') from error
    except (ValueError, EOFError, gzip.BadGzipFile) as error:  # pandas' own errors of parsing are ValueErrors
        raise ValueError(f"{path} cannot be read as a table: {error}") from error
    if frame.shape[1] == 0 or len(frame) == 0:
        raise ValueError(f"{path} holds no rows: a table needs a line of column names and at least one row")
    if suffix not in _PARQUET and not isinstance(frame.index, pandas.RangeIndex):
        raise ValueError(f"{path} cannot be read as a table: its rows have more values than its first line has names")
    frame.columns = [str(name) for name in frame.columns]
    return frame


def write_frame(frame: Any, path: Path) -> None:
    """Write a frame in the format its file's suffix asks for."""
    suffix = _suffix(path)
    if suffix in _PARQUET:
        try:
            frame.to_parquet(path, index=False)
        except ImportError as error:
            raise ImportError('Parquet files need pyarrow: pip install "gramian[tables]"') from error
    else:
        frame.to_csv(path, sep=_SEPARATORS[suffix], index=False)


def check_writable(path: Path) -> None:
    """Raise before the work is done if its result could not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it, such as {path / 'model.gramian'}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}: make it first")


def check_columns(names: Iterable[str], frame: Any, path: Path) -> None:
    """Raise a ValueError that says which columns a table lacks, and which it has that look alike."""
    missing = [name for name in names if name not in frame.columns]
    if not missing:
        return
    shown = ", ".join(repr(name) for name in missing[:5]) + (
        f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    )
    close = difflib.get_close_matches(missing[0], frame.columns, n=3)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {', '.join(frame.columns[:20])}"
    raise ValueError(f"{path} has no column{'s' if len(missing) > 1 else ''} {shown}; {hint}")


def rows_for(model: Any, frame: Any, path: Path) -> Any:
    """The columns of a frame that a model was fitted to, in its order; others, such as the target, are left out."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        check_columns(names, frame, path)
        return frame[list(names)]
    if frame.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{path} has {frame.shape[1]} columns, and the model was fitted to {model.n_features_in_} without names"
        )
    return frame.to_numpy()


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
