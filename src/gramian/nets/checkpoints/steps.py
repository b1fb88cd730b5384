"""The checkpoints of a training run in order, with the step that each has in its name."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gramian.nets.checkpoints.opening import SUFFIXES, weight_files

_DIGITS = re.compile(r"(\d+)")
_MAGIC = re.compile(r"[*?[]")


@dataclass(frozen=True)
class RunCheckpoint:
    """A checkpoint of a run: its path, its name, and its training step."""

    path: Path
    name: str
    step: int


def is_pattern(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a pattern with ``*``, ``?`` or ``[`` and not the name of a file.

    >>> is_pattern("run/step-*"), is_pattern("run/step-100")
    (True, False)
    """
    return bool(_MAGIC.search(os.fspath(path))) and not Path(path).exists()


def is_run(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder that holds checkpoints of a run, and no weights of its own."""
    folder = Path(path)
    return folder.is_dir() and len(_inside(folder)) > 0 and not _is_checkpoint(folder)


def find_checkpoints(where: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[RunCheckpoint]:
    """Return the checkpoints of a run in the order of their steps.

    Parameters
    ----------
    where
        A folder that holds ``step-100``, ``checkpoint-200`` or ``epoch=3.ckpt`` (folders or files), a pattern such as
        ``"run/step-*"``, or the paths themselves.

    Returns
    -------
    list
        In natural order (2 before 10). The step is the number in the name that differs between all of them, the last
        one if there are several; without such a number steps count from 0, and paths keep their order.

    >>> [(one.name, one.step) for one in find_checkpoints(["step-10.pt", "step-9.pt"])]
    [('step-9.pt', 9), ('step-10.pt', 10)]
    """
    if isinstance(where, str | os.PathLike):
        paths = _expand(where)
        given = False
    else:
        paths = [Path(path) for path in where]
        given = True
    if not paths:
        raise ValueError(f"{where!r} names no checkpoint")
    if len(set(paths)) < len(paths):
        raise ValueError(f"a checkpoint is named twice among {[str(path) for path in paths]}")
    steps = _steps([_stem(path) for path in paths])
    if steps is None:
        ordered = paths if given else sorted(paths, key=lambda path: _natural(path.name))
        return [RunCheckpoint(path, path.name, i) for i, path in enumerate(ordered)]
    found = [RunCheckpoint(path, path.name, step) for path, step in zip(paths, steps, strict=True)]
    return sorted(found, key=lambda one: one.step)


def _expand(where: str | os.PathLike[str]) -> list[Path]:
    path = Path(where)
    if is_pattern(where):
        found = [Path(name) for name in sorted(glob.glob(os.fspath(where)))]
        found = [one for one in found if _is_checkpoint(one)]
        if not found:
            raise ValueError(f"no checkpoint matches {os.fspath(where)!r}: files end in {', '.join(SUFFIXES)}")
        return found
    if not path.is_dir():
        raise ValueError(f"{path} is not a folder of checkpoints, nor a pattern such as 'run/step-*'")
    found = _inside(path)
    if not found:
        raise ValueError(f"{path} holds no checkpoints with a number in their name, such as step-100 or epoch-3.pt")
    return found


def _inside(folder: Path) -> list[Path]:
    """Return the checkpoints with a number in their name, as folders or else as files."""
    numbered = [path for path in sorted(folder.iterdir()) if _DIGITS.search(path.name)]
    folders = [path for path in numbered if path.is_dir() and _is_checkpoint(path)]
    if folders:
        return folders
    files = [path for path in weight_files(folder) if _DIGITS.search(path.stem) and "-of-" not in path.name]
    return files if len(files) > 1 else []


def _is_checkpoint(path: Path) -> bool:
    if path.is_file():
        return path.suffix.lower() in SUFFIXES
    if not path.is_dir():
        return False
    files = weight_files(path)
    sharded = any(path.glob("*.index.json"))
    return sharded or len(files) == 1 or (len(files) > 1 and (path / "config.json").is_file())


def _stem(path: Path) -> str:
    return path.stem if path.suffix.lower() in SUFFIXES else path.name


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in _DIGITS.split(name) if part]


def _steps(names: Sequence[str]) -> list[int] | None:
    """Return the number of each name that tells all of them apart, or None."""
    numbers = [[int(part) for part in _DIGITS.findall(name)] for name in names]
    if len(names) == 1:
        return [numbers[0][-1]] if numbers[0] else None
    if len({len(found) for found in numbers}) > 1:
        return None
    for j in reversed(range(len(numbers[0]))):
        column = [found[j] for found in numbers]
        if len(set(column)) == len(column):
            return column
    return None
