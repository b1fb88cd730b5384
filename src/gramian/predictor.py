"""Predictions of an exported model with NumPy alone: no torch, no scikit-learn, no pandas.

``model.export("m.npz")`` writes the file and :func:`load` opens it. This module imports nothing of gramian: it can be
copied next to the file and used where gramian is not installed. Loading runs no code of the file. The arrays of a file
take at most 16 times its size and 64 MB, and the predictor made of them at most 64 times as much as they and 64 MB.

All numbers are computed in float64, row by row: a prediction does not depend on the other rows of the call.

>>> import numpy as np, tempfile, pathlib
>>> from gramian import RFMRegressor
>>> X = np.random.default_rng(0).normal(size=(60, 2))
>>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0])
>>> model.export(path := pathlib.Path(tempfile.mkdtemp()) / "m.npz")
>>> bool(np.allclose(load(path).predict(X), model.predict(X)))
True
"""

from __future__ import annotations

import datetime as dt
import io
import json
import math
import numbers
import os
import warnings
import zipfile
import zlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Predictor", "PredictorFileError", "load"]

Array = NDArray[np.float64]
FORMAT = 1
"""Number of the file format; a later one is refused."""
MANIFEST = "manifest.json"
MOST_TEXT = 4_000_000
"""Largest manifest in bytes: the objects parsed from it take at most about thirty times as much."""
_BOOLEANS = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0, "TRUE": 1.0, "FALSE": 0.0}
_NEAR = 1e-6
"""Below this multiple of ‖u‖² a squared distance is computed from the difference, which loses no digits."""


class PredictorFileError(ValueError):
    """A file cannot be opened as a predictor; the message contains the remedy."""


def most_bytes(file_bytes: int) -> int:
    """Return the largest total size of the arrays that a file of this size may unpack to."""
    return 16 * file_bytes + 64_000_000


