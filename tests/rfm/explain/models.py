"""Regressors that are fitted at once."""

from gramian import RFMRegressor
from gramian.kernels import Lp

QUICK = {"preset": "fast", "n_rounds": 1, "select_round": "last", "update": "agop", "ridge": 1e-2, "dtype": "float64"}


def quick(kernel, **options):
    update = "agop-diagonal" if isinstance(kernel, Lp) else "agop"
    return RFMRegressor(kernel=kernel, **QUICK | {"update": update} | options)
