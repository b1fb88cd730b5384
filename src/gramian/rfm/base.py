"""What the two estimators share: arguments, checks at the border, learned attributes."""

from __future__ import annotations

import logging
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.core import psd_eigh, resolve_device, resolve_dtype, resolve_memory, threads, wide_dtype
from gramian.core.options import Options, named
from gramian.features import BY_NAME as UPDATES
from gramian.features import Agop, Update
from gramian.kernels import BY_NAME as KERNELS
from gramian.kernels import Kernel, Laplace, Lp
from gramian.rfm.blend import Blend
from gramian.rfm.choice import Rows
from gramian.rfm.data import Array, Scaler, Table, check_columns, check_finite, merge_rows
from gramian.rfm.explains import Explains
from gramian.rfm.fitting import Fitted, Settings, fit
from gramian.solvers import BY_NAME as SOLVERS
from gramian.solvers import Direct, Solver, choose
from gramian.solvers.base import warn_numbers

log = logging.getLogger(__name__)

_ONE_THREAD_ROWS = 1000
R = TypeVar("R", bound="BaseRFM")
_NESTED: dict[str, tuple[Any, Any, Any]] = {
    "kernel": (KERNELS, Kernel, Laplace()),
    "update": (UPDATES, Update, Agop()),
    "solver": (SOLVERS, Solver, Direct()),
}
"""Names, kind, and what "auto" stands for once one of its options is set."""


