"""A table of houses, and options of a fit that selects nothing and takes an instant."""

import numpy as np

from gramian.kernels import Laplace

QUICK = {"n_rounds": 1, "kernel": Laplace(3.0), "ridge": 1e-2, "update": "agop", "select_round": "last"}
N_HOUSES = 120


def houses():
    """A frame with areas, rooms, noise, and two targets: a price and a label."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = N_HOUSES
    frame = pd.DataFrame({"area": rng.uniform(20, 200, n), "rooms": rng.integers(1, 7, n), "noise": rng.normal(size=n)})
    frame["price"] = 1000.5 * frame["area"] + 5000 * frame["rooms"]
    frame["sold"] = np.where(frame["area"] > 110, "yes", "no")
    return frame
