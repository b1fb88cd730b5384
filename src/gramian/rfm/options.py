"""Options of the estimators: presets, names, the tree of kernel machines, and where the work is done."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils import check_random_state

from gramian.core.compute import Compute, is_integer
from gramian.core.options import Options, named
from gramian.features import BY_NAME as UPDATES
from gramian.features import Agop, Update
from gramian.kernels import BY_NAME as KERNELS
from gramian.kernels import Exponential, Gaussian, Kernel, Laplace, Lp, ScoredLp
from gramian.solvers import BY_NAME as EXACT_SOLVERS
from gramian.solvers import Direct, Solver
from gramian.tables import TableEncoder
from gramian.tables.prepare import ReadingOptions
from gramian.tables.row_losses import MetricLike

PresetName = Literal["fast", "default", "best"]
KernelName = Literal[
    "auto",
    "laplace",
    "gaussian",
    "matern",
    "exponential",
    "lp",
    "scored-lp",
    "polynomial",
    "exponential-dot",
    "ntk",
    "nngp",
]
UpdateName = Literal["auto", "agop", "agop-diagonal", "agop-sqrt", "fact", "fact-geometric"]
SolverName = Literal["auto", "direct", "cg", "nystrom", "eigenpro", "tree"]
RandomState = int | np.integer[Any] | np.random.RandomState | None


@dataclass(frozen=True)
class TreePartition(Options):
    """A tree of kernel machines: the rows are split along learned directions, with an exact solve in each leaf.

    Up to ``leaf_rows`` rows there is one leaf. See :mod:`gramian.rfm.training.grow_tree`.

    Parameters
    ----------
    leaf_rows : int
        Rows of a leaf, at most.
    overlap : float
        Share of a node's rows that belong to both of its children; predictions change linearly across this band.
    seed : int
        Selects the rows on which directions are found.
    workers : int, optional
        Leaves solved at a time, each on one thread; None for as many as torch has threads.
    features : "shared", "leaf" or "auto"
        Whether all leaves share one M, or each learns its own from up to 1,500 of its rows, starting with the shared
        one. ``"auto"`` fits a part of the rows of a few leaves both ways, and other rows of them decide for the whole
        tree; with ``groups`` or ``time`` leaves share M.

    >>> TreePartition(leaf_rows=2000, overlap=0.0).n_centers(1_000_000)
    1000000
    """

    leaf_rows: int = 8000
    overlap: float = 0.1
    seed: int = 0
    workers: int | None = None
    features: str = "shared"

    def __post_init__(self) -> None:
        if self.features not in ("auto", "shared", "leaf"):
            raise ValueError(f'TreePartition needs features of "auto", "shared" or "leaf", got {self.features!r}')
        if self.leaf_rows < 2:
            raise ValueError(f"TreePartition needs leaf_rows of at least 2, got {self.leaf_rows}")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"TreePartition needs at least 1 of workers, got {self.workers}")
        if not 0 <= self.overlap < 0.5:
            raise ValueError(f"TreePartition needs an overlap from 0 to below 0.5, got {self.overlap}")

    @property
    def at_once(self) -> int:
        """Number of leaves that are solved at a time in this process."""
        return torch.get_num_threads() if self.workers is None else self.workers

    def splits(self, n: int) -> bool:
        """Tell whether n rows need more than one leaf."""
        return n > self.leaf_rows

    def n_centers(self, n: int) -> int:
        """Return the number of rows of all leaves together; rows in bands belong to several leaves."""
        if not self.splits(n):
            return n
        depth = math.ceil(math.log(n / self.leaf_rows) / math.log(2 / (1 + self.overlap)))
        return int(n * (1 + self.overlap) ** depth)


AnySolver = Solver | TreePartition
SOLVERS: dict[str, AnySolver] = {**EXACT_SOLVERS, "tree": TreePartition()}
"""Solvers by the name an estimator takes: each object with its defaults."""


@dataclass(frozen=True)
class Preset:
    """Kernels and updates that compete, rounds of each pair, and the number of models that may predict together."""

    kernels: tuple[Kernel, ...]
    updates: tuple[Update, ...]
    n_rounds: int
    max_members: int
    bagging: bool = False


PRESETS: dict[str, Preset] = {
    "fast": Preset((Laplace(),), (Agop(), Agop(diagonal=True)), n_rounds=2, max_members=1),
    "default": Preset(
        (Laplace(), Lp(), Gaussian(), ScoredLp()), (Agop(), Agop(diagonal=True)), n_rounds=4, max_members=4
    ),
    "best": Preset(
        (Laplace(), Lp(), Gaussian(), ScoredLp(), Exponential(exponent=0.7), Lp(exponent=0.7)),
        (Agop(), Agop(diagonal=True), Agop(power=0.5), Agop(diagonal=True, shrink=0.3)),
        n_rounds=5,
        max_members=8,
        bagging=True,
    ),
}
"""Presets by name."""


def preset(name: object) -> Preset:
    """Return the preset of a name, or raise a ValueError that lists the names.

    >>> preset("fast").n_rounds
    2
    """
    if isinstance(name, str) and name in PRESETS:
        return PRESETS[name]
    raise ValueError(f"preset must be one of {', '.join(map(repr, PRESETS))}, got {name!r}")


def is_auto(value: object) -> bool:
    """Tell whether an argument is the string ``"auto"``."""
    return isinstance(value, str) and value == "auto"


def _named_kernel(kernel: object) -> Kernel:
    return named(kernel, KERNELS, "kernel", Kernel)  # type: ignore[type-abstract]


def _named_update(update: object) -> Update:
    return named(update, UPDATES, "update", Update)  # type: ignore[type-abstract]


def resolve_kernels(kernel: object, chosen: Preset) -> tuple[Kernel, ...]:
    """Return the kernels that compete: the preset's for ``"auto"``, else the one named or given."""
    return chosen.kernels if is_auto(kernel) else (_named_kernel(kernel),)


