"""The border: from the user's tables, targets and weights to arrays that the fit can trust."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from gramian.rfm.data import Array, Scaler, Table, check_finite, merge_rows
from gramian.tables import TableEncoder, needs_encoding


class Border(BaseEstimator):
    """Reads tables of any kind. Complete columns of numbers are taken as they are, all else goes through an encoder."""

    encoder: Any
    encoder_: TableEncoder | None
    _scaler: Scaler
    _column_means: Array

    def _read_X_y(self, X: Any, y: NDArray[Any]) -> Array:
        """Rows of a training table (n, d_encoded), with a target that was read already."""
        rows = self._read_X(X, reset=True)
        check_consistent_length(rows, y)
        return rows

    def _read_X(self, X: Any, reset: bool = False) -> Array:
        if reset:
            self.encoder_ = self._new_encoder(X)
        least = 2 if reset else 1
        if self.encoder_ is not None:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return self.encoder_.fit_transform(X) if reset else self.encoder_.transform(X)
        numbers: Array = validate_data(
            self, X, dtype=np.float64, reset=reset, ensure_min_samples=least, ensure_all_finite=False
        )
        check_finite(numbers, getattr(self, "feature_names_in_", None))
        return numbers

    def _new_encoder(self, X: Any) -> TableEncoder | None:
        if isinstance(self.encoder, TableEncoder):
            return clone(self.encoder)
        if not (isinstance(self.encoder, str) and self.encoder == "auto"):
            raise ValueError(f'encoder must be "auto" or a TableEncoder, got {self.encoder!r}')
        return TableEncoder() if needs_encoding(X) else None

    def _scaled(self, X: Any) -> Array:
        """Rows in the coordinates the machines live in: encoded and standardised columns (n, d_encoded)."""
        return self._scaler.apply(self._complete(X))

    def _complete(self, X: Any) -> Array:
        """Rows of encoded columns (n, d_encoded), with no gaps."""
        check_is_fitted(self)
        rows = self._read_X(X)
        gaps = np.isnan(rows)
        if gaps.any():
            names = getattr(self, "feature_names_in_", None)
            told = ", ".join(str(j) if names is None else repr(names[j]) for j in np.flatnonzero(gaps.any(axis=0)))
            warnings.warn(
                f"{int(gaps.sum())} entries of X are missing in column {told}, where no training row had any missing: "
                "the column's mean takes their place",
                stacklevel=4,
            )
            rows = np.where(gaps, self._column_means, rows)
        return rows

    def _column_scaler(self, rows: Table, standardize: bool, center: bool) -> Scaler:
        """Mean and standard deviation, but where the encoder knows better: levels of a category share one scale."""
        scaler = Scaler.fit(rows.X, rows.weights_or_ones, center=center, scale=standardize)
        self._column_means = np.average(rows.X, axis=0, weights=rows.weights_or_ones)
        return self._with_encoder_scales(scaler, standardize)

    def _with_encoder_scales(self, scaler: Scaler, standardize: bool) -> Scaler:
        if not standardize or self.encoder_ is None:
            return scaler
        centers, scales = self.encoder_.centers_, self.encoder_.scales_
        return Scaler(
            np.where(np.isnan(centers), scaler.center, centers), np.where(np.isnan(scales), scaler.scale, scales)
        )

    def _read_eval_set(self, eval_set: Any) -> tuple[Array, Any] | None:
        if eval_set is None:
            return None
        try:
            X, y = eval_set
        except (TypeError, ValueError) as error:
            raise ValueError("eval_set must be a pair (X, y)") from error
        rows = self._read_X(X)
        if np.isnan(rows).any():
            raise ValueError("eval_set has missing entries in columns where no training row has any: leave them out")
        check_consistent_length(rows, y)
        return rows, y

    @staticmethod
    def _merged(X: Array, y: NDArray[Any], sample_weight: Any, factors: Array | None = None) -> Table:
        """Distinct rows; ``factors`` (class weights) multiply the weights."""
        weights = factors
        if sample_weight is not None:
            weights = np.asarray(sample_weight, dtype=np.float64)
            if weights.ndim == 0:
                weights = np.full(len(X), float(weights))
            if weights.shape != (len(X),):
                raise ValueError(f"sample_weight.shape == {weights.shape}, expected ({len(X)},): one weight per row")
            if not np.isfinite(weights).all():
                raise ValueError("sample_weight contains NaN or infinity")
            weights = weights if factors is None else weights * factors
        return merge_rows(X, y, weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
