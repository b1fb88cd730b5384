"""Inputs and targets for a network, from files or from a function of the user's."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from gramian.cli.frames import check_columns, check_exists, read_frame
from gramian.cli.importing import call, import_object

_INPUTS = ("X", "x", "x_test", "X_test", "inputs", "input", "data", "images", "features")
_TARGETS = ("y", "Y", "y_test", "targets", "target", "labels", "label")
_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")


@dataclass(frozen=True, eq=False)
class Samples:
    """What the model is shown: arrays, or (of a user's function) anything that ``gramian.inspect`` takes."""

    X: Any
    y: NDArray[Any] | None = None
    classes: tuple[str, ...] = ()
    """Names behind the numbers of ``y``, where targets were words."""
    total: int | None = None
    """Rows in the file, of which some were drawn; None for a function."""


@dataclass(frozen=True)
class Wanted:
    """How many rows to draw (without order), and how to read them."""

    samples: int
    seed: int = 0
    target: str | None = None
    drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    image_size: tuple[int, int] | None = None

    def draw(self, total: int) -> NDArray[np.intp]:
        """Which of ``total`` rows: all of them in order, or a draw without replacement."""
        if total <= self.samples:
            return np.arange(total)
        return np.random.default_rng(self.seed).choice(total, self.samples, replace=False)


def read_samples(source: str, wanted: Wanted) -> Samples:
    """Read ``.npz``, ``.npy``, a table, a folder of pictures, or ask a function ``package.module:name``."""
    path = Path(source)
    if ":" in source and not path.exists():
        found = import_object(source, "--data")
        return Samples(call(found, source, "--data") if callable(found) else found)
    if path.is_dir():
        return _pictures(path, wanted)
    check_exists(path, "--data takes .npz, .npy, a table, a folder of pictures, or package.module:function")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _arrays(path, wanted)
    if suffix == ".npy":
        return _array(path, wanted)
    return _table(path, wanted)


def _load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as numbers by numpy ({error}): write it with numpy.savez") from error


def _arrays(path: Path, wanted: Wanted) -> Samples:
    with _load(path) as file:
        names = list(file)
        target = wanted.target or next((name for name in _TARGETS if name in names), None)
        if target is not None and target not in names:
            raise ValueError(f"{path} has no array {target!r} for --target; it has {', '.join(names)}")
        rest = [name for name in names if name != target]
        inputs = next((name for name in _INPUTS if name in rest), rest[0] if len(rest) == 1 else None)
        if inputs is None:
            raise ValueError(f"{path} has {', '.join(names) or 'nothing'}: name the inputs X (and the targets y)")
        try:
            X, y = file[inputs], None if target is None else file[target]
        except (ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} holds more than numbers in {inputs} or {target} ({error})") from error
    return _drawn(path, X, y, wanted, inputs)


def _array(path: Path, wanted: Wanted) -> Samples:
    X = _load(path)
    if wanted.target is None:
        return _drawn(path, X, None, wanted)
    beside = Path(wanted.target)
    check_exists(beside, "beside a .npy of inputs, --target is the .npy of targets")
    return _drawn(path, X, _load(beside), wanted)


def _drawn(path: Path, X: NDArray[Any], y: NDArray[Any] | None, wanted: Wanted, name: str = "") -> Samples:
    if X.dtype.kind not in "biuf":
        array = f"the array {name!r}" if name else "its array"
        raise ValueError(f"{path}: {array} is of type {X.dtype}, and a network takes real numbers: save it as those")
    if X.ndim < 2 or len(X) == 0:
        raise ValueError(f"{path}: inputs of shape {X.shape}; the first of at least two dimensions must be the samples")
    if y is not None and len(y) != len(X):
        raise ValueError(f"{path}: {len(X):,} inputs and {len(y):,} targets")
    at = wanted.draw(len(X))
    numbers, classes = (None, ()) if y is None else _numbers(np.asarray(y))
    return Samples(X[at], None if numbers is None else numbers[at], classes, len(X))


def _table(path: Path, wanted: Wanted) -> Samples:
    from pandas import to_numeric

    frame = read_frame(path, wanted.missing)
    check_columns([name for name in (wanted.target, *wanted.drop) if name is not None], frame, path)
    y = None
    if wanted.target is not None:
        if frame[wanted.target].isna().any():
            raise ValueError(f"{path} has rows without a {wanted.target!r}: leave them out of the file")
        y = frame[wanted.target].to_numpy()
    inputs = frame.drop(columns=[name for name in (wanted.target, *wanted.drop) if name is not None])
    read = {name: to_numeric(inputs[name], errors="coerce") for name in inputs}
    text = [name for name in inputs if bool((read[name].isna() & inputs[name].notna()).any())]
    if text:
        raise ValueError(
            f"{path}: a network takes numbers, and {', '.join(map(repr, text[:5]))} hold text: --drop them, or write "
            "the numbers the network was trained on"
        )
    empty = [name for name in inputs if bool(read[name].isna().any())]
    if empty:
        raise ValueError(f"{path}: {', '.join(map(repr, empty[:5]))} have empty cells: fill them as for training")
    return _drawn(path, np.column_stack([read[name].to_numpy(dtype=float) for name in inputs]), y, wanted)


def _pictures(folder: Path, wanted: Wanted) -> Samples:
    """Pictures in subfolders named by class, or in the folder itself: numbers in [0, 1], (n, channels, h, w)."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _PICTURES)
    if not paths:
        raise ValueError(f"{folder} holds no pictures ({', '.join(_PICTURES)}), and a folder must")
    labels = np.array([path.relative_to(folder).parts[0] if path.parent != folder else "" for path in paths])
    at = wanted.draw(len(paths))
    X = _stacked([paths[i] for i in at], wanted.image_size)
    if not labels.all():
        return Samples(X, total=len(paths))
    numbers, classes = _numbers(labels)
    return Samples(X, numbers[at], classes, len(paths))


def _stacked(paths: list[Path], size: tuple[int, int] | None) -> NDArray[Any]:
    found = []
    for path in paths:
        try:
            with Image.open(path) as opened:
                image = _as_shown(opened, path)
        except (UnidentifiedImageError, OSError) as error:
            raise ValueError(f"{path} cannot be read as a picture ({error})") from error
        found.append(image if size is None else image.resize((size[1], size[0])))
    mode = "L" if all(image.mode in ("L", "F") for image in found) else "RGB"
    sizes = {image.size for image in found}
    if len(sizes) > 1:
        (w, h), (v, g) = sorted(sizes)[:2]
        raise ValueError(f"pictures of {h}×{w} and {g}×{v} pixels: --image-size {h}x{w} brings all to one size")
    stack = np.stack([_between_0_and_1(image, mode) for image in found])
    return stack[:, None] if mode == "L" else stack.transpose(0, 3, 1, 2)


def _as_shown(image: Image.Image, path: Path) -> Image.Image:
    """Grey (L), colour (RGB), or grey of 16 bits as numbers between 0 and 1 (F): 8 bits would cut those off."""
    if image.mode.startswith("I;16"):
        return Image.fromarray(np.asarray(image, dtype=np.float32) / 65535)
    if image.mode in ("I", "F"):
        raise ValueError(
            f"{path} has pixels of 32 bits (mode {image.mode}), whose largest value nothing says: save it with 8 or 16 "
            "bits, or give the numbers as .npz"
        )
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _between_0_and_1(image: Image.Image, mode: str) -> NDArray[Any]:
    pixels: NDArray[Any] = (
        np.asarray(image, dtype=np.float32) if image.mode == "F" else np.asarray(image.convert(mode)) / 255
    )
    if mode == "RGB" and pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    return pixels.astype(np.float32)


def _numbers(y: NDArray[Any]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Targets as numbers; words become 0, 1, … in the order of the alphabet, and the words come along."""
    if y.dtype.kind in "biuf":
        return y.astype(np.int64) if y.dtype.kind == "b" else y, ()
    words = np.array([str(value) for value in y.reshape(len(y))])
    try:
        found = words.astype(float)
    except ValueError:
        classes, codes = np.unique(words, return_inverse=True)
        return codes.astype(np.int64), tuple(map(str, classes))
    whole = bool(np.all(found == np.rint(found))) and not any(mark in word for word in words for mark in ".eE")
    return (found.astype(np.int64) if whole else found), ()


def as_tensors(samples: Samples, dtype: torch.dtype, keep_integers: bool) -> tuple[Tensor, Tensor | None]:
    """Inputs in the model's precision (whole numbers stay whole for a model that looks them up), and targets."""
    X = torch.from_numpy(np.ascontiguousarray(samples.X))
    X = X.long() if keep_integers and not X.is_floating_point() else X.to(dtype)
    y = None if samples.y is None else torch.from_numpy(np.ascontiguousarray(samples.y))
    return X, y
