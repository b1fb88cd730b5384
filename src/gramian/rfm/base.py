"""What the two estimators share: arguments, checks at the border, learned attributes."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from gramian.core import psd_eigh, resolve_device, resolve_dtype, resolve_memory, threads, wide_dtype
from gramian.core.options import Options, named
from gramian.core.rows import Rows
from gramian.features import BY_NAME as UPDATES
from gramian.features import Agop, Update
from gramian.kernels import BY_NAME as KERNELS
from gramian.kernels import Kernel, Laplace
from gramian.rfm.blend import Blend
from gramian.rfm.callbacks import CallbackSupportMixin, Watch
from gramian.rfm.compression import Compresses
from gramian.rfm.data import Array, Scaler, Table
from gramian.rfm.explains import Explains
from gramian.rfm.fitting import fit
from gramian.rfm.function import FittedFunction
from gramian.rfm.judged import Judged, leave_one_out
from gramian.rfm.large import fit_large
from gramian.rfm.machine import KernelMachine
from gramian.rfm.places import Places
from gramian.rfm.presets import preset
from gramian.rfm.rounds import Problem, Round, Rounds, Step, rounds
from gramian.rfm.saving import Saves
from gramian.rfm.settings import EvalSet, Fitted, Settings
from gramian.rfm.streaming import Streams
from gramian.rfm.summary import ShownInNotebooks
from gramian.solvers import BY_NAME as SOLVERS
from gramian.solvers import Direct, Solver, Workspace, choose
from gramian.solvers.base import warn_numbers
from gramian.solvers.choose import choose_streamed
from gramian.solvers.forecast import PART_ROWS, forecast
from gramian.tables import TableEncoder

log = logging.getLogger(__name__)

_AGOP_POINTS = 2000
R = TypeVar("R", bound="BaseRFM")
_NESTED: dict[str, tuple[Any, Any, Any]] = {
    "kernel": (KERNELS, Kernel, Laplace()),
    "update": (UPDATES, Update, Agop()),
    "solver": (SOLVERS, Solver, Direct()),
}
"""Names, kind, and what "auto" stands for once one of its options is set."""


@dataclass(frozen=True, eq=False)
class Ready:
    """Training rows that were read, encoded and merged, with targets ``(n, c)``; nothing is fitted yet."""

    rows: Table
    Y: Array
    strata: NDArray[Any] | None
    eval_set: tuple[Array, Array] | None


class BaseRFM(ShownInNotebooks, CallbackSupportMixin, Saves, Compresses, Streams, Places, Explains, FittedFunction):
    """Arguments and learned attributes of :class:`RFMRegressor` and :class:`RFMClassifier`, described there."""

    _scales_target = True

    preset: Any
    kernel: Any
    update: Any
    n_rounds: Any
    select_round: Any
    ridge: Any
    ridge_scaling: Any
    solver: Any
    standardize: Any
    fit_intercept: Any
    threshold: Any
    bagging: Any
    time_limit: Any
    checkpoint: Any
    dtype: Any
    device: Any
    max_memory: Any
    n_threads: Any
    n_jobs: Any
    cluster: Any
    random_state: Any
    verbose: Any

    def _keep(self, arguments: dict[str, Any]) -> None:
        """Put the arguments of a constructor on the estimator; scikit-learn wants them looked at in fit."""
        for name in arguments.keys() - {"self", "__class__"}:
            setattr(self, name, arguments[name])

    def set_params(self: R, **params: Any) -> R:
        """Set parameters; ``kernel__bandwidth=3.0`` replaces an option inside the kernel, update or solver."""
        own = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**own)
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            owner, _, option = name.partition("__")
            if option and isinstance(getattr(self, owner, None), TableEncoder):
                getattr(self, owner).set_params(**{option: value})
            elif option:
                if owner not in _NESTED:
                    raise ValueError(f"{name!r}: only {', '.join(_NESTED)} have options of their own")
                nested.setdefault(owner, {})[option] = value
        # All options of one owner at once: each alone might not fit the others it has now.
        for owner, options in nested.items():
            registry, kind, default = _NESTED[owner]
            current = getattr(self, owner)
            chosen: Options = default if _auto(current) else named(current, registry, owner, kind)
            setattr(self, owner, chosen.with_params(**options))
        return self

    # ---- fitting -----------------------------------------------------------------------------------------------

    def _settings(
        self, n: int, d: int, outputs: int, device: torch.device, dtype: torch.dtype, streamed: bool = False
    ) -> Settings:
        if self.select_round not in ("best", "last"):
            raise ValueError(f'select_round must be "best" or "last", got {self.select_round!r}')
        if self.ridge_scaling not in (None, "n"):
            raise ValueError(f'ridge_scaling must be None (K + λI) or "n" (K + nλI), got {self.ridge_scaling!r}')
        chosen = preset(self.preset)
        n_rounds = chosen.n_rounds if _auto(self.n_rounds) else self.n_rounds
        if not (isinstance(n_rounds, int | np.integer) and n_rounds >= 0):
            raise ValueError(f'n_rounds must be a non-negative integer or "auto", got {n_rounds!r}')
        if self.time_limit is not None and not (_is_number(self.time_limit) and self.time_limit > 0):
            raise ValueError(f"time_limit must be a positive number of seconds or None, got {self.time_limit!r}")
        if not (_auto(self.bagging) or isinstance(self.bagging, bool | np.bool_)):
            raise ValueError(f'bagging must be True, False or "auto", got {self.bagging!r}')
        automatic = _auto(self.ridge)
        if not automatic and not (_is_number(self.ridge) and 0 <= self.ridge < float("inf")):
            raise ValueError(f'ridge must be a non-negative number or "auto", got {self.ridge!r}')
        if self.threshold is not None and not (_is_number(self.threshold) and 0 <= self.threshold < 1):
            raise ValueError(f"threshold must be in [0, 1) or None, got {self.threshold!r}")
        max_bytes = resolve_memory(self.max_memory, device)
        if _auto(self.solver):
            found = (choose_streamed if streamed else choose)(n, dtype, max_bytes, d, outputs)
            if found.forced:
                warn_numbers(f"{n} rows: {found.why}")
            log.info("solver %s", found.why)
            solver, feature_solver = found.solver, found.feature_solver
        else:
            solver, feature_solver = named(self.solver, SOLVERS, "solver", Solver), None
        rows_bytes = forecast(solver, min(n, PART_ROWS) if streamed else n, d, outputs, dtype).rows
        return Settings(
            kernels=self._kernels(),
            updates=self._updates(n, d),
            n_rounds=int(n_rounds),
            select_last=self.select_round == "last",
            ridge=None if automatic else float(self.ridge),
            per_row_ridge=self.ridge_scaling == "n",
            solver=solver,
            threshold=self.threshold,
            max_bytes=max_bytes,
            seed=seed_of(self.random_state),
            cautious=not self._scales_target,
            max_machines=chosen.max_machines,
            bagging=chosen.bagging if _auto(self.bagging) else bool(self.bagging),
            time_limit=self.time_limit,
            show_progress=bool(self.verbose),
            dtype=dtype,
            part_bytes=max(max_bytes - rows_bytes, 1),
            feature_solver=feature_solver,
        )

    def _kernels(self) -> tuple[Kernel, ...]:
        if _auto(self.kernel):
            return preset(self.preset).kernels
        return (named(self.kernel, KERNELS, "kernel", Kernel),)

    def _updates(self, n: int, d: int) -> tuple[Update, ...]:
        if _auto(self.update):
            chosen = preset(self.preset).updates if d > 1 else (Agop(),)
            # Averages over so many points are exact enough, and n² of them would cost more than the solve saves.
            return tuple(u.with_params(samples=_AGOP_POINTS) for u in chosen) if n > 2 * _AGOP_POINTS else chosen
        return (named(self.update, UPDATES, "update", Update),)

    def _fit_rows(self, ready: Ready, watch: Watch) -> None:
        """Scale, move to torch, fit, and set the attributes both estimators have."""
        self._forget()
        settings, data, evaluation = self._on_torch(ready)
        self.row_index_ = ready.rows.index
        with threads(self._threads(len(data))):
            pool = self._pool()
            journal = self._journal(ready.rows.X, ready.Y, ready.rows.weights, ready.strata, ready.eval_set)
            if settings.large(len(data)):
                fitted = fit_large(settings, self._source(data, pool), evaluation, watch, journal, pool)
            else:
                fitted = fit(settings, data, ready.strata, evaluation, watch, journal, pool)
        self._take_over(fitted, None if fitted.rows is None else ready.rows.index[fitted.rows.numpy()])
        self._seen_by_none = self._held_out(fitted, ready.Y, ready.rows.weights_or_ones, ready.eval_set)

    def _forget(self) -> None:
        """Leave nothing of an earlier life."""
        for name in ("selected_columns_", "compression_", "evolution_"):
            self.__dict__.pop(name, None)

    def _take_over(self, fitted: Fitted, index: NDArray[np.intp] | None) -> None:
        """Set the attributes both estimators have; ``index`` where the machines stand on some rows only."""
        if index is not None:
            self.row_index_ = index
        self._learn(fitted.blend, fitted.problem, fitted.records, fitted.round, fitted.features)
        self.evolution_ = fitted.evolution
        self.ridge_ = fitted.ridge
        if fitted.support is not None:
            self.support_ = fitted.support.cpu().numpy()

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _on_torch(self, ready: Ready) -> tuple[Settings, Rows, EvalSet | None]:
        rows, Y = ready.rows, ready.Y
        self._target_scaler = Scaler.fit(Y, rows.weights_or_ones, center=self.fit_intercept, scale=self._scales_target)
        device = resolve_device(self.device)
        X = self._scaler.apply(rows.X)
        dtype = self._dtype(X, device)
        settings = self._settings(len(rows), X.shape[1], Y.shape[1], device, dtype)

        def tensor(values: Array, wide: bool = False) -> torch.Tensor:
            return torch.as_tensor(values, dtype=wide_dtype(device) if wide else dtype, device=device)

        data = Rows(
            tensor(X),
            tensor(self._target_scaler.apply(Y), wide=True),
            None if rows.weights is None else tensor(rows.weights, wide=True),
        )
        if ready.eval_set is None:
            return settings, data, None
        X, Y = ready.eval_set
        return settings, data, (tensor(self._scaler.apply(X)), tensor(self._target_scaler.apply(Y), wide=True))

    def _learn(
        self, blend: Blend, problem: Problem, records: Sequence[Round], best: int, features: torch.Tensor
    ) -> None:
        self.blend_ = blend
        self.machine_ = blend.best
        self.rounds_ = Rounds(tuple(records))
        self.best_round_ = best
        self.update_ = problem.update
        self.kernel_ = self.machine_.kernel
        self.ridge_ = self.rounds_[best].ridge
        self.feature_matrix_ = features.cpu().numpy().astype(np.float64)
        d = len(self.feature_matrix_)
        self.support_ = np.ones(d, dtype=bool)
        values, vectors = psd_eigh(torch.from_numpy(self.feature_matrix_))
        keep = values > d * np.finfo(float).eps * values[0]
        self.components_ = vectors[:, keep].T.contiguous().numpy()
        self.explained_ = values[keep].numpy()
        self._seen_by_none = None

    def _as_of(self: R, problem: Problem, steps: Sequence[Step], part: torch.Tensor | None = None) -> R:
        """A copy as if the fit had ended with the last of these rounds, on the rows ``part`` of the merged ones."""
        records, machines = zip(*steps, strict=True)
        copied = copy.copy(self)
        copied._forget()
        copied._learn(Blend(machines[-1:], (1.0,)), problem, records, len(steps) - 1, machines[-1].matrix())
        copied.row_index_ = self.row_index_ if part is None else self.row_index_[part.cpu().numpy()]
        return copied

    def _stages(self: R, ready: Ready, workspace: Workspace) -> Iterator[R]:
        """Copies fitted after round 0, 1, …, where one kernel and one update leave nothing to judge."""
        settings, data, _ = self._on_torch(ready)
        if len(settings.problems) > 1:
            raise ValueError('rounds can be followed one by one for a given kernel and update only, not for "auto"')
        (problem,) = settings.problems
        self.row_index_ = ready.rows.index
        steps: list[Step] = []
        coming = rounds(problem, data, settings.chooser(problem.kernel), workspace)
        while True:
            with threads(self._threads(len(data))):
                step = next(coming, None)
            if step is None:
                return
            steps.append(step)
            yield self._as_of(problem, steps)

    def _held_out(
        self, fitted: Fitted, Y: Array, weights: Array, eval_set: tuple[Array, Array] | None
    ) -> Judged | None:
        def units(values: torch.Tensor) -> Array:
            return self._target_scaler.undo(values.cpu().numpy().astype(np.float64))

        if fitted.evaluated is not None and eval_set is not None:
            return Judged(units(fitted.evaluated), eval_set[1], np.ones(len(eval_set[1])), "evaluation set")
        if fitted.held_out is None:
            return None
        at = fitted.held_out.rows.cpu().numpy()
        return Judged(units(fitted.held_out.outputs), Y[at], weights[at], "folds" if len(at) == len(Y) else "split")

    def _judged(self) -> Judged:
        """Outputs for rows the fit had not seen; left out one by one where none were held out."""
        if self._seen_by_none is None:
            assert isinstance(self.machine_, KernelMachine), "a tree has always been judged"
            with threads(self._threads(self.machine_.n)):
                self._seen_by_none = leave_one_out(self.machine_, self.ridge_, self._target_scaler)
        return self._seen_by_none

    def _fit_scaler(self, rows: Table) -> None:
        self._scaler = self._column_scaler(rows, bool(self.standardize), self._centered())

    def _centered(self) -> bool:
        # Where only differences count, centring changes nothing but saves digits.
        return bool(self.standardize) or all(kernel.translation_invariant for kernel in self._kernels())

    def _dtype(self, scaled: Array, device: torch.device) -> torch.dtype:
        size = float(max(scaled.max(initial=0.0), -scaled.min(initial=0.0)))
        dtype = resolve_dtype(self.dtype, len(scaled), device)
        if dtype == torch.float32 and not (size == 0 or 1e-12 < size < 1e12):
            # Squares of such coordinates do not fit into float32.
            if self.dtype != "auto" or device.type == "mps":
                raise ValueError(
                    f"X has entries of size {size:.1g}, out of reach for float32: "
                    'use standardize=True or dtype="float64"'
                )
            return torch.float64
        return dtype


def _auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state."""
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
