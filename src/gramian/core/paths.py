"""Checks of paths that a user named: errors that say what is wrong and what to do, before any work is done."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path

from gramian.core.atomic import check_folder, check_target


def check_exists(path: Path, hint: str) -> None:
    """Raise an error if there is no such file; it suggests files with a similar name, or gives ``hint``.

    >>> check_exists(Path("no/such.csv"), "tables end in .csv")
    Traceback (most recent call last):
    FileNotFoundError: there is no file no/such.csv; tables end in .csv
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if path.exists():
        return
    neighbours = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    similar = difflib.get_close_matches(path.name, neighbours, n=5, cutoff=0.7)
    # Without the suffixes: all tables of a folder end in .csv, which makes short names look alike.
    close = [name for name in similar if difflib.SequenceMatcher(None, path.stem, Path(name).stem).ratio() >= 0.6][:2]
    raise FileNotFoundError(f"there is no file {path}; {did_you_mean(close) if close else hint}")


def check_writable(path: Path, *others: Path | None) -> None:
    """Raise an error if a result could not be written to ``path``, or would overwrite one of the ``others``.

    ``others`` are the files that the same work reads, and the other files that it writes; None is ignored.
    """
    for other in others:
        if other is not None and _is_same(path, other):
            raise ValueError(f"{path} would be written over {other}, which the same command uses: name another file")
    target = check_target(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} for {path.name}: make it first")
    check_folder(path)


def check_suffix(path: Path, suffixes: Sequence[str], what: str) -> None:
    """Raise a ValueError if a file's name does not end in one of ``suffixes``, in small or capital letters.

    >>> check_suffix(Path("page.HTML"), (".html", ".htm"), "a page")
    >>> check_suffix(Path("page.pdf"), (".html", ".htm"), "a page")
    Traceback (most recent call last):
    ValueError: page.pdf cannot be written: the name of a page must end in .html or .htm, such as page.html
    """
    if path.suffix.lower() not in suffixes:
        example = path.with_suffix(suffixes[0]).name if path.stem.strip(".") else f"name{suffixes[0]}"
        raise ValueError(
            f"{path} cannot be written: the name of {what} must end in {' or '.join(suffixes)}, such as {example}"
        )


def did_you_mean(names: Iterable[str]) -> str:
    """Return a question that suggests names.

    >>> did_you_mean(["price", "prize"])
    "did you mean 'price' or 'prize'?"
    """
    return f"did you mean {' or '.join(map(repr, names))}?"


def _is_same(path: Path, other: Path) -> bool:
    """Return whether two paths name one file, which need not exist; symbolic and hard links count."""
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()
