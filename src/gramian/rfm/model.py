"""A fitted recursive feature machine as a value: frozen, typed, and complete.

Explanations, intervals, reports, compression and files take a :class:`FittedRFM`; the estimators hold one as ``model_``
and replace it at the end of a fit.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Never, SupportsIndex

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gramian.core import threads, wide_dtype
from gramian.core.tiles import spans
from gramian.features import Update
from gramian.kernels import Kernel
from gramian.rfm.machine import KernelMachine, LearnedFeatures, sampled_agop, sampled_squares
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import Evolution, Rounds
from gramian.rfm.training.tuning import RoundParams
from gramian.rfm.tree import TreeMachine
from gramian.rfm.uncertainty.holdout import HoldoutPredictions, ScoredRows, leave_one_out
from gramian.tables.blocks import Block, as_blocks
from gramian.tables.column_map import ColumnMap
from gramian.tables.links import Link, fit_link
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.scaling import Array, Scaler
from gramian.tables.targets import ClassTarget, Target
from gramian.tables.types import Labels, TableLike

_BATCH_ROWS = 2**16
Machine = KernelMachine | TreeMachine


@dataclass(frozen=True, eq=False)
class MemberHistory:
    """The training of a selected member: kernel, update, ridge and bandwidth of rounds 0, 1, …, and its share.

    Where ridges are proportional to the weight of the rows, ``weight`` is the one that the path belongs to; else None.
    """

    kernel: Kernel
    update: Update
    path: tuple[RoundParams, ...]
    share: float
    weight: float | None = None


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A weighted average of kernel machines with the same centres, ``f(x) = Σ_k share_k f_k(x)``; shares sum to 1.

    Since the centres are the same, the prediction is still one sum over training rows:
    ``f(x) = Σⱼ Σ_k share_k α_kj k_k(x, xⱼ)``. ``members`` says how to train the members again; it is empty for a tree,
    after growing parts, and where a threshold removed columns. With bagging a member is several machines.

    >>> from gramian.kernels import Gaussian, KernelOperator
    >>> one = KernelMachine(KernelOperator(Gaussian(1.0), torch.zeros(1, 1)), torch.ones(1, 1))
    >>> Ensemble((one, one), (0.25, 0.75)).predict(torch.zeros(1, 1))
    tensor([[1.]], dtype=torch.float64)
    """

    machines: tuple[Machine, ...]
    shares: tuple[float, ...]
    members: tuple[MemberHistory, ...] = ()

    @property
    def best(self) -> Machine:
        """The member that was best on held-out rows: the first."""
        return self.machines[0]

    def mean(self, part: Callable[[Machine], Tensor]) -> Tensor:
        """Return ``Σ_k share_k part(machine_k)``, for anything that is linear in the members."""
        parts = (share * part(machine) for machine, share in zip(self.machines, self.shares, strict=True))
        # One after another: a sum over stacked parts adds in an order that depends on the number of rows.
        return reduce(torch.add, parts)

    def predict(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c"]:
        """Return ``f(X)``; a row's prediction does not depend on its batch."""
        return self.mean(lambda machine: machine.predict(X))

    def gradient(self, X: Float[Tensor, "m d"], by_input: bool = True) -> Float[Tensor, "m c d"]:
        """Return ``∂f_c/∂x`` at new rows, by input coordinates or by those of each member's metric."""
        return self.mean(lambda machine: machine.gradient(X, by_input))

    def own_gradient(self, X: Float[Tensor, "m d"]) -> Float[Tensor, "m c d"]:
        """Return gradients by the coordinates of each member's metric, of which the AGOP is made."""
        return self.gradient(X, by_input=False)

    @cached_property
    def agop(self) -> Float[Tensor, "d d"]:
        """Average gradient outer product of f over the training rows; of several members over at most 2,000 rows."""
        first = self.machines[0]
        if len(self.machines) == 1:
            return first.agop
        return sampled_agop(self.own_gradient, first.X, first.weights)

    @property
    def agop_diagonal(self) -> Float[Tensor, " d"]:
        """Diagonal of the AGOP."""
        first = self.machines[0]
        if isinstance(first, KernelMachine) and first.is_wide():
            return sampled_squares(self.own_gradient, first.X, first.weights)
        return self.agop.diagonal()

    def __getstate__(self) -> dict[str, object]:
        return {"machines": self.machines, "shares": self.shares, "members": self.members}


@dataclass(frozen=True, eq=False)
class FitHistory:
    """The plan of a fit, the records of the selected run's rounds, and what was selected.

    ``fitted_rows`` is the number of rows of the table for which the coefficients of the final model were solved; None
    in a record that does not say so.
    """

    plan: Plan
    rounds: Rounds
    best_round: int
    update: Update
    ridge: float
    evolution: Evolution | None = None
    fitted_rows: int | None = None


@dataclass(frozen=True)
class Compression:
    """The cost of fewer centres; see :func:`gramian.rfm.compression.compress`.

    ``function_error`` is ``‖f − f̃‖ / ‖f‖`` in the kernel's own space, a bound: ``|f(x) − f̃(x)| ≤ ‖f − f̃‖ √k(x, x)``.
    ``typical_change`` and ``largest_change`` are root mean square and maximum of ``|f − f̃|`` on some rows, divided by
    the standard deviation of f on them. ``latency`` is the processor time in seconds for one row with the exported
    NumPy predictor, where a limit for it was given.
    """

    n_centers: int
    n_before: int
    function_error: float
    typical_change: float
    largest_change: float
    latency: float | None = None


@dataclass(frozen=True, eq=False)
class FittedRFM:
    """Preprocessing, target coding, ensemble, learned features, history and holdout predictions of one fit.

    Attributes
    ----------
    preprocessing : Preprocessing
        From a user's table to standardised columns.
    target : NumericTarget or ClassTarget
    target_scaler : Scaler
        Outputs of the ensemble are centred and scaled; this map returns them to the units of the target codes.
    ensemble : Ensemble
    features : LearnedFeatures
    history : FitHistory
    row_index : ndarray of int
        The position of each centre in the training table.
    row_labels : ndarray or None
        The label of each centre in the index of the training frame; None where there was no index but 0, 1, 2, ….
    held_out : HoldoutPredictions or None
        Predictions for held-out rows; None where the fit held none out.
    fitted_link : Link or None
        A classifier's map from scores to probabilities; see :attr:`link`.
    n_threads : int or None
        Torch threads of predictions; None leaves torch's own.
    compression : Compression or None
    copies : ndarray or None
        The number of rows of the training table that each centre stands for; None for one each.
    """

    preprocessing: Preprocessing
    target: Target
    target_scaler: Scaler
    ensemble: Ensemble
    features: LearnedFeatures
    history: FitHistory
    row_index: NDArray[np.intp]
    held_out: HoldoutPredictions | None = None
    fitted_link: Link | None = None
    n_threads: int | None = None
    compression: Compression | None = None
    row_labels: NDArray[Any] | None = None
    copies: Array | None = None

    @property
    def machine(self) -> Machine:
        """The best member of the ensemble."""
        return self.ensemble.best

    @property
    def columns(self) -> ColumnMap:
        """The user's columns behind the encoded ones."""
        return self.preprocessing.columns

    @property
    def classes(self) -> Labels | None:
        """The labels of a classifier, sorted; None for a regression."""
        return self.target.classes if isinstance(self.target, ClassTarget) else None

    @cached_property
    def holdout(self) -> HoldoutPredictions:
        """Predictions for held-out rows; exact leave-one-out given M where the fit held none out."""
        if self.held_out is not None:
            return self.held_out
        assert isinstance(self.machine, KernelMachine), "the fit of a tree holds rows out"
        with threads(self.n_threads):
            found = leave_one_out(self.machine, self.history.ridge, self.target_scaler, copies=self.copies)
        return replace(found, weights=self.target.unweighted(found.weights, found.targets))

    def scored_holdout(self) -> ScoredRows:
        """Return the holdout predictions in the user's terms: labels or targets, predictions, probabilities."""
        held = self.holdout
        y, predicted = self.target.targets(held.targets), self.target.predictions(held.outputs)
        probabilities = None if self.classes is None else np.exp(self.log_probabilities(held.outputs))
        return ScoredRows(y, predicted, probabilities, held.weights, held.source)

    def log_probabilities(self, outputs: Array) -> Array:
        """Return a classifier's log probabilities ``(m, classes)`` for outputs ``(m, c)``."""
        return self.link.log_probabilities(outputs)

    @cached_property
    def link(self) -> Link:
        """A classifier's map from scores to probabilities; fitted to the holdout predictions if it is not yet."""
        if self.fitted_link is not None:
            return self.fitted_link
        assert isinstance(self.target, ClassTarget), "only a classifier has probabilities"
        held = self.holdout
        return fit_link(held.outputs, self.target.indices(held.targets), held.weights, held.copies)

    def outputs(self, X: TableLike) -> Array:
        """Return outputs ``(n, c)`` in the units of the target codes for a table, which may be outside memory."""
        blocks = as_blocks(X)
        if blocks is not None:
            return np.concatenate(list(blocks.each(_BlockOutputs(self))))
        rows = self.preprocessing.encode(X)
        scaler = self.preprocessing.scaler
        # A bounded number of rows at a time: there is never a second copy of a large table.
        parts = [self.outputs_at(scaler.transform(rows[part])) for part in spans(len(rows), _BATCH_ROWS)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    # ---- the fitted function of standardised columns Z ---------------------------------------------------------

    def outputs_at(self, Z: Array) -> Array:
        """Return outputs ``(m, c)`` in the units of the target codes."""
        with threads(self.n_threads):
            out = self.ensemble.predict(self.tensor(Z))
        return self.target_scaler.inverse_transform(out.cpu().numpy().astype(np.float64))

    def gradients_at(self, Z: Array, by_input: bool = True) -> Float[np.ndarray, "m c d"]:
        """Return gradients of the outputs along standardised columns, in the units of the target codes."""
        with threads(self.n_threads):
            part = self.ensemble.gradient(self.tensor(Z), by_input)
        return self.features.expand(part.cpu().numpy()) * self.target_scaler.scale[:, None]

    def mean_gradient(self, start: Array, end: Array, output: int, nodes: int) -> Array:
        """Return the gradient ``(d,)`` of one output averaged on the line between two rows."""
        ends = self.tensor(np.stack([start, end]))
        with threads(self.n_threads):
            part = self.ensemble.mean(lambda machine: machine.mean_gradient(ends, output, nodes))
        return self.features.expand(part.cpu().numpy()) * float(self.target_scaler.scale[output])

    def similarity(self, z: Array, centers: NDArray[np.intp]) -> Array:
        """Return the kernel values of one row with some centres, divided by those of equal rows."""
        x, at = self.tensor(z[None]), torch.from_numpy(centers).to(self.machine.X.device)
        out: Array = self.ensemble.mean(lambda machine: machine.similarity(x, at)).cpu().numpy().astype(np.float64)
        return out

    @property
    def agop(self) -> Array:
        """Average gradient outer product of the fitted function ``(d, d)``; computed when first asked for."""
        with threads(self.n_threads):
            part = self.ensemble.agop.cpu().numpy().astype(np.float64)
        out = np.zeros((len(self.features.support),) * 2)
        out[np.ix_(self.features.support, self.features.support)] = part
        return out

    @property
    def agop_diagonal(self) -> Array:
        """Diagonal of the AGOP ``(d,)``, without the matrix itself where rows are few."""
        with threads(self.n_threads):
            part = self.ensemble.agop_diagonal.cpu().numpy().astype(np.float64)
        return self.features.expand(part)

    def metric_coordinates(self, X: TableLike) -> Array:
        """Return the standardised rows ``(n, d)`` of a table, with scores where the best member's kernel uses them."""
        Z = self.preprocessing.transform(X)
        if not isinstance(self.machine, KernelMachine) or not self.features.support.all():
            return Z
        rows = self.machine.kernel.coordinates(torch.from_numpy(Z))
        return rows.numpy()

    def center_rows(self, most: int | None = None) -> tuple[Array, Array]:
        """Return standardised columns and weights of the centres: all, or ``most`` random ones, always the same."""
        machine = self.machine
        order = torch.randperm(machine.n, generator=torch.Generator().manual_seed(0))
        selected = order[:most].sort().values.to(machine.X.device)
        Z = self.features.expand(machine.X[selected].cpu().numpy())
        weights = machine.weights
        return Z, np.ones(len(Z)) if weights is None else weights[selected].cpu().numpy().astype(np.float64)

    def mean_row(self) -> Array:
        """Return the mean centre in standardised columns: the origin, unless a column is not centred at its mean."""
        machine = self.machine
        X = machine.X.to(wide_dtype(machine.X.device))
        w = X.new_ones(machine.n) if machine.weights is None else machine.weights.to(X.dtype)
        return self.features.expand((w @ X / w.sum()).cpu().numpy())

    def tensor(self, Z: Array) -> Float[Tensor, "m k"]:
        """Return standardised rows as a tensor of the columns in use, where the ensemble is."""
        X = self.machine.X
        return torch.from_numpy(Z[:, self.features.support]).to(X.device, X.dtype)

    def __repr__(self) -> str:
        name, kept = type(self.target).__name__, self.history
        return f"FittedRFM({name}, {len(self.ensemble.machines)} of {self.machine.n} centres, round {kept.best_round})"

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    def __reduce__(self) -> Never:
        # pickle and copy call the method above; skops calls this one, and fails at the first tensor.
        raise TypeError(
            "a fitted model holds tensors of torch, which skops does not store: write it with model.save(path) and "
            "open it with gramian.load(path), which runs no code of the file either"
        )


@dataclass(frozen=True, eq=False)
class _BlockOutputs:
    """Outputs for a block of rows; the model is sent to where the block is."""

    model: FittedRFM

    def __call__(self, block: Block) -> Array:
        return self.model.outputs(block.X)