def load(path: str | os.PathLike[str]) -> Predictor:
    """Open a file written by ``model.export("m.npz")``.

    Raises :class:`PredictorFileError` for any other file, and for one that is cut short or damaged.
    """
    try:
        manifest, arrays = _unpack(path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise PredictorFileError(f"{path} is no predictor file, or it is damaged ({error}): export it again") from error
    if manifest.get("format") != FORMAT:
        raise PredictorFileError(
            f"{path} has the format {manifest.get('format')!r} of gramian {manifest.get('gramian')!r}, and this file "
            f"reads format {FORMAT}: export the model again, or use the predictor.py of that gramian"
        )
    try:
        return Predictor.build(manifest, arrays)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise PredictorFileError(f"{path}: its parts do not fit together ({error!r}): export it again") from error


def _unpack(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return manifest and arrays of a file; sizes are checked before anything is unpacked."""
    with zipfile.ZipFile(path) as archive:
        infos = {info.filename: info for info in archive.infolist()}
        if MANIFEST not in infos:
            raise PredictorFileError(f'{path} is no predictor file: write one with model.export("m.npz")')
        text, total = infos[MANIFEST].file_size, sum(info.file_size for info in infos.values())
        if text > MOST_TEXT or total > most_bytes(os.path.getsize(path)) or len(infos) > 10_000:
            raise PredictorFileError(f"{path} would take {total / 1e6:,.0f} MB: it was not written by gramian")
        try:
            manifest = json.loads(archive.read(MANIFEST))
        except (ValueError, RecursionError) as error:
            raise PredictorFileError(f"{path} is damaged: its manifest is no JSON text") from error
        if not isinstance(manifest, dict):
            raise PredictorFileError(f"{path} is damaged: its manifest is no JSON object")
        names = [name for name in infos if name.endswith(".npy")]
        return manifest, {name[:-4]: _array(path, archive.read(name)) for name in names}


def _array(path: str | os.PathLike[str], content: bytes) -> NDArray[Any]:
    """Read an array in NumPy's format without a copy: never objects, and of the size that its header says."""
    file = io.BytesIO(content)
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("unknown version")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype.kind not in "biuf" or fortran or len(content) - file.tell() != math.prod(shape) * dtype.itemsize:
            raise ValueError("unexpected type or size")
        return np.frombuffer(content, dtype, offset=file.tell()).reshape(shape)
    except ValueError as error:
        raise PredictorFileError(f"{path} is damaged: an array cannot be read ({error}): export it again") from error


# ---- columns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnCode:
    """Encoding of one column: a number, an ordered category as its place from 0 to 1, or a category as 0 and 1.

    Attributes
    ----------
    kind : "number", "ordered" or "category"
    kept : list of int
        The encoded columns that are used, of all that the kind has.
    fill : float
        Replaces a missing number or place.
    value, indicator, expected : bool
        A number itself is used; missing entries have a column; training rows had missing entries (else a warning).
    knots, scores : ndarray or None
        A number's normal score is interpolated between these points.
    levels : list of str
    other, missing : bool
        Further columns of a category, for levels that have no column and for missing entries.
    counted : dict from str to int
        Training rows of a level, for the column ``log(1 + rows)`` of a category with ``other``.
    """

    kind: str
    kept: list[int]
    fill: float = 0.0
    value: bool = True
    indicator: bool = False
    expected: bool = True
    knots: Array | None = None
    scores: Array | None = None
    levels: list[str] = field(default_factory=list)
    other: bool = False
    missing: bool = False
    counted: dict[str, int] = field(default_factory=dict)

    @property
    def slots(self) -> tuple[int, int, int]:
        """Number of 0/1 columns of a category, the one of an unknown level (behind the last if none), of a missing."""
        slots = len(self.levels) + self.other + self.missing
        unknown = len(self.levels) if self.other else slots
        return slots, unknown, slots - 1 if self.missing else unknown

    def encode(self, values: NDArray[Any], name: str, blanks: frozenset[str]) -> Array:
        """Return the encoded columns ``(n, k)``; ``blanks`` are texts of missing entries, unless they are levels."""
        known = {*self.levels, *self.counted}
        if self.kind == "category":
            return self._category([_text(value, blanks, known) for value in values.tolist()])[:, self.kept]
        if self.kind not in ("number", "ordered"):
            raise ValueError(f"unknown kind of column {self.kind!r}")
        if self.kind == "ordered":
            places = {level: i / max(len(self.levels) - 1, 1) for i, level in enumerate(self.levels)}
            texts = [_text(value, blanks, known) for value in values.tolist()]
            x = np.array([places.get(text or "", np.nan) for text in texts], dtype=float)
        else:
            x = _numbers(values, name, blanks)
        gone = np.isnan(x)
        if not self.expected and gone.any():
            warnings.warn(
                f"{gone.sum()} entries of {name!r} are missing: the column's mean replaces them", stacklevel=4
            )
        filled = np.where(gone, self.fill, x)
        parts = [filled] if self.value else []
        if self.knots is not None and self.scores is not None:
            parts.append(np.interp(filled, self.knots, self.scores))
        return np.stack([*parts, gone] if self.indicator else parts, axis=1)[:, self.kept]

    def _category(self, texts: list[str | None]) -> Array:
        slots, unknown, gone = self.slots
        slot: dict[str | None, int] = {level: i for i, level in enumerate(self.levels)} | {None: gone}
        at = np.array([slot.get(text, unknown) for text in texts])
        hot = np.where(at == 2, 0.5, at)[:, None] if slots == 2 else at[:, None] == np.arange(slots)
        counts = [0 if text is None else self.counted.get(text, 1) for text in texts]
        return np.column_stack([hot, np.log1p(counts)] if self.other else [hot]).astype(np.float64)


def _numbers(values: NDArray[Any], name: str, blanks: frozenset[str]) -> Array:
    if values.dtype.kind in "biuf":
        x = values.astype(np.float64)
    elif values.dtype.kind == "M":  # a list of them may hold whole numbers
        raise ValueError(f"column {name!r} holds dates, and the model needs a number")
    elif values.dtype.kind == "m":
        x = values / np.timedelta64(1, "D")
    else:
        x = np.array([_number(value, name, blanks) for value in values.tolist()], dtype=np.float64)
    if np.isinf(x).any():
        raise ValueError(f"column {name!r} contains infinity: replace it by a number or by a missing value")
    return x


def _number(value: Any, name: str, blanks: frozenset[str]) -> float:
    if isinstance(value, numbers.Real | Decimal) and not isinstance(value, np.timedelta64):
        return math.nan if _is_missing(value) else float(value)
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(days=1)
    if isinstance(value, dt.time):  # since midnight
        return (value.hour + (value.minute + (value.second + value.microsecond / 1e6) / 60) / 60) / 24
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "D"))
    text = _text(value, blanks)
    try:
        return math.nan if text is None else _BOOLEANS[text] if text in _BOOLEANS else float(text)
    except ValueError as error:
        raise ValueError(f"column {name!r} holds the value {value!r}, and the model needs a number") from error


