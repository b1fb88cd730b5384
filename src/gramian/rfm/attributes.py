"""Attributes of a fitted estimator, read from its model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, overload, runtime_checkable

from gramian.core.warn import warn
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import Compression, FittedRFM
from gramian.tables.preprocessing import Names
from gramian.tables.scaling import Array

T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E")


@runtime_checkable
class HasFittedModel(Protocol):
    """An estimator with a fitted model."""

    def fitted(self) -> FittedRFM:
        """Return the model, or raise scikit-learn's NotFittedError, an AttributeError."""


class FittedAttribute(Generic[T_co]):
    """An attribute of an estimator that is a function of its fitted model; it does not exist before a fit.

    >>> from gramian import RFMRegressor
    >>> hasattr(RFMRegressor(), "ridge_")
    False
    """

    def __init__(self, read: Callable[[FittedRFM], T_co], doc: str) -> None:
        self._read = read
        self.__doc__ = doc

    @overload
    def __get__(self, estimator: None, owner: type) -> FittedAttribute[T_co]: ...
    @overload
    def __get__(self, estimator: HasFittedModel, owner: type) -> T_co: ...
    def __get__(self, estimator: HasFittedModel | None, owner: type) -> T_co | FittedAttribute[T_co]:
        return self if estimator is None else self._read(estimator.fitted())

    def __set__(self, estimator: HasFittedModel, value: object) -> None:
        raise AttributeError("attributes of a fitted estimator are read from model_ and cannot be set")


def feature_names(model: FittedRFM) -> Names:
    """Return the column names of the training table."""
    names = model.preprocessing.reader.feature_names
    if names is None:
        raise AttributeError("feature_names_in_ does not exist: the training table had no column names")
    return names


def compression(model: FittedRFM) -> Compression:
    """Return the cost of fewer centres."""
    if model.compression is None:
        raise AttributeError("compression_ does not exist: the model is not compressed")
    return model.compression


def fitted_rows(model: FittedRFM) -> int:
    """Return the number of rows for which the final model was solved: all, those not held out, or a part of them."""
    found = model.history.fitted_rows
    return model.history.plan.n if found is None else found


def training_rows(model: FittedRFM) -> Array:
    """Return the standardised training rows of a single kernel machine, in the columns in use."""
    rows: Array = _single_machine(model).X.cpu().numpy().copy()  # the model itself cannot be changed through it
    return rows


def dual_coef(model: FittedRFM) -> Array:
    """Return the coefficients ``(n,)`` or ``(n, c)`` of a single kernel machine, on the scaled target."""
    coef: Array = _single_machine(model).coef.cpu().numpy().copy()
    return coef[:, 0] if coef.shape[1] == 1 else coef


def _single_machine(model: FittedRFM) -> KernelMachine:
    machine = model.machine
    if len(model.ensemble.machines) > 1 or not isinstance(machine, KernelMachine):
        raise AttributeError("dual_coef_ and X_fit_ exist where a single kernel machine predicts; see ensemble_")
    return machine


def storable(estimator: E) -> E:
    """Return a copy without what a file cannot hold: callbacks, which observe fits, and a metric that is a function."""
    saved = copy.copy(estimator)
    vars(saved).pop("_skl_callbacks", None)
    if callable(vars(saved)["metric"]):
        vars(saved)["metric"] = "auto"
        warn("the metric is a function and is not saved: the loaded model has metric='auto'")
    return saved
