"""The compared learners: untuned defaults, one thread, a fixed seed, no output.

Inputs: tree methods get the raw columns, with their own handling of categories enabled; methods based on distances get
standardised numbers and one-hot categories, and a standardised target in regression; gramian gets the raw table. Labels
are 0 … c−1. Other packages are imported when a learner is made, so that none of them needs to be installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from gramian import RFMClassifier, RFMRegressor, __version__
from gramian.bench.peers import XRFMClassifier, XRFMRegressor
from gramian.bench.tasks import REGRESSION
from gramian.bench.uci_protocol import UPDATES
from gramian.rfm.options import PresetName

Make = Callable[[str, Any, int], Any]
"""(type of task, training rows, seed) → an estimator with fit and predict, optionally predict_proba."""


@dataclass(frozen=True)
class Method:
    """A learner by name.

    ``package`` is the distribution whose version decides the results. ``revision`` identifies our settings: increase it
    when ``make`` changes, so that finished cells run again. ``paper`` marks the methods of the protocol of paper B.
    """

    name: str
    package: str
    make: Make
    revision: str = "1"
    paper: bool = False

    @property
    def version(self) -> str:
        """Version of the package."""
        return __version__ if self.package == "gramian" else version(self.package)

    @property
    def missing(self) -> str | None:
        """Reason why the method cannot run here, or None."""
        if self.package == "gramian":
            preset = _PRESETS.get(self.name)
            if preset and "preset" not in inspect.signature(RFMRegressor).parameters:
                return f"gramian {__version__} has no preset={preset!r}"
            return None
        try:
            version(self.package)
        except PackageNotFoundError:
            return f"not installed (pip install {self.package})"
        return None


_PRESETS = {"gramian-fast": "fast", "gramian-best": "best"}


def is_frame(X: Any) -> bool:
    """Return True if X is a pandas frame.

    >>> is_frame(np.zeros((2, 2)))
    False
    """
    return hasattr(X, "iloc")


def to_numbers(X: Any, scale: bool) -> Any:
    """Make a transformer to numeric columns: imputed numbers, one-hot categories; standardised with ``scale``."""
    numeric = [SimpleImputer()] * is_frame(X) + [StandardScaler()] * scale
    if not is_frame(X):
        return make_pipeline(*numeric) if numeric else None
    parts = [
        ("numbers", make_pipeline(*numeric), make_column_selector(dtype_include="number")),
        (
            "categories",
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
    ]
    return ColumnTransformer(parts)


class CodedRidge(ClassifierMixin, BaseEstimator):
    """Kernel ridge regression on one-hot labels; predicts the class with the largest output.

    >>> model = CodedRidge("rbf").fit(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]))
    >>> model.predict(np.array([[4.5]])).tolist()
    [1]
    """

    def __init__(self, kernel: str = "rbf") -> None:
        self.kernel = kernel

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> CodedRidge:
        """Fit to rows X (n, d) and labels y (n,)."""
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.ridge_ = KernelRidge(kernel=self.kernel).fit(X, np.eye(len(self.classes_))[labels])
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Predict labels (n,)."""
        return self.classes_[self.ridge_.predict(X).argmax(axis=1)]


def _gramian(preset: PresetName) -> Make:
    def make(kind: str, X: Any, seed: int) -> RFMRegressor | RFMClassifier:
        return (RFMRegressor if kind == REGRESSION else RFMClassifier)(preset=preset, random_state=seed)

    return make


def _scaled(regressor: Callable[[int], Any], classifier: Callable[[int], Any]) -> Make:
    def make(kind: str, X: Any, seed: int) -> Any:
        model = make_pipeline(to_numbers(X, scale=True), (regressor if kind == REGRESSION else classifier)(seed))
        # An untuned ridge or ε-tube is only meaningful for a standardised target.
        return TransformedTargetRegressor(model, transformer=StandardScaler()) if kind == REGRESSION else model

    return make


def _forest(kind: str, X: Any, seed: int) -> Any:
    forest = (RandomForestRegressor if kind == REGRESSION else RandomForestClassifier)(random_state=seed, n_jobs=1)
    return make_pipeline(to_numbers(X, scale=False), forest) if is_frame(X) else forest


def _histogram(kind: str, X: Any, seed: int) -> Any:
    return (HistGradientBoostingRegressor if kind == REGRESSION else HistGradientBoostingClassifier)(random_state=seed)


def _lightgbm(kind: str, X: Any, seed: int) -> Any:
    import lightgbm  # an extra

    model = lightgbm.LGBMRegressor if kind == REGRESSION else lightgbm.LGBMClassifier
    return model(random_state=seed, n_jobs=1, verbose=-1)


def _xgboost(kind: str, X: Any, seed: int) -> Any:
    import xgboost  # an extra

    model = xgboost.XGBRegressor if kind == REGRESSION else xgboost.XGBClassifier
    return model(random_state=seed, n_jobs=1, verbosity=0, enable_categorical=True)


def _catboost(kind: str, X: Any, seed: int) -> Any:
    import catboost  # an extra

    model = catboost.CatBoostRegressor if kind == REGRESSION else catboost.CatBoostClassifier
    columns = list(X.select_dtypes(exclude="number").columns) if is_frame(X) else None
    return model(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False, cat_features=columns)


def _xrfm(kind: str, X: Any, seed: int) -> RegressorMixin | ClassifierMixin:
    return (XRFMRegressor if kind == REGRESSION else XRFMClassifier)(random_state=seed)


def _realmlp(kind: str, X: Any, seed: int) -> Any:
    import pytabkit  # an extra

    model = pytabkit.RealMLP_TD_Regressor if kind == REGRESSION else pytabkit.RealMLP_TD_Classifier
    return model(random_state=seed, n_threads=1, device="cpu")


def _nothing(kind: str, X: Any, seed: int) -> Any:
    raise ValueError("methods of the paper's protocol run in the suite uci-paper only")


_SKLEARN = "scikit-learn"
_ALL = (
    Method("gramian", "gramian", _gramian("default")),
    Method("gramian-fast", "gramian", _gramian("fast")),
    Method("gramian-best", "gramian", _gramian("best")),
    Method("RandomForest", _SKLEARN, _forest),
    Method("SVM", _SKLEARN, _scaled(lambda seed: SVR(), lambda seed: SVC(random_state=seed))),
    Method("LightGBM", "lightgbm", _lightgbm),
    Method("XGBoost", "xgboost", _xgboost),
    Method("HistGradientBoosting", _SKLEARN, _histogram),
    Method(
        "KernelRidge-rbf", _SKLEARN, _scaled(lambda seed: KernelRidge(kernel="rbf"), lambda seed: CodedRidge("rbf"))
    ),
    Method(
        "KernelRidge-laplace",
        _SKLEARN,
        _scaled(lambda seed: KernelRidge(kernel="laplacian"), lambda seed: CodedRidge("laplacian")),
    ),
    Method("xRFM", "xrfm", _xrfm),
    Method("CatBoost", "catboost", _catboost),
    Method("RealMLP", "pytabkit", _realmlp),
    *(Method(name, "gramian", _nothing, paper=True) for name in UPDATES),
)
METHODS: dict[str, Method] = {method.name: method for method in _ALL}
"""Methods by name."""


def find_method(name: str) -> Method:
    """Return the method of ``name`` or ``name@tag``; a tag separates results of changed code in one file.

    >>> find_method("gramian@try-2").package
    'gramian'
    """
    base = name.partition("@")[0]
    if base not in METHODS:
        raise ValueError(f"{base!r} is not a method; the methods are {', '.join(METHODS)}")
    return METHODS[base]
