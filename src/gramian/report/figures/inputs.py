"""Inputs of the figures: attributes a model must have, names of its columns, checks of numbers.

A figure asks a model only for the attributes listed here, so it draws any model that has them: the estimators of
gramian, and others with the same attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from gramian.rfm import Round

SMALLEST_SHARE = 5e-4
"""Shares below this are written as 0.0 % and get no bar."""


@runtime_checkable
class HasImportances(Protocol):
    """A fitted model with the share of each of its ``d`` columns in the sensitivity of the predictions."""

    @property
    def feature_importances_(self) -> ArrayLike:
        """Shares ``(d,)``."""


@runtime_checkable
class HasFeatureMatrix(Protocol):
    """A fitted model with a learned matrix M."""

    @property
    def feature_matrix_(self) -> ArrayLike:
        """M ``(d, d)``."""


@runtime_checkable
class HasComponents(Protocol):
    """A fitted model with the eigenvectors and eigenvalues of its learned matrix."""

    @property
    def components_(self) -> ArrayLike:
        """Eigenvectors ``(m, d)`` as rows, strongest first."""

    @property
    def eigenvalues_(self) -> ArrayLike:
        """Eigenvalues ``(m,)``."""


@runtime_checkable
class HasRounds(Protocol):
    """A fitted model with a record of each of its rounds."""

    @property
    def rounds_(self) -> Sequence[Round]:
        """Records of rounds 0, 1, …"""

    @property
    def best_round_(self) -> int:
        """Number of the selected round."""


def check_fitted(model: object) -> None:
    """Raise scikit-learn's NotFittedError for an estimator that was not fitted; other objects pass.

    >>> from gramian import RFMRegressor
    >>> check_fitted(RFMRegressor())
    Traceback (most recent call last):
    sklearn.exceptions.NotFittedError: This RFMRegressor instance is not fitted yet. ...
    """
    if hasattr(model, "fit"):
        check_is_fitted(model)


def known_names(model: object, d: int) -> list[str] | None:
    """Names a model has for ``d`` of its columns, the user's or the encoded ones; None where it has none.

    >>> import numpy as np
    >>> known_names(np.eye(2), 2) is None
    True
    """
    encoder = getattr(model, "encoder_", None)
    known = [getattr(model, "feature_names_in_", ())]
    if encoder is not None:
        known += [encoder.columns_, encoder.get_feature_names_out()]
    return next(([str(name) for name in names] for names in known if len(names) == d), None)


def column_names(model: object, d: int, names: Sequence[str] | None) -> list[str]:
    """The given names, else those of the model, else ``x0, x1, …``.

    >>> column_names(None, 2, None)
    ['x0', 'x1']
    """
    if names is None:
        return known_names(model, d) or [f"x{i}" for i in range(d)]
    if len(names) != d:
        raise ValueError(f"names must hold {d} names, one per column, got {len(names)}")
    return [str(name) for name in names]


def check_at_least_one(**values: int) -> None:
    """Raise a ValueError that names the first argument below 1.

    >>> check_at_least_one(top=0)
    Traceback (most recent call last):
    ValueError: top must be at least 1, got 0
    """
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
