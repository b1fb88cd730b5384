"""A fitted model as a manifest of names and numbers and a few arrays, from which predictors are made."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gramian.core.version import __version__
from gramian.kernels import (
    NNGP,
    NTK,
    Diagonal,
    Exponential,
    ExponentialDot,
    Gaussian,
    Identity,
    Kernel,
    Laplace,
    LowRank,
    Lp,
    Matern,
    Metric,
    Polynomial,
    ScoredLp,
)
from gramian.predictor import FORMAT, Predictor
from gramian.rfm.export.columns import NotExportableError, column_entries, missing_texts
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Ensemble, FittedRFM
from gramian.rfm.tree import Splits, TreeMachine
from gramian.tables.links import PowerLink, SoftmaxLink
from gramian.tables.targets import ClassTarget, Target

FloatFormat = Literal["auto", "float32"]

_KERNELS: dict[type[Kernel], tuple[str, tuple[str, ...]]] = {
    Laplace: ("laplace", ("length",)),
    Gaussian: ("gaussian", ("length",)),
    Exponential: ("exponential", ("length", "exponent")),
    Matern: ("matern", ("length", "nu")),
    Lp: ("lp", ("length", "p", "exponent")),
    ScoredLp: ("lp", ("length", "p", "exponent")),
    Polynomial: ("polynomial", ("degree", "offset")),
    ExponentialDot: ("exponential-dot", ("scale",)),
    NNGP: ("network", ("depth",)),
    NTK: ("network", ("depth",)),
}
"""Name of each kernel in the manifest, and the attributes that are its options there."""


@dataclass(frozen=True, eq=False)
class Description:
    """A manifest of names and numbers, and the arrays it refers to by name; see :mod:`gramian.predictor`."""

    manifest: dict[str, object]
    arrays: dict[str, NDArray[np.generic]]


def describe(model: FittedRFM, dtype: FloatFormat = "auto") -> Description:
    """Describe a fitted model by plain numbers and names, or raise :class:`NotExportableError` with the reason.

    Parameters
    ----------
    model : FittedRFM
    dtype : "auto" or "float32"
        Format of the centres and coefficients: the one they have in the model, or float32 for a file of half the size.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = describe(RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0]).model_)
    >>> found.manifest["names"], found.arrays["center"].shape
    (['x0', 'x1'], (2,))
    """
    if dtype not in ("auto", "float32"):
        raise ValueError(f'dtype must be "auto" or "float32", got {dtype!r}')
    store = _Arrays()
    reader, scaler = model.preprocessing.reader, model.preprocessing.scaler
    store.put(scaler.center, "center")
    store.put(scaler.scale, "scale")
    store.put(np.flatnonzero(model.features.support).astype(np.int32), "support")
    store.put(model.target_scaler.center, "out_center")
    store.put(model.target_scaler.scale, "out_scale")
    sums, tree = _sums(model.ensemble, store, dtype == "float32")
    manifest: dict[str, object] = {
        "format": FORMAT,
        "gramian": __version__,
        "names": list(model.columns.names),
        "named": reader.feature_names is not None,
        "columns": column_entries(model.preprocessing, store.put),
        "blanks": missing_texts(),
        "sums": sums,
        "tree": tree,
        "target": _target(model),
        "labels": _labels(model.target),
    }
    return Description(manifest, store.arrays)


def predictor_of(model: FittedRFM, dtype: FloatFormat = "auto") -> Predictor:
    """Return the predictor that a file of this model gives, without the file."""
    found = describe(model, dtype)
    return Predictor.build(found.manifest, found.arrays)


class _Arrays:
    """Arrays under short names; equal ones are stored once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[np.generic]] = {}
        self._names: dict[bytes, str] = {}

    def put(self, array: NDArray[np.generic], name: str | None = None) -> str:
        """Store an array and return its name: the given one, or that of an equal array."""
        array = np.ascontiguousarray(array)
        key = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode() + array.tobytes()).digest()
        if name is None:
            name = self._names.setdefault(key, f"a{len(self.arrays)}")
        self.arrays[name] = array
        return name


def _sums(ensemble: Ensemble, store: _Arrays, narrow: bool) -> tuple[list[object], object]:
    """Return the entries of all kernel sums, and that of the tree, if there is one."""
    parts: list[tuple[KernelMachine, float, int | None]] = []
    tree: object = None
    for machine, share in zip(ensemble.machines, ensemble.shares, strict=True):
        if isinstance(machine, KernelMachine):
            parts.append((machine, share, None))
        elif tree is not None:
            raise NotExportableError("the model is an average of several trees of kernel machines")
        else:
            tree = _tree(machine, store)
            parts += [(leaf, share, index) for index, leaf in enumerate(machine.leaves)]
    used = _used_rows([machine for machine, _, _ in parts])
    return [_sum(*part, rows, store, narrow) for part, rows in zip(parts, used, strict=True)], tree


