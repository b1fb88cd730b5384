"""The model class for AutoGluon."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gramian.integrations.autogluon.fitting import PROBLEM_TYPES, fit_estimator, make_estimator
from gramian.integrations.autogluon.memory import fit_bytes
from gramian.integrations.extras import require

if TYPE_CHECKING:
    import pandas as pd

try:
    from autogluon.common.utils.resource_utils import ResourceManager
    from autogluon.core.models import AbstractModel
except ImportError:

    class AbstractModel:  # type: ignore[no-redef]
        """A stand-in for AutoGluon's class of that name, for a computer on which AutoGluon is not installed."""

        def __init__(self, **kwargs: object) -> None:
            require("autogluon.core.models", "GramianModel", "autogluon")


class GramianModel(AbstractModel):  # type: ignore[misc]
    """Recursive feature machine as a model of AutoGluon, for binary and multiclass classification and regression.

    Hyperparameters are the parameters of :class:`gramian.RFMClassifier` and :class:`gramian.RFMRegressor`; options of
    the kernel and the update are written as ``kernel__bandwidth_scale``. Frames are passed on as they are: the
    estimator encodes categories and missing entries. Validation rows of AutoGluon select rounds and candidates; a
    refit on all rows makes folds instead. AutoGluon itself saves fitted predictors with pickle.

    Needs AutoGluon 1.6 or newer, the extra ``gramian[autogluon]``::

        TabularPredictor(label="class").fit(frame, hyperparameters={GramianModel: {}, "GBM": {}})

    >>> GramianModel.ag_name, GramianModel.seed_name
    ('Gramian', 'random_state')
    """

    ag_key = "GRAMIAN"
    ag_name = "Gramian"
    ag_priority = 65
    seed_name = "random_state"
    default_resources_physical_cores_only = True
    _supported_problem_types: ClassVar[list[str]] = list(PROBLEM_TYPES)

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series[Any],
        X_val: pd.DataFrame | None = None,
        y_val: pd.Series[Any] | None = None,
        time_limit: float | None = None,
        sample_weight: pd.Series[Any] | None = None,
        num_cpus: int = 1,
        num_gpus: float = 0,
        **kwargs: object,
    ) -> None:
        """Fit the estimator with AutoGluon's validation rows, seconds, cores and free memory."""
        started = time.monotonic()
        X = self.preprocess(X, y=y)
        eval_set = None if X_val is None or y_val is None else (self.preprocess(X_val), y_val)
        self.model = fit_estimator(
            self.problem_type,
            X,
            y,
            eval_set=eval_set,
            sample_weight=sample_weight,
            params=self._get_model_params(),
            metric=self.stopping_metric.name,
            time_limit=None if time_limit is None else max(time_limit - (time.monotonic() - started), 1e-3),
            n_threads=max(1, int(num_cpus)),
            free_bytes=ResourceManager.get_available_virtual_mem(),
            device="cuda" if num_gpus else "cpu",
        )

    def _predict_proba(self, X: pd.DataFrame, **kwargs: object) -> NDArray[np.float64]:
        """Return predictions (n,), probabilities of the second class (n,), or of all classes (n, classes)."""
        X = self.preprocess(X, **kwargs)
        if self.problem_type == "regression":
            predicted: NDArray[np.float64] = self.model.predict(X)
            return predicted
        found: NDArray[np.float64] = self.model.predict_proba(X)
        if self.problem_type == "binary":
            return found[:, 1]
        whole = np.zeros((len(found), self.num_classes))  # the training rows of a fold may lack a rare class
        whole[:, self.model.classes_.astype(int)] = found
        return whole

    @classmethod
    def _estimate_memory_usage_static(
        cls,
        *,
        X: pd.DataFrame,
        hyperparameters: dict[str, object] | None = None,
        problem_type: str = "regression",
        num_classes: int | None = 1,
        num_cpus: int | str | None = None,
        X_val: pd.DataFrame | None = None,
        **kwargs: object,
    ) -> int:
        """Return the bytes of a fit, from the forecast of its plan."""
        estimator = make_estimator(
            problem_type,
            hyperparameters,
            n_threads=num_cpus if isinstance(num_cpus, int) else None,
            free_bytes=ResourceManager.get_available_virtual_mem(),
        )
        outputs = num_classes if problem_type == "multiclass" and num_classes is not None else 1
        return fit_bytes(estimator, X, outputs, evaluation_set=X_val is not None)

    def _more_tags(self) -> dict[str, bool]:
        return {"can_refit_full": True}
