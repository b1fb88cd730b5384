"""Inputs and targets for a network, read from files: NumPy arrays, tables, and folders of pictures."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.core.paths import check_exists
from gramian.datasets.picture_files import PICTURE_SUFFIXES, read_pictures
from gramian.tables.frame_files import check_columns, read_frame

_INPUTS = ("X", "x", "x_test", "X_test", "inputs", "input", "data", "images", "features")
_TARGETS = ("y", "Y", "y_test", "targets", "target", "labels", "label")
"""Names under which the arrays of an ``.npz`` are looked for, in this order."""
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs (n, ...) and targets; ``classes`` are the names behind the numbers of ``y``, where those were words.

    ``total`` is the number of rows in the file, of which ``X`` may be a random part.
    """

    X: Array
    y: Array | None
    classes: tuple[str, ...]
    total: int


@dataclass(frozen=True)
class SampleOptions:
    """Options of reading samples: the number of rows to draw, and the format of a file.

    ``target`` is a column of a table, an array of an ``.npz``, or the path of an ``.npy``; ``drop`` and ``missing`` are
    columns to leave out and texts that mean an empty cell; ``image_size`` is the height and width of pictures.
    """

    n_samples: int
    seed: int = 0
    target: str | None = None
    drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    image_size: tuple[int, int] | None = None

    def draw(self, total: int) -> NDArray[np.intp]:
        """Return the indices of all rows in order, or of a random part drawn without replacement.

        >>> SampleOptions(n_samples=5).draw(3)
        array([0, 1, 2])
        """
        if total <= self.n_samples:
            return np.arange(total)
        return np.random.default_rng(self.seed).choice(total, self.n_samples, replace=False)


def read_samples(path: Path, options: SampleOptions) -> Samples:
    """Read samples from ``.npz``, ``.npy``, a table, or a folder of pictures with a subfolder per class."""
    if path.is_dir():
        return _read_picture_folder(path, options)
    check_exists(path, "samples are read from .npz, .npy, a table, or a folder of pictures")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _read_npz(path, options)
    if suffix == ".npy":
        return _read_npy(path, options)
    return _read_table(path, options)


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as numbers by numpy ({error}): write it with numpy.savez") from error


def _read_npz(path: Path, options: SampleOptions) -> Samples:
    with _load(path) as file:
        names = list(file)
        target = options.target or next((name for name in _TARGETS if name in names), None)
        if target is not None and target not in names:
            raise ValueError(f"{path} has no array {target!r} for the targets; it has {', '.join(names)}")
        rest = [name for name in names if name != target]
        inputs = next((name for name in _INPUTS if name in rest), rest[0] if len(rest) == 1 else None)
        if inputs is None:
            raise ValueError(f"{path} has {', '.join(names) or 'nothing'}: name the inputs X (and the targets y)")
        try:
            X, y = file[inputs], None if target is None else file[target]
        except (ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} holds more than numbers in {inputs} or {target} ({error})") from error
    return _checked_draw(path, X, y, options, inputs)


def _read_npy(path: Path, options: SampleOptions) -> Samples:
    X = _load(path)
    if options.target is None:
        return _checked_draw(path, X, None, options)
    targets = Path(options.target)
    check_exists(targets, "the targets of an .npy of inputs are in an .npy of their own")
    return _checked_draw(path, X, _load(targets), options)


def _read_table(path: Path, options: SampleOptions) -> Samples:
    from pandas import to_numeric

    frame = read_frame(path, options.missing)
    others = [name for name in (options.target, *options.drop) if name is not None]
    check_columns(others, frame, path)
    y = None
    if options.target is not None:
        if frame[options.target].isna().any():
            raise ValueError(f"{path} has rows without a {options.target!r}: leave them out of the file")
        y = frame[options.target].to_numpy()
    inputs = frame.drop(columns=others)
    read = {name: to_numeric(inputs[name], errors="coerce") for name in inputs}
    text = [name for name in inputs if bool((read[name].isna() & inputs[name].notna()).any())]
    if text:
        raise ValueError(
            f"{path}: a network takes numbers, and {', '.join(map(repr, text[:5]))} hold text: drop them, or write the "
            "numbers the network was trained on"
        )
    empty = [name for name in inputs if bool(read[name].isna().any())]
    if empty:
        raise ValueError(f"{path}: {', '.join(map(repr, empty[:5]))} have empty cells: fill them as for training")
    return _checked_draw(path, np.column_stack([read[name].to_numpy(dtype=float) for name in inputs]), y, options)


def _read_picture_folder(folder: Path, options: SampleOptions) -> Samples:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in PICTURE_SUFFIXES)
    if not paths:
        raise ValueError(f"{folder} holds no pictures ({', '.join(PICTURE_SUFFIXES)}): name another folder")
    labels = np.array([path.relative_to(folder).parts[0] if path.parent != folder else "" for path in paths])
    chosen = options.draw(len(paths))
    X = read_pictures([paths[i] for i in chosen], options.image_size)
    if not labels.all():
        return Samples(X, None, (), len(paths))
    codes, classes = _as_numbers(labels)
    return Samples(X, codes[chosen], classes, len(paths))


def _checked_draw(path: Path, X: Array, y: Array | None, options: SampleOptions, name: str = "") -> Samples:
    """Raise a ValueError if the arrays are no samples for a network, then draw rows from them."""
    if X.dtype.kind not in "biuf":
        array = f"the array {name!r}" if name else "its array"
        raise ValueError(f"{path}: {array} is of type {X.dtype}, and a network takes real numbers: save it as those")
    if X.ndim < 2 or len(X) == 0:
        raise ValueError(f"{path}: inputs of shape {X.shape}; the first of at least two dimensions must be the samples")
    if y is not None and len(y) != len(X):
        raise ValueError(f"{path}: {len(X):,} inputs and {len(y):,} targets")
    chosen = options.draw(len(X))
    numbers, classes = (None, ()) if y is None else _as_numbers(np.asarray(y))
    return Samples(X[chosen], None if numbers is None else numbers[chosen], classes, len(X))


def _as_numbers(y: Array) -> tuple[Array, tuple[str, ...]]:
    """Convert targets to numbers; words become their index in alphabetical order, and are returned too."""
    if y.dtype.kind in "biuf":
        return y.astype(np.int64) if y.dtype.kind == "b" else y, ()
    words = np.array([str(value) for value in y.reshape(len(y))])
    try:
        numbers = words.astype(float)
    except ValueError:
        classes, codes = np.unique(words, return_inverse=True)
        return codes.astype(np.int64), tuple(map(str, classes))
    whole = bool(np.all(numbers == np.rint(numbers))) and not any(mark in word for word in words for mark in ".eE")
    return (numbers.astype(np.int64) if whole else numbers), ()