def _used_rows(machines: Sequence[KernelMachine]) -> list[NDArray[np.intp]]:
    """Return the rows of each machine that have a coefficient in it or in another machine with the same rows."""
    keys = [hashlib.sha256(machine.X.cpu().numpy().tobytes()).digest() for machine in machines]
    used: dict[bytes, NDArray[np.bool_]] = {}
    for key, machine in zip(keys, machines, strict=True):
        here = (machine.coef != 0).any(dim=1).cpu().numpy()
        used[key] = used[key] | here if key in used else here
    return [np.flatnonzero(used[key]) if used[key].any() else np.zeros(1, dtype=np.intp) for key in keys]


def _sum(
    machine: KernelMachine, share: float, leaf: int | None, used: NDArray[np.intp], store: _Arrays, narrow: bool
) -> dict[str, object]:
    kernel = machine.kernel
    if type(kernel) not in _KERNELS:
        raise NotExportableError(f"the predictor does not know the kernel {type(kernel).__name__}")
    name, attributes = _KERNELS[type(kernel)]
    options: dict[str, object] = {each: float(getattr(kernel, each)) for each in attributes}
    if name == "network":
        options["tangent"] = float(isinstance(kernel, NTK))
    rows = machine.X.cpu().numpy()[used]
    coef = machine.coef.cpu().numpy().astype(np.float64)[used] * share
    if narrow:
        rows, coef = rows.astype(np.float32), coef.astype(np.float32)
    shift = machine.operator.shift.cpu().numpy() if kernel.translation_invariant else np.zeros(rows.shape[1])
    factor = _factor(machine.metric)
    return {
        "kernel": name,
        "options": options,
        "rows": store.put(rows),
        "coef": store.put(coef),
        "shift": store.put(shift.astype(np.float64)),
        "factor": None if factor is None else store.put(factor),
        "scores": _scores(kernel, rows.dtype, store),
        "leaf": leaf,
    }


def _factor(metric: Metric) -> NDArray[np.float64] | None:
    if isinstance(metric, Identity):
        return None
    if isinstance(metric, Diagonal):
        return metric.weights.sqrt().cpu().numpy().astype(np.float64)
    if isinstance(metric, LowRank):
        return metric.factor.cpu().numpy().astype(np.float64)
    raise NotExportableError(f"the predictor does not know the metric {type(metric).__name__}")


def _scores(kernel: Kernel, dtype: np.dtype[np.generic], store: _Arrays) -> list[object]:
    """Return ``[column, knots, scores]`` of each column that a kernel of scores replaces."""
    if not isinstance(kernel, ScoredLp) or kernel.scores is None:
        return []
    found: list[object] = []
    table = (kernel.scores.columns, kernel.scores.knots, kernel.scores.scores)
    for column, knots, scores in zip(*(part.cpu().numpy() for part in table), strict=True):
        there = np.isfinite(knots)
        # In the format of the rows: where knots are close, a rounded value must meet its rounded knot.
        at = knots[there].astype(dtype).astype(np.float64)
        found.append([int(column), store.put(at), store.put(scores[there].astype(np.float64))])
    return found


def _tree(machine: TreeMachine, store: _Arrays) -> dict[str, object]:
    splits = machine.splits
    arrays = {"directions": splits.directions, "thresholds": splits.thresholds, "widths": splits.widths}
    named: dict[str, object] = {name: store.put(part.cpu().numpy().astype(np.float64)) for name, part in arrays.items()}
    paths = _paths(splits)
    return {**named, "paths": [paths[leaf] for leaf in range(splits.n_leaves)]}


def _paths(splits: Splits) -> dict[int, object]:
    """Return for each leaf the pairs ``[node, side]`` on the path to it."""
    found: dict[int, object] = {}
    open_: list[tuple[int, list[object]]] = [(0, [])]
    children = splits.children.tolist()
    while open_:
        node, path = open_.pop()
        for side, child in enumerate(children[node]):
            way: list[object] = [*path, [node, side]]
            if child < 0:
                found[-1 - child] = way
            else:
                open_.append((child, way))
    return found


def _target(model: FittedRFM) -> dict[str, object]:
    """Return the map from outputs to predictions: the transform of a number, or the link of probabilities."""
    if not isinstance(model.target, ClassTarget):
        to = model.target.transform
        limits: dict[str, object] = {
            name: value if np.isfinite(value) else None for name, value in (("low", to.low), ("high", to.high))
        }
        return {
            "name": to.name, "flat": model.target.flat, "sign": to.sign, "shift": to.shift, "scale": to.scale, **limits
        }  # fmt: skip
    link = model.link
    if isinstance(link, SoftmaxLink):
        return {"name": "softmax", "temperature": link.temperature}
    if isinstance(link, PowerLink):
        return {"name": "power", "exponent": link.exponent, "offset": link.offset}
    raise NotExportableError(f"the predictor does not know the link {type(link).__name__} of the probabilities")


def _labels(target: Target) -> object:
    if not isinstance(target, ClassTarget):
        return None
    values = target.classes.tolist()
    if not all(isinstance(value, bool | int | float | str) for value in values):
        raise NotExportableError(
            f"the labels are of type {type(values[0]).__name__}: the file can hold text, numbers and booleans"
        )
    dtype = target.classes.dtype
    return {"values": values, "dtype": dtype.kind if dtype.kind in "UO" else dtype.str}
