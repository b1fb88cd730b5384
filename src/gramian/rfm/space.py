"""Where to look for better parameters: a function from an optuna trial to parameters of an estimator."""

from __future__ import annotations

from typing import Any

from gramian.features import Agop
from gramian.kernels import Exponential, Lp


def published_space(trial: Any) -> dict[str, Any]:
    """The space in which xRFM was tuned for its published numbers, with lengths as multiples of the median distance.

    ``exp(−(‖x − z‖/L)^q)`` with the Euclidean or the ℓp norm, q in [0.7, 1.4], p in [q, 2] but not below 1, L from
    1/16 to 16 medians, ridge from 1e-6 to 10; a full or diagonal M, and M or its square root.
    """
    q = trial.suggest_float("exponent", 0.7, 1.4)
    factor = trial.suggest_float("factor", 1 / 16, 16, log=True)
    ridge = trial.suggest_float("ridge", 1e-6, 10, log=True)
    power = trial.suggest_categorical("power", [1.0, 0.5])
    kernel: Exponential | Lp
    if trial.suggest_categorical("norm", ["euclidean", "p"]) == "p":
        least = max(q, 1.0)  # below 1 the slope is infinite where two rows share a value
        p = least + trial.suggest_float("p_share", 0, 1) * (2 - least)
        kernel, diagonal = Lp("median", p=p, exponent=q, factor=factor), True
    else:
        kernel = Exponential("median", exponent=q, factor=factor)
        diagonal = trial.suggest_categorical("diagonal", [False, True])
    return {"kernel": kernel, "update": Agop(power=power, diagonal=diagonal), "ridge": ridge}


FIRST: tuple[dict[str, Any], ...] = (
    {"exponent": 1.0, "factor": 1.0, "ridge": 1e-2, "power": 1.0, "norm": "euclidean", "diagonal": False},
    {"exponent": 1.0, "factor": 1.0, "ridge": 1e-2, "power": 1.0, "norm": "p", "p_share": 0.0},
)
"""Sound guesses to begin with: the Laplace kernel and its ℓ1 sister."""
