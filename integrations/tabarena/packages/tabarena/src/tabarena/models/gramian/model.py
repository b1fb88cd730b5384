from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from autogluon.common.utils.resource_utils import ResourceManager
from autogluon.core.models import AbstractModel

if TYPE_CHECKING:
    import pandas as pd


class GramianModel(AbstractModel):
    """gramian: kernel ridge regression whose metric is learned from gradients (a recursive feature machine).

    By default eight pairs of kernel (Laplace, l1, Gaussian, l1 of normal scores) and update of the feature matrix
    (full, diagonal) compete on the validation rows, and up to four predict together. Ridge and bandwidth are selected
    by the leave-one-out error in closed form. Categories and missing values are encoded by the library.

    Paper: Mechanism for feature learning in neural networks and backpropagation-free machine learning models
    Authors: A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin (Science, 2024)
    Codebase: gramian (pip install gramian)
    License: BSD-3-Clause
    """

    ag_key = "TA-GRAMIAN"
    ag_name = "TA-Gramian"
    ag_priority = 65
    seed_name = "random_state"
    _supported_problem_types = ["binary", "multiclass", "regression"]
    default_resources_physical_cores_only = True

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        X_val: pd.DataFrame | None = None,
        y_val: pd.Series | None = None,
        time_limit: float | None = None,
        sample_weight: pd.Series | None = None,
        num_cpus: int = 1,
        num_gpus: float = 0,
        **kwargs,
    ):
        start_time = time.time()

        from gramian.integrations.autogluon import fit_estimator

        X = self.preprocess(X, y=y)
        eval_set = None if X_val is None else (self.preprocess(X_val), y_val)
        self.model = fit_estimator(
            self.problem_type,
            X,
            y,
            eval_set=eval_set,
            sample_weight=sample_weight,
            params=self._get_model_params(),
            metric=self.stopping_metric.name,
            # fit_estimator leaves 10% of the remaining seconds as headroom.
            time_limit=None if time_limit is None else max(time_limit - (time.time() - start_time), 1e-3),
            n_threads=max(1, int(num_cpus)),
            free_bytes=ResourceManager.get_available_virtual_mem(),
            device="cuda" if num_gpus else "cpu",
        )

    def _predict_proba(self, X: pd.DataFrame, **kwargs) -> np.ndarray:
        X = self.preprocess(X, **kwargs)
        if self.problem_type == "regression":
            return self.model.predict(X)
        proba = self.model.predict_proba(X)
        if self.problem_type == "binary":
            return proba[:, 1]
        # The training rows of a fold may lack a rare class.
        whole = np.zeros((len(proba), self.num_classes))
        whole[:, self.model.classes_.astype(int)] = proba
        return whole

    @classmethod
    def warmup(cls, *, num_gpus: float | None = None, **kwargs) -> None:
        """Warm torch (+ CUDA context) and the library import (untimed, data-independent)."""
        from tabarena.models.warmup import warmup_imports, warmup_torch

        warmup_torch(cuda=None if num_gpus is None else num_gpus > 0)
        warmup_imports("gramian.integrations.autogluon")

    @classmethod
    def _estimate_memory_usage_static(
        cls,
        *,
        X: pd.DataFrame,
        hyperparameters: dict | None = None,
        problem_type: str = "regression",
        num_classes: int | None = 1,
        num_cpus: int | str | None = None,
        X_val: pd.DataFrame | None = None,
        **kwargs,
    ) -> int:
        """Peak memory in bytes: the library forecasts it from the plan that the fit will follow."""
        from gramian.integrations.autogluon import fit_bytes, make_estimator

        estimator = make_estimator(
            problem_type,
            hyperparameters,
            n_threads=num_cpus if isinstance(num_cpus, int) else None,
            free_bytes=ResourceManager.get_available_virtual_mem(),
        )
        outputs = num_classes if problem_type == "multiclass" and num_classes is not None else 1
        return fit_bytes(estimator, X, outputs, evaluation_set=X_val is not None)

    def _more_tags(self) -> dict:
        return {"can_refit_full": True}
