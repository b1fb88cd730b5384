"""What the two estimators share: arguments, checks at the border, learned attributes."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from gramian.core import psd_eigh, resolve_device, resolve_dtype, resolve_memory, threads, wide_dtype
from gramian.core.options import Options, named
from gramian.features import BY_NAME as UPDATES
from gramian.features import Agop, Update
from gramian.kernels import BY_NAME as KERNELS
from gramian.kernels import Kernel, Laplace
from gramian.rfm.choice import Rows
from gramian.rfm.data import Array, Scaler, Table, check_columns, check_finite, merge_rows
from gramian.rfm.fitting import Fitted, Settings, fit
from gramian.rfm.function import FittedFunction
from gramian.rfm.presets import preset
from gramian.rfm.saving import Saves
from gramian.solvers import BY_NAME as SOLVERS
from gramian.solvers import Direct, Solver, choose
from gramian.solvers.base import warn_numbers

log = logging.getLogger(__name__)

R = TypeVar("R", bound="BaseRFM")
_NESTED: dict[str, tuple[Any, Any, Any]] = {
    "kernel": (KERNELS, Kernel, Laplace()),
    "update": (UPDATES, Update, Agop()),
    "solver": (SOLVERS, Solver, Direct()),
}
"""Names, kind, and what "auto" stands for once one of its options is set."""


class BaseRFM(Saves, ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedFunction):
    """Arguments and learned attributes of :class:`RFMRegressor` and :class:`RFMClassifier`, described there."""

    _scales_target = True

    def __init__(
        self,
        *,
        # scikit-learn wants any value accepted here and looked at in fit.
        preset: Any = "default",
        kernel: Any = "auto",
        update: Any = "auto",
        n_rounds: Any = "auto",
        select_round: Any = "best",
        ridge: Any = "auto",
        ridge_scaling: Any = None,
        solver: Any = "auto",
        standardize: Any = True,
        fit_intercept: Any = True,
        threshold: Any = None,
        bagging: Any = "auto",
        time_limit: Any = None,
        dtype: Any = "auto",
        device: Any = "auto",
        max_memory: Any = None,
        n_threads: Any = None,
        n_jobs: Any = None,
        random_state: Any = 0,
        verbose: Any = 0,
    ) -> None:
        self.preset = preset
        self.kernel = kernel
        self.update = update
        self.n_rounds = n_rounds
        self.select_round = select_round
        self.ridge = ridge
        self.ridge_scaling = ridge_scaling
        self.solver = solver
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.bagging = bagging
        self.time_limit = time_limit
        self.dtype = dtype
        self.device = device
        self.max_memory = max_memory
        self.n_threads = n_threads
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self: R, **params: Any) -> R:
        """Set parameters; ``kernel__bandwidth=3.0`` replaces an option inside the kernel, update or solver."""
        own = {name: value for name, value in params.items() if "__" not in name}
        super().set_params(**own)
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            owner, _, option = name.partition("__")
            if option:
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

    def _check_X_y(self, X: Any, y: Any, **options: Any) -> tuple[Array, NDArray[Any]]:
        check_columns(X)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=False, **options)
        check_finite(X, getattr(self, "feature_names_in_", None))
        return X, y

    def _settings(self, n: int, d: int, device: torch.device, dtype: torch.dtype) -> Settings:
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
            solver, why = choose(n, dtype, max_bytes)
            if "conjugate" in why:
                warn_numbers(f"{n} rows: {why}")
            log.info("solver %s", why)
        else:
            solver = named(self.solver, SOLVERS, "solver", Solver)
        return Settings(
            kernels=self._kernels(),
            updates=self._updates(d),
            n_rounds=int(n_rounds),
            select_last=self.select_round == "last",
            ridge=None if automatic else float(self.ridge),
            per_row_ridge=self.ridge_scaling == "n",
            solver=solver,
            threshold=self.threshold,
            max_bytes=max_bytes,
            seed=_seed(self.random_state),
            max_machines=chosen.max_machines,
            bagging=chosen.bagging if _auto(self.bagging) else bool(self.bagging),
            time_limit=self.time_limit,
            n_jobs=1 if self.n_jobs is None else self.n_jobs,
            show_progress=bool(self.verbose),
        )

    def _kernels(self) -> tuple[Kernel, ...]:
        if _auto(self.kernel):
            return preset(self.preset).kernels
        return (named(self.kernel, KERNELS, "kernel", Kernel),)

    def _updates(self, d: int) -> tuple[Update, ...]:
        if _auto(self.update):
            return preset(self.preset).updates if d > 1 else (Agop(),)
        return (named(self.update, UPDATES, "update", Update),)

    def _fit_rows(
        self,
        rows: Table,
        Y: Array,
        strata: NDArray[Any] | None,
        eval_set: tuple[Array, Array] | None,
    ) -> Fitted:
        """Scale, move to torch, fit, and set the attributes both estimators have. Y is ``(n, c)``."""
        d = rows.X.shape[1]
        weights = rows.weights_or_ones
        if self.standardize:
            self._scaler = Scaler.fit(rows.X, weights)
        else:  # where only differences count, centring changes nothing but saves digits
            centered = all(kernel.translation_invariant for kernel in self._kernels())
            self._scaler = Scaler.fit(rows.X, weights, center=centered, scale=False)
        self._target_scaler = Scaler.fit(Y, weights, center=self.fit_intercept, scale=self._scales_target)
        device = resolve_device(self.device)
        dtype = self._dtype(self._scaler.apply(rows.X), device)
        settings = self._settings(len(rows), d, device, dtype)

        def tensor(values: Array, wide: bool = False) -> torch.Tensor:
            return torch.as_tensor(values, dtype=wide_dtype(device) if wide else dtype, device=device)

        evaluation = None
        if eval_set is not None:
            evaluation = (
                tensor(self._scaler.apply(eval_set[0])),
                tensor(self._target_scaler.apply(eval_set[1]), wide=True),
            )
        with threads(self._threads(len(rows))):
            data = Rows(
                tensor(self._scaler.apply(rows.X)),
                tensor(self._target_scaler.apply(Y), wide=True),
                None if rows.weights is None else tensor(rows.weights, wide=True),
            )
            fitted = fit(settings, data, strata, evaluation)
        self.blend_ = fitted.blend
        self.machine_ = fitted.blend.best
        self.row_index_ = rows.index
        self.rounds_ = list(fitted.records)
        self.best_round_ = fitted.round
        self.update_ = fitted.problem.update
        self.kernel_ = self.machine_.kernel
        self.ridge_ = fitted.ridge
        self.support_ = np.ones(d, dtype=bool) if fitted.support is None else fitted.support.cpu().numpy()
        self.feature_matrix_ = fitted.features.cpu().numpy().astype(np.float64)
        values, vectors = psd_eigh(torch.from_numpy(self.feature_matrix_))
        keep = values > d * np.finfo(float).eps * values[0]
        self.components_ = vectors[:, keep].T.contiguous().numpy()
        self.explained_ = values[keep].numpy()
        return fitted

    def _dtype(self, scaled: Array, device: torch.device) -> torch.dtype:
        size = float(np.abs(scaled).max(initial=0.0))
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

    def _eval_arrays(self, eval_set: Any, outputs: int) -> tuple[Array, NDArray[Any]] | None:
        if eval_set is None:
            return None
        try:
            X, y = eval_set
        except (TypeError, ValueError) as error:
            raise ValueError("eval_set must be a pair (X, y)") from error
        check_columns(X)
        X, y = validate_data(self, X, y, dtype=np.float64, reset=False, multi_output=True, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        width = 1 if y.ndim == 1 else y.shape[1]
        if width != outputs:
            raise ValueError(f"eval_set has {width} targets per row, and y has {outputs}")
        return X, y

    @staticmethod
    def _merged(X: Array, y: NDArray[Any], sample_weight: Any) -> Table:
        weights = None
        if sample_weight is not None:
            weights = np.asarray(sample_weight, dtype=np.float64)
            if weights.ndim == 0:
                weights = np.full(len(X), float(weights))
            if weights.shape != (len(X),):
                raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({len(X)},): one weight per row")
            if not np.isfinite(weights).all():
                raise ValueError("sample_weight contains NaN or infinity")
        return merge_rows(X, y, weights)


def _auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
