"""xRFM with the interface of scikit-learn, prepared as its README recommends.

xRFM requires a validation set: 20 % of the training rows, stratified by class where possible. Numbers are standardised,
categories are one-hot and declared as categorical, and a regression target is standardised (xRFM fails on a shifted
one). Its constructor seeds the global generators, so it should run in a process of its own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

_VALIDATION = 0.2


class _XRFM(BaseEstimator):
    """Conversion of columns to float32 tensors and back; the rest is xRFM itself."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def _split(self, y: NDArray[Any], stratify: bool) -> list[NDArray[Any]]:
        rows = np.arange(len(y))
        # Stratification is impossible with a class of one row, or with fewer validation rows than classes.
        counts = np.unique(y, return_counts=True)[1] if stratify else np.array([0])
        possible = stratify and counts.min() > 1 and _VALIDATION * len(y) >= len(counts)
        return train_test_split(
            rows, test_size=_VALIDATION, random_state=self.random_state, stratify=y if possible else None
        )

    def _fit(self, X: Any, y: NDArray[Any], stratify: bool) -> None:
        import torch
        from xrfm import xRFM  # an extra

        train, valid = self._split(y, stratify)
        frame = hasattr(X, "iloc")
        self._numeric = list(X.select_dtypes("number").columns) if frame else None
        self._other = list(X.select_dtypes(exclude="number").columns) if frame else []
        part = X.iloc[train] if frame else X[train]
        self._scaler = StandardScaler().fit(part[self._numeric] if frame else part)
        self._encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        if self._other:
            self._encoder.fit(part[self._other])
        Z = self._tensor(X)
        self._model = xRFM(random_state=self.random_state, verbose=False, device=torch.device("cpu"))
        if self._other:
            sizes = [len(c) for c in self._encoder.categories_]
            start = Z.shape[1] - sum(sizes)
            ends = np.cumsum([start, *sizes])
            self._model.categorical_info = {
                "numerical_indices": torch.arange(start),
                "categorical_indices": [torch.arange(a, b) for a, b in pairwise(ends.tolist())],
                "categorical_vectors": [torch.eye(size) for size in sizes],
            }
        target = torch.as_tensor(y)
        self._model.fit(Z[train], target[train], Z[valid], target[valid])

    def _tensor(self, X: Any) -> Any:
        import torch

        blocks = [self._scaler.transform(X if self._numeric is None else X[self._numeric])]
        if self._other:
            blocks.append(self._encoder.transform(X[self._other]))
        return torch.as_tensor(np.hstack(blocks), dtype=torch.float32)


class XRFMRegressor(RegressorMixin, _XRFM):
    """xRFM with its default settings, for regression."""

    def fit(self, X: Any, y: NDArray[Any]) -> XRFMRegressor:
        """Fit to rows X (n, d) and targets y (n,)."""
        self._target = StandardScaler().fit(np.asarray(y, dtype=np.float64)[:, None])
        self._fit(X, self._target.transform(np.asarray(y)[:, None]).astype(np.float32)[:, 0], stratify=False)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict targets (n,), in the units of y."""
        out = np.asarray(self._model.predict(self._tensor(X)), dtype=np.float64)
        return self._target.inverse_transform(out.reshape(-1, 1))[:, 0]


class XRFMClassifier(ClassifierMixin, _XRFM):
    """xRFM with its default settings, for labels 0 … c−1."""

    def fit(self, X: Any, y: NDArray[Any]) -> XRFMClassifier:
        """Fit to rows X (n, d) and labels y (n,)."""
        self.classes_ = np.unique(y)
        self._fit(X, np.asarray(y, dtype=np.int64), stratify=True)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels (n,)."""
        return np.asarray(self._model.predict(self._tensor(X))).reshape(-1)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict class probabilities (n, c)."""
        return np.asarray(self._model.predict_proba(self._tensor(X)))