def resolve_updates(update: object, chosen: Preset, d: int, agop_rows: int | None) -> tuple[Update, ...]:
    """Return the updates that compete for d columns; automatic ones average gradients over at most ``agop_rows``."""
    if not is_auto(update):
        return (_named_update(update),)
    updates = chosen.updates if d > 1 else (Agop(),)
    return updates if agop_rows is None else tuple(u.with_params(max_rows=agop_rows) for u in updates)


def resolve_solver(solver: object) -> AnySolver:
    """Return the solver of a name, or the solver itself; a ValueError lists the names."""
    if isinstance(solver, Solver | TreePartition):
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]
    names = ", ".join(f'"{name}"' for name in SOLVERS)
    raise ValueError(f"solver must be one of {names}, or a Solver object; got {solver!r}")


def nested_options(owner: str, value: object, options: Mapping[str, Any]) -> Options | TableEncoder:
    """Replace options of the object behind an argument; ``"auto"`` stands for the default of its kind.

    >>> nested_options("kernel", "auto", {"bandwidth": 3.0})
    Laplace(bandwidth=3.0, bandwidth_scale=1.0)
    """
    if owner == "encoder":
        encoder: TableEncoder = clone(value) if isinstance(value, TableEncoder) else TableEncoder()
        encoder.set_params(**options)
        return encoder
    found: Options
    if owner == "kernel":
        found = Laplace() if is_auto(value) else _named_kernel(value)
    elif owner == "update":
        found = Agop() if is_auto(value) else _named_update(value)
    else:
        found = Direct() if is_auto(value) else resolve_solver(value)
    return found.with_params(**options)