class BaseRFM(Explains, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Arguments and learned attributes of :class:`RFMRegressor` and :class:`RFMClassifier`, described there."""

    _scales_target = True

    def __init__(
        self,
        *,
        # scikit-learn wants any value accepted here and looked at in fit.
        kernel: Any = "laplace",
        update: Any = "auto",
        n_rounds: Any = 5,
        select_round: Any = "best",
        ridge: Any = "auto",
        ridge_scaling: Any = None,
        solver: Any = "auto",
        standardize: Any = True,
        fit_intercept: Any = True,
        threshold: Any = None,
        dtype: Any = "auto",
        device: Any = "auto",
        max_memory: Any = None,
        n_threads: Any = None,
        random_state: Any = 0,
        verbose: Any = 0,
    ) -> None:
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
        self.dtype = dtype
        self.device = device
        self.max_memory = max_memory
        self.n_threads = n_threads
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
            chosen: Options = (
                default if isinstance(current, str) and current == "auto" else named(current, registry, owner, kind)
            )
            setattr(self, owner, chosen.with_params(**options))
        return self

    # ---- learned attributes ------------------------------------------------------------------------------------

    @property
    def agop_(self) -> Array:
        """Average gradient outer product of the fitted predictor (d, d); computed when first asked for."""
        check_is_fitted(self)
        with threads(self._threads(self.machine_.n)):
            agop = self.blend_.agop.cpu().numpy().astype(np.float64)
        out = np.zeros_like(self.feature_matrix_)
        out[np.ix_(self.support_, self.support_)] = agop
        return out

    @property
    def feature_importances_(self) -> Array:
        """How sensitive the prediction is to each column: the diagonal of ``agop_``, divided by its sum."""
        check_is_fitted(self)
        diagonal = np.diag(self.agop_).clip(min=0)
        total = diagonal.sum()
        return diagonal / total if total > 0 else np.full(len(diagonal), 1 / len(diagonal))

    def transform(self, X: Any) -> Array:
        """Rows in learned coordinates: one column per learned direction, strongest first.

        Squared Euclidean distances between transformed rows are ``(x − x')ᵀ M (x − x')``, which is what the kernel sees
        (with ``threshold``: what it saw when the columns were chosen).
        """
        return self._scaled(X) @ (self.components_.T * np.sqrt(self.explained_))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "machine_")

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
        if not (isinstance(self.n_rounds, int | np.integer) and self.n_rounds >= 0):
            raise ValueError(f"n_rounds must be a non-negative integer, got {self.n_rounds!r}")
        automatic = isinstance(self.ridge, str) and self.ridge == "auto"
        if not automatic and not (_is_number(self.ridge) and 0 <= self.ridge < float("inf")):
            raise ValueError(f'ridge must be a non-negative number or "auto", got {self.ridge!r}')
        if self.threshold is not None and not (_is_number(self.threshold) and 0 <= self.threshold < 1):
            raise ValueError(f"threshold must be in [0, 1) or None, got {self.threshold!r}")
        max_bytes = resolve_memory(self.max_memory, device)
        if isinstance(self.solver, str) and self.solver == "auto":
            solver, why = choose(n, dtype, max_bytes)
            if "conjugate" in why:
                warn_numbers(f"{n} rows: {why}")
            log.info("solver %s", why)
        else:
            solver = named(self.solver, SOLVERS, "solver", Solver)
        return Settings(
            kernels=_kernels(self.kernel),
            updates=_updates(self.update, d),
            n_rounds=int(self.n_rounds),
            select_last=self.select_round == "last",
            ridge=None if automatic else float(self.ridge),
            per_row_ridge=self.ridge_scaling == "n",
            solver=solver,
            threshold=self.threshold,
            max_bytes=max_bytes,
            seed=_seed(self.random_state),
            show_progress=bool(self.verbose),
        )

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
            centered = all(kernel.translation_invariant for kernel in _kernels(self.kernel))
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
        self.blend_ = Blend((fitted.machine,), (1.0,))
        self.machine_ = self.blend_.strongest
        self.row_index_ = rows.index
        self.rounds_ = list(fitted.records)
        self.best_round_ = fitted.round
        self.update_ = fitted.problem.update
        self.kernel_ = fitted.machine.kernel
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

    def _threads(self, n: int) -> Any:
        # Below some hundred rows a second thread costs more than it brings, and on a busy machine a hundred times more.
        return 1 if self.n_threads is None and n <= _ONE_THREAD_ROWS else self.n_threads

    def _scaled(self, X: Any) -> Array:
        check_is_fitted(self)
        check_columns(X)
        X = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        return self._scaler.apply(X)

    def _outputs(self, X: Any) -> Array:
        """Predictions ``(n, c)`` in the units of Y."""
        return self._outputs_at(self._scaled(X))

    def gradients(self, X: Any) -> Array:
        """Gradients ``∂f_c/∂x (n, c, d)`` of the outputs at new rows, in the user's units.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> RFMRegressor(n_rounds=0).fit(X, 3 * X[:, 0]).gradients([[0.0]]).round(1)
        array([[[3.]]])
        """
        return self._gradients_at(self._scaled(X)) / self._scaler.scale

    # ---- the fitted function in its own coordinates: standardised columns --------------------------------------

    def _outputs_at(self, Z: Array) -> Array:
        """Outputs ``(m, c)``, in the units of Y, at rows of standardised columns."""
        with threads(self._threads(self.machine_.n)):
            out = self.blend_.predict(self._tensor(Z))
        return self._target_scaler.undo(out.cpu().numpy().astype(np.float64))

    def _gradients_at(self, Z: Array) -> Array:
        """Gradients ``(m, c, d)`` of the outputs, in the units of Y, along standardised columns."""
        with threads(self._threads(self.machine_.n)):
            part = self.blend_.gradient(self._tensor(Z))
        out = np.zeros((*part.shape[:2], Z.shape[1]))
        out[:, :, self.support_] = part.cpu().numpy()
        return out * self._target_scaler.scale[:, None]

    def _row_parts_at(self, Z: Array) -> Array:
        """What each training row adds to the outputs: ``(m, n, c)``, in the units of Y.

        Their sum over training rows plus ``_target_scaler.center`` is the output.
        """
        with threads(self._threads(self.machine_.n)):
            parts = self.blend_.row_parts(self._tensor(Z))
        return parts.cpu().numpy().astype(np.float64) * self._target_scaler.scale

    def _tensor(self, Z: Array) -> torch.Tensor:
        X = self.machine_.X
        return torch.from_numpy(Z[:, self.support_]).to(X.device, X.dtype)

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


def _kernels(kernel: str | Kernel) -> tuple[Kernel, ...]:
    if isinstance(kernel, str) and kernel == "auto":
        return Laplace(), Lp()
    return (named(kernel, KERNELS, "kernel", Kernel),)  # type: ignore[type-abstract]


def _updates(update: str | Update, d: int) -> tuple[Update, ...]:
    if isinstance(update, str) and update == "auto":
        return (Agop(), Agop(diagonal=True)) if d > 1 else (Agop(),)
    return (named(update, UPDATES, "update", Update),)  # type: ignore[type-abstract]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