def _text(value: Any, blanks: frozenset[str], known: Container[str] = ()) -> str | None:
    """Return the level of a value, None where it is missing: 1, 1.0 and "1" are the same level.

    A text among ``blanks`` is missing, with or without spaces around it, unless the very text is a known level.
    """
    if not isinstance(value, str):
        if _is_missing(value):
            return None
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_ | numbers.Integral):
            value = str(int(float(value))) if float(value).is_integer() else repr(float(value))
    text = str(value)
    return None if text.strip() in blanks and text not in known else text


def _is_missing(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


# ---- kernels ---------------------------------------------------------------------------------------------------------


def _lp(u: Array, points: Array, options: dict[str, float]) -> Array:
    """``exp(−(D^{1/p}/L)^q)`` with ``D = Σ_k |u_k − v_k|^p``; ``points (k, n)`` are columns."""
    p, q = options["p"], options["exponent"]
    delta = np.abs(points - u[:, None])
    D = (delta if p == 1 else delta**p).sum(axis=0)
    return np.exp(-((D if q == p else D ** (q / p)) / options["length"] ** q))


def _square(u: Array, points: Array, norms: Array) -> Array:
    own = u @ u
    square = norms + own - 2 * (u @ points)
    near = np.flatnonzero(square <= _NEAR * own)
    if len(near):
        square[near] = ((points[:, near] - u[:, None]) ** 2).sum(axis=0)
    return square


def _radial(name: str, square: Array, options: dict[str, float]) -> Array:
    if name == "gaussian":
        return np.exp(square * (-0.5 / options["length"] ** 2))
    if name == "exponential":
        return np.exp(-((square / options["length"] ** 2) ** (options["exponent"] / 2)))
    a = np.sqrt(square) / options["length"]
    if name == "laplace":
        return np.exp(-a)
    if name != "matern":
        raise ValueError(f"unknown kernel {name!r}")
    a *= math.sqrt(2 * options["nu"])
    return (1 + a + (a**2 / 3 if options["nu"] == 2.5 else 0)) * np.exp(-a)


def _angular(u: Array, points: Array, norms: Array, options: dict[str, float]) -> Array:
    """The kernels of wide ReLU networks, ``‖u‖ ‖v‖ h(θ)``: NNGP, or NTK where ``tangent`` is 1."""
    lengths, own = np.sqrt(norms), math.sqrt(u @ u)
    unit = points / np.where(lengths > 0, lengths, 1)
    square = _square(u / (own or 1.0), unit, (unit**2).sum(axis=0))
    theta = 2 * np.arcsin(np.minimum(np.sqrt(square) / 2, 1))
    rho = h = np.cos(theta)
    for layer in range(int(options["depth"])):
        angle = theta if layer == 0 else np.arccos(np.clip(rho, -1, 1))
        rho = (np.sin(angle) + (math.pi - angle) * np.cos(angle)) / math.pi
        h = h * (1 - angle / math.pi) + rho if options["tangent"] else rho
    return own * lengths * h


# ---- the fitted function ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CenterSum:
    """``Σⱼ αⱼ k(u(x), uⱼ)`` with centres in kernel coordinates ``points (k, n)`` and coefficients ``coef (n, c)``.

    ``u(x) = Fᵀ(s(x) − shift)``: scores s where there are any, interpolated in column j between ``(knots, values)``, and
    a factor F of the metric (a vector: its diagonal). A sum with a ``leaf`` counts with the share of that leaf.
    """

    kernel: str
    options: dict[str, float]
    points: Array
    norms: Array
    coef: Array
    shift: Array
    factor: Array | None
    scores: list[tuple[int, Array, Array]]
    leaf: int | None
    narrow: bool
    """The centres are float32, and so are new rows: a training row is at distance 0 from itself."""

    @classmethod
    def build(cls, part: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> CenterSum:
        """Make a sum from its entry in the manifest."""
        narrow = arrays[part["rows"]].dtype == np.float32
        rows, coef, shift = (arrays[part[name]].astype(np.float64) for name in ("rows", "coef", "shift"))
        factor = None if part["factor"] is None else arrays[part["factor"]].astype(np.float64)
        scores = [(j, arrays[knots], arrays[values]) for j, knots, values in part["scores"]]
        options = {name: float(value) for name, value in part["options"].items()}
        width = len(shift)
        if rows.shape != (len(coef), width) or (factor is not None and not width == len(factor) >= factor.shape[-1]):
            raise ValueError("rows, coefficients and metric have other shapes")
        bare = cls(part["kernel"], options, rows, shift, coef, shift, factor, scores, part["leaf"], narrow)
        points = np.ascontiguousarray(bare.coordinates(rows).T)
        return replace(bare, points=points, norms=(points**2).sum(axis=0))

    def coordinates(self, z: Array) -> Array:
        """Return standardised rows ``(…, d)`` in kernel coordinates."""
        if self.scores:
            z = z.copy()
            for j, knots, values in self.scores:
                z[..., j] = np.interp(z[..., j], knots, values)
        z = z - self.shift
        return z if self.factor is None else z * self.factor if self.factor.ndim == 1 else z @ self.factor

    def __call__(self, z: Array) -> Array:
        """Return the sum ``(c,)`` at a standardised row ``(d,)``."""
        u = self.coordinates(z.astype(np.float32).astype(np.float64) if self.narrow else z)
        if self.kernel == "lp":
            values = _lp(u, self.points, self.options)
        elif self.kernel == "polynomial":
            values = (u @ self.points + self.options["offset"]) ** int(self.options["degree"])
        elif self.kernel == "exponential-dot":
            values = np.exp((u @ self.points) / self.options["scale"])
        elif self.kernel == "network":
            values = _angular(u, self.points, self.norms, self.options)
        else:
            values = _radial(self.kernel, _square(u, self.points, self.norms), self.options)
        return values @ self.coef


@dataclass(frozen=True, eq=False)
class LeafShares:
    """Shares of the leaves of a tree; a row in the band around a threshold belongs to both sides.

    ``directions (s, d)``, ``thresholds (s,)``, half ``widths (s,)`` of the bands, and for each leaf its path: pairs of
    a node and a side, where 1 is right.
    """

    directions: Array
    thresholds: Array
    widths: Array
    paths: list[list[list[int]]]

    def __call__(self, z: Array) -> list[float]:
        """Return the share of each leaf in the prediction of a standardised row."""
        past = self.directions @ z - self.thresholds
        soft = self.widths > 0
        ramp = np.clip(past / (2 * np.where(soft, self.widths, 1)) + 0.5, 0, 1)
        right = np.where(soft, ramp, past > 0)
        return [math.prod(right[node] if side else 1 - right[node] for node, side in path) for path in self.paths]


@dataclass(frozen=True, eq=False)
class Predictor:
    """An exported model: preprocessing, kernel sums, and the map from outputs to numbers or labels.

    Attributes
    ----------
    names : list of str
        The columns of the training table; ``x0, x1, …`` where it had no names (``named`` is then False).
    labels : ndarray or None
        The classes of a classifier.
    """

    names: list[str]
    named: bool
    columns: list[ColumnCode | None]
    blanks: frozenset[str]
    center: Array
    scale: Array
    support: NDArray[np.intp]
    sums: list[CenterSum]
    shares: LeafShares | None
    out_center: Array
    out_scale: Array
    target: dict[str, Any]
    labels: NDArray[Any] | None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return numbers ``(n,)`` or ``(n, c)``, or labels ``(n,)``.

        Parameters
        ----------
        X : array or list of rows (n, d), frame, or list of dicts from column to value
            Columns are found by name where the training table had names and X has; others are ignored.
        """
        out = self.outputs(X)
        if self.labels is not None:
            return np.asarray(self.labels[(out[:, 0] > 0).astype(int) if out.shape[1] == 1 else out.argmax(axis=1)])
        y, to = (out[:, 0] if self.target["flat"] else out), self.target
        with np.errstate(over="ignore"):
            if to["name"] == "log":
                y = np.exp(y)
            elif to["name"] == "shifted-log":
                y = np.where(np.isinf(y), y, to["sign"] * (to["shift"] + to["scale"] * np.expm1(to["sign"] * y)))
        low, high = (sign * math.inf if to[name] is None else to[name] for name, sign in (("low", -1), ("high", 1)))
        return np.asarray(np.clip(y, low, high))

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities ``(n, classes)``."""
        if self.labels is None:
            raise AttributeError("the model is a regression, which has no probabilities: use predict")
        f, link = self.outputs(X), self.target
        f = np.column_stack([(1 - f) / 2, (1 + f) / 2]) if f.shape[1] == 1 else f  # the codes are −1 and 1
        if link["name"] == "softmax":
            f = f / link["temperature"]
        else:
            f = link["exponent"] * np.log(np.maximum(f, 0) + link["offset"])
        p = np.exp(f - f.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def outputs(self, X: Any) -> Array:
        """Return outputs ``(n, c)``: scores of classes, or targets on the scale on which they were fitted."""
        if self.plain and type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biuf" and np.isfinite(X).all():
            rows = X.astype(np.float64)
            if rows.shape[1] != len(self.names):
                raise ValueError(f"X has {rows.shape[1]} columns, and the model was fitted to {len(self.names)}")
        else:
            parts = []
            for code, values, name in zip(self.columns, self._read(X), self.names, strict=True):
                if code is not None:
                    parts.append(code.encode(values, name, self.blanks))
            rows = np.hstack(parts)
        return self.outputs_at((rows - self.center) / self.scale)

    def outputs_at(self, Z: Array) -> Array:
        """Return outputs ``(n, c)`` at standardised rows ``(n, d)``."""
        parts = np.array([self._at(z) for z in Z[:, self.support]]).reshape(len(Z), len(self.out_center))
        return np.asarray(parts * self.out_scale + self.out_center)

    @property
    def plain(self) -> bool:
        """True if the training table had complete columns of numbers only."""
        return all(code is not None and code.kind == "number" and not code.expected for code in self.columns)

    def _at(self, z: Array) -> Array:
        shares = [] if self.shares is None else self.shares(z)
        total = np.zeros(len(self.out_center))
        for part in self.sums:
            share = 1.0 if part.leaf is None else shares[part.leaf]
            if share > 0:
                total += share * part(z)
        return total

    def _read(self, X: Any) -> list[NDArray[Any]]:
        """Return the columns of a table as arrays, in the order of the training table."""
        if hasattr(X, "columns") and hasattr(X, "shape"):  # a frame of pandas or polars
            found = {str(name): name for name in X.columns}
            if len(found) < len(X.columns):
                raise ValueError("more than one column of X has the same name: rename them")
            names = self.names if self.named else list(found)
            self._check(set(found), names)
            columns = [np.asarray(X[found[name]]) for name in names]
        elif isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
            for row in X:
                self._check(set(row), self.names)
            columns = [np.fromiter((row[name] for row in X), dtype=object, count=len(X)) for name in self.names]
        else:
            if isinstance(X, np.ma.MaskedArray):
                gone, X = np.ma.getmaskarray(X), X.data.astype(object)
                X[gone] = None
            table = np.array(X, dtype=object) if isinstance(X, list | tuple) else np.asarray(X)
            if table.ndim != 2:
                raise ValueError(f"X has {table.ndim} dimensions: pass rows and columns, or a list of dicts")
            columns = list(table.T)
        if len(columns) != len(self.names):
            raise ValueError(f"X has {len(columns)} columns, and the model was fitted to {len(self.names)}")
        return columns

    def _check(self, found: set[Any], names: list[str]) -> None:
        lost = [name for name in names if name not in found]
        if lost:
            raise ValueError(f"X has no column {', '.join(map(repr, lost[:5]))}: pass None for a missing entry")

    @classmethod
    def build(cls, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Predictor:
        """Make a predictor from manifest and arrays, whose shapes are checked against one another."""
        used = sum(arrays[part["rows"]].size * 8 for part in manifest["sums"])
        if used > 64 * sum(array.nbytes for array in arrays.values()) + 64_000_000:
            raise ValueError("the sums would take much more memory than the arrays")
        tree, labels = manifest["tree"], manifest["labels"]
        parts = ("directions", "thresholds", "widths")
        wide = {name: arrays[name].astype(np.float64) for name in ("center", "scale", "out_center", "out_scale")}
        made = cls(
            names=[str(name) for name in manifest["names"]],
            named=bool(manifest["named"]),
            columns=[None if entry is None else _column(entry, arrays) for entry in manifest["columns"]],
            blanks=frozenset(manifest["blanks"]),
            support=arrays["support"].astype(np.intp),
            sums=[CenterSum.build(part, arrays) for part in manifest["sums"]],
            shares=None
            if tree is None
            else LeafShares(**{name: arrays[tree[name]] for name in parts}, paths=tree["paths"]),
            target=manifest["target"],
            labels=None if labels is None else _labels(**labels),
            **wide,
        )
        if not made.sums or (made.labels is not None and len(made.labels) != max(2, len(made.out_center))):
            raise ValueError("the numbers of sums, labels and outputs")
        with warnings.catch_warnings():  # a row of gaps meets every part: what does not fit is an error now
            warnings.simplefilter("ignore")
            gaps = np.full((1, len(made.names)), None, dtype=object)
            _ = made.predict(gaps) if made.labels is None else made.predict_proba(gaps)
        return made


def _column(entry: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ColumnCode:
    named = {name: arrays[entry[name]] for name in ("knots", "scores") if entry.get(name) is not None}
    return ColumnCode(**{**entry, **named})


def _labels(values: list[Any], dtype: str) -> NDArray[Any]:
    longest = max(len(value) if isinstance(value, str) else 8 for value in values)
    if np.dtype(dtype).itemsize > 8 or longest * len(values) > MOST_TEXT:
        raise ValueError("labels that take too much memory")
    return np.array(values, dtype=dtype)
