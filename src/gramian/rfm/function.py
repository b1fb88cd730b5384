"""The fitted function: what it predicts, how it changes, and along which directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian.core import threads
from gramian.core.tiles import spans
from gramian.rfm.blend import Blend
from gramian.rfm.border import Border
from gramian.rfm.columns import Columns
from gramian.rfm.data import Array, Scaler
from gramian.rfm.importance import shares
from gramian.rfm.machine import KernelMachine
from gramian.rfm.tree import TreeMachine
from gramian.tables.blocks import Block, as_blocks

_ONE_THREAD_ROWS = 1000
_BATCH_ROWS = 2**16


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a fitted model makes of a block of rows; it goes to where the block is."""

    model: FittedFunction

    def __call__(self, block: Block) -> Array:
        """Predictions (b, c) in the units of Y."""
        return self.model._outputs(block.X)


class FittedFunction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Border):
    """Reads what a fit has left on the estimator; the fit itself is elsewhere.

    The mixins stand here because scikit-learn gives frames out only where ``transform`` is defined beside them.
    """

    n_threads: Any
    n_jobs: Any
    blend_: Blend
    machine_: KernelMachine | TreeMachine
    support_: NDArray[np.bool_]
    feature_matrix_: Array
    components_: Array
    explained_: Array
    _target_scaler: Scaler

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
        """How sensitive the prediction is to each column: the diagonal of ``agop_``, divided by its sum.

        Encoded columns are added up: there is one number for each of the user's columns.
        """
        check_is_fitted(self)
        return shares(Columns.of(self).fold(np.diag(self.agop_).clip(min=0)))

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

    def _outputs(self, X: Any) -> Array:
        """Predictions ``(n, c)`` in the units of Y, so many rows at a time that copies of X never add up."""
        blocks = as_blocks(X)
        if blocks is not None:
            return np.concatenate(list(blocks.each(Outputs(self))))
        rows = self._complete(X)
        parts = [self._outputs_at(self._scaler.apply(rows[part])) for part in spans(len(rows), _BATCH_ROWS)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def gradients(self, X: Any) -> Array:
        """Gradients ``∂f_c/∂x (n, c, d)`` of the outputs at new rows, in the user's units, along encoded columns.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> RFMRegressor(n_rounds=0).fit(X, 3 * X[:, 0]).gradients([[0.0]]).round(1)
        array([[[3.]]])
        """
        return self._gradients_at(self._scaled(X)) / self._scaler.scale

    def _threads(self, n: int) -> Any:
        # Below some hundred rows a second thread costs more than it brings, and on a busy machine a hundred times more.
        # Where folds run side by side, each has one.
        if self.n_threads is None and (n <= _ONE_THREAD_ROWS or self.n_jobs not in (None, 1)):
            return 1
        return self.n_threads

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