def nested_params(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Group parameters such as ``kernel__bandwidth`` by their owner.

    All options of one owner are set together: each alone might contradict the present values of the others.

    >>> nested_params({"kernel__bandwidth": 3.0, "ridge": 0.1})
    {'kernel': {'bandwidth': 3.0}}
    """
    nested: dict[str, dict[str, Any]] = {}
    for name, value in params.items():
        owner, separator, option = name.partition("__")
        if separator:
            if owner not in ("kernel", "update", "solver", "encoder"):
                raise ValueError(f"{name!r}: only kernel, update, solver, encoder have options of their own")
            nested.setdefault(owner, {})[option] = value
    return nested


def resolve_seed(random_state: RandomState) -> int:
    """Return a seed for what scikit-learn calls a random state."""
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


@dataclass(frozen=True)
class FitOptions:
    """The arguments of an estimator, checked, with every name resolved."""

    preset: Preset
    kernels: tuple[Kernel, ...]
    update: str | Update
    n_rounds: int
    select_last: bool
    metric: MetricLike
    ridge: float | None
    ridge_per_row: bool
    solver: AnySolver | None
    standardize: bool
    fit_intercept: bool
    feature_threshold: float | None
    bagging: bool
    time_limit: float | None
    checkpoint: Path | None
    n_threads: int | None
    seed: int
    verbose: int
    compute: Compute

    @classmethod
    def resolve(cls, params: Mapping[str, Any]) -> FitOptions:
        """Check the parameters of an estimator; a ValueError names the argument, its value and what it may be."""
        chosen = preset(params["preset"])
        if params["select_round"] not in ("best", "last"):
            raise ValueError(f'select_round must be "best" or "last", got {params["select_round"]!r}')
        if (scaling := params["ridge_scaling"]) not in (None, "n"):
            raise ValueError(f'ridge_scaling must be None (K + λI) or "n" (K + nλI), got {scaling!r}')
        n_rounds = chosen.n_rounds if is_auto(params["n_rounds"]) else params["n_rounds"]
        if not (is_integer(n_rounds) and n_rounds >= 0):
            raise ValueError(f'n_rounds must be a non-negative integer or "auto", got {n_rounds!r}')
        limit = params["time_limit"]
        if limit is not None and not (_is_number(limit) and limit > 0):
            raise ValueError(f"time_limit must be a positive number of seconds or None, got {limit!r}")
        bagging = chosen.bagging if is_auto(params["bagging"]) else params["bagging"]
        if not isinstance(bagging, bool | np.bool_):
            raise ValueError(f'bagging must be True, False or "auto", got {bagging!r}')
        ridge = params["ridge"]
        if not (is_auto(ridge) or (_is_number(ridge) and 0 <= ridge < float("inf"))):
            raise ValueError(f'ridge must be a non-negative number or "auto", got {ridge!r}')
        n_threads = params["n_threads"]
        if n_threads is not None and not (is_integer(n_threads) and n_threads >= 1):
            raise ValueError(f"n_threads must be an integer of at least 1, got {n_threads!r}")
        threshold = params["feature_threshold"]
        if threshold is not None and not (_is_number(threshold) and 0 <= threshold < 1):
            raise ValueError(f"feature_threshold must be in [0, 1) or None, got {threshold!r}")
        for name in ("standardize", "fit_intercept"):
            if not isinstance(params[name], bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {params[name]!r}")
        if not (is_integer(params["verbose"]) or isinstance(params["verbose"], bool)) or params["verbose"] < 0:
            raise ValueError(f"verbose must be 0, 1 or 2, got {params['verbose']!r}")
        folder = params["checkpoint"]
        if folder is not None and (folder == "" or not isinstance(folder, str | os.PathLike)):
            raise ValueError(f"checkpoint must be the path of a folder, got {folder!r}")
        return cls(
            preset=chosen,
            kernels=resolve_kernels(params["kernel"], chosen),
            update=params["update"],
            n_rounds=int(n_rounds),
            select_last=params["select_round"] == "last",
            metric=params["metric"],
            ridge=None if is_auto(ridge) else float(ridge),
            ridge_per_row=scaling == "n",
            solver=None if is_auto(params["solver"]) else resolve_solver(params["solver"]),
            standardize=bool(params["standardize"]),
            fit_intercept=bool(params["fit_intercept"]),
            feature_threshold=threshold,
            bagging=bool(bagging),
            time_limit=limit,
            checkpoint=None if folder is None else Path(folder),
            n_threads=None if n_threads is None else int(n_threads),
            seed=resolve_seed(params["random_state"]),
            verbose=int(params["verbose"]),
            compute=Compute.resolve(
                params["device"], params["dtype"], params["max_memory"], params["n_jobs"], params["cluster"]
            ),
        )

    @property
    def center(self) -> bool:
        """Column means are subtracted; where only differences of rows count, that changes nothing but saves digits."""
        return self.standardize or all(kernel.translation_invariant for kernel in self.kernels)

    def reading(self, owner: str, encoder: str | TableEncoder, scale_target: bool, sample_rows: int) -> ReadingOptions:
        """Return the options for reading tables and targets of an estimator of class ``owner``."""
        return ReadingOptions(
            owner=owner,
            encoder=encoder,
            standardize=self.standardize,
            center=self.center,
            fit_intercept=self.fit_intercept,
            scale_target=scale_target,
            device=self.compute.device,
            dtype=self.compute.dtype,
            on_cluster=self.compute.on_cluster,
            sample_rows=sample_rows,
            seed=self.seed,
            max_bytes=self.compute.max_bytes,
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
