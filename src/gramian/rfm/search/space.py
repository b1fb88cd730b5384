"""Search spaces: functions from an optuna trial to parameters of an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gramian.features import Agop
from gramian.kernels import Exponential, Lp

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

Params = dict[str, object]
"""Parameters for ``set_params`` of an estimator."""
Space = Callable[["BaseTrial"], Params]


def published_space(trial: BaseTrial) -> Params:
    """Return parameters from the space in which xRFM was tuned, with bandwidths as multiples of the median distance.

    The kernel is ``exp(−(‖x − z‖/L)^q)`` with the Euclidean or the ℓp norm, q in [0.7, 1.4], p in [q, 2] and at least
    1, L from 1/16 to 16 medians; the ridge is between 1e-6 and 10; M is full or diagonal, and used as it is or as its
    square root.

    >>> from optuna.trial import FixedTrial
    >>> sorted(published_space(FixedTrial(FIRST_TRIALS[0])))
    ['kernel', 'ridge', 'update']
    """
    q = trial.suggest_float("exponent", 0.7, 1.4)
    bandwidth_scale = trial.suggest_float("bandwidth_scale", 1 / 16, 16, log=True)
    ridge = trial.suggest_float("ridge", 1e-6, 10, log=True)
    power = trial.suggest_categorical("power", [1.0, 0.5])
    kernel: Exponential | Lp
    if trial.suggest_categorical("norm", ["euclidean", "p"]) == "p":
        least = max(q, 1.0)  # below 1 the slope is infinite where two rows share a value
        p = least + trial.suggest_float("p_share", 0, 1) * (2 - least)
        kernel, diagonal = Lp("median", p=p, exponent=q, bandwidth_scale=bandwidth_scale), True
    else:
        kernel = Exponential("median", exponent=q, bandwidth_scale=bandwidth_scale)
        diagonal = trial.suggest_categorical("diagonal", [False, True])
    return {"kernel": kernel, "update": Agop(power=power, diagonal=diagonal), "ridge": ridge}


FIRST_TRIALS: tuple[dict[str, float | str], ...] = (
    {"exponent": 1.0, "bandwidth_scale": 1.0, "ridge": 1e-2, "power": 1.0, "norm": "euclidean", "diagonal": False},
    {"exponent": 1.0, "bandwidth_scale": 1.0, "ridge": 1e-2, "power": 1.0, "norm": "p", "p_share": 0.0},
)
"""The first trials in :func:`published_space`: the Laplace kernel with the Euclidean and with the ℓ1 norm."""
