"""The memory of a fit before it starts, from the plan that the fit will make."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch

from gramian.core import resolve_dtype
from gramian.rfm.estimator import BaseRFM
from gramian.rfm.options import FitOptions, resolve_updates
from gramian.rfm.training.plan import ENCODER_ROWS, Plan
from gramian.rfm.training.train import Task
from gramian.tables.preprocessing import TableReader

PROCESS_BYTES = 600 * 10**6
"""Memory of a new process after the imports of AutoGluon, torch and gramian (466 MB) and a first small fit (546 MB).

AutoGluon fits folds in such processes.
"""
_UNLIMITED = 2**60


@runtime_checkable
class Frame(Protocol):
    """The parts of a pandas frame that are used."""

    def __len__(self) -> int: ...

    def sample(self, n: int, random_state: int) -> Frame: ...

    def memory_usage(self, deep: bool) -> Any: ...


def forecast_plan(estimator: BaseRFM, X: Frame, outputs: int, evaluation_set: bool = False) -> Plan:
    """Return the plan of a fit to the rows of a frame: solver, stages, and a forecast of the memory.

    The plan is the one that the fit makes, except that rows which occur several times are not merged here, and that the
    kinds of columns are found on at most 20,000 rows. Where no plan keeps to the estimator's ``max_memory``, the plan
    without a limit is returned: its forecast is above the limit.

    Parameters
    ----------
    estimator : RFMClassifier or RFMRegressor
        Not fitted.
    X : pandas.DataFrame (n, d)
    outputs : int
        Number of columns of the coded target: classes where there are more than two, else 1.
    evaluation_set : bool
        The user's own rows compare rounds and candidates.

    >>> import pandas as pd
    >>> from gramian import RFMRegressor
    >>> X = pd.DataFrame({"size": range(200), "town": ["Bonn", "Rome"] * 100})
    >>> plan = forecast_plan(RFMRegressor(n_threads=1, max_memory="1GB"), X, outputs=1)
    >>> plan.n, plan.d, plan.solver
    (200, 2, Direct(tol=0.0001, max_refinements=8))
    """
    options = FitOptions.resolve(estimator.get_params(deep=False))
    n = len(X)
    some = X if n <= ENCODER_ROWS else X.sample(ENCODER_ROWS, random_state=0)
    d = TableReader.fit(some, estimator.encoder, type(estimator).__name__)[1].shape[1]
    updates = resolve_updates(options.update, options.preset, d, None)
    task = Task(options.kernels, updates, options.n_rounds, options.select_last)

    def within(budget: int) -> Plan:
        return Plan.for_size(
            n,
            d,
            outputs,
            budget,
            dtype=resolve_dtype(options.compute.dtype, n, options.compute.device),
            solver=options.solver,
            compare=task.compares,
            evaluation_set=evaluation_set,
            workers=options.n_threads or torch.get_num_threads() if options.compute.n_jobs is None else 1,
            candidates=min(len(task.kernels) * len(task.updates), options.preset.max_members),
            models=len(task.pairs) * (task.n_rounds + 1),
        )

    try:
        return within(options.compute.max_bytes)
    except ValueError:  # the message of the plan says that the rows need more memory
        return within(_UNLIMITED)


def fit_bytes(estimator: BaseRFM, X: Frame, outputs: int, evaluation_set: bool = False) -> int:
    """Forecast the bytes that a process needs for a fit: its imports, the frame, and the growth that the plan states.

    The arguments are those of :func:`forecast_plan`.

    >>> import numpy as np, pandas as pd
    >>> from gramian import RFMRegressor
    >>> model = RFMRegressor(n_threads=1, max_memory="8GB")
    >>> few, many = (pd.DataFrame(np.zeros((n, 3)) + np.arange(n)[:, None]) for n in (200, 6000))
    >>> fit_bytes(model, few, 1) < fit_bytes(model, many, 1) < 2 * 10**9
    True
    """
    plan = forecast_plan(estimator, X, outputs, evaluation_set)
    return PROCESS_BYTES + int(X.memory_usage(deep=True).sum()) + plan.memory.process
