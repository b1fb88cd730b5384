"""Fitted models of all kinds with new rows, to compare exported predictors with."""

from dataclasses import replace
from functools import cache

import numpy as np

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import NNGP, NTK, Exponential, ExponentialDot, Gaussian, Laplace, Lp, Matern, Polynomial, ScoredLp
from gramian.rfm import TreePartition
from gramian.solvers import Nystrom
from gramian.tables import TableEncoder
from gramian.tables.links import PowerLink, SoftmaxLink

ONE = {"update": "agop", "n_rounds": 1, "select_round": "last", "ridge": 1e-2}
AXES = {**ONE, "update": "agop-diagonal"}


def rows(n=150, seed=0, columns=4):
    """Numbers, and a target with an interaction; a fifth of the new rows are training rows."""
    X = np.random.default_rng(seed).normal(size=(n, columns))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


def new_rows(X, n=40):
    """New rows of a numeric table, of which every fifth is a training row and one is far away."""
    out = np.random.default_rng(5).normal(size=(n, X.shape[1])).astype(X.dtype)
    out[::5] = X[: len(out[::5])]
    out[1] = 30.0
    return out


def frame(n=160, seed=0, new=False):
    """A frame with numbers, booleans, gaps, categories of 2, 3 and many levels, and an ordered one."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    town = np.array([f"town {i}" for i in range(60)])[rng.integers(0, 60, n) if not new else rng.integers(30, 60, n)]
    table = pd.DataFrame(
        {
            "area": np.exp(rng.normal(4, 1, n)),
            "rooms": rng.integers(1, 7, n),
            "garden": rng.random(n) < 0.5,
            "colour": np.array(["red", "blue", "green", None], dtype=object)[rng.integers(0, 4, n)],
            "sold by": np.array(["owner", "agent"])[rng.integers(0, 2, n)],
            "town": town,
            "state": pd.Categorical(
                np.array(["bad", "fair", "good"])[rng.integers(0, 3, n)],
                categories=["bad", "fair", "good"],
                ordered=True,
            ),
            "floor": pd.Categorical(rng.integers(0, 4, n)),
            "same": 1.0,
        }
    )
    table.loc[rng.random(n) < 0.2, "area"] = np.nan
    table.loc[rng.random(n) < 0.1, "state"] = None
    price = 100 * table["rooms"] + table["area"].fillna(50) + 40 * (table["colour"] == "red") + 30 * table["garden"]
    if new:
        table.loc[table.index[:3], "colour"] = ["violet", " ", "NaN"]
        table.loc[table.index[3:5], "sold by"] = ["nobody", None]
        table.loc[table.index[:2], "town"] = ["somewhere else", None]
    return table, price.to_numpy(dtype=float)


def regression(**options):
    X, y = rows()
    return RFMRegressor(**options).fit(X, y), new_rows(X)


def classes(count, **options):
    X, y = rows()
    labels = np.array([f"class {i}" for i in range(count)])[np.digitize(y, np.quantile(y, np.arange(1, count) / count))]
    return RFMClassifier(**options).fit(X, labels), new_rows(X)


def two_classes(link):
    """Two classes with a given map from scores to probabilities, whichever a fit would choose."""
    model, new = classes(2, kernel="laplace", **ONE)
    model.model_ = replace(model.model_, fitted_link=link)
    return model, new


def in_float32():
    X, y = rows()
    return RFMRegressor(kernel="laplace", dtype="float32", **ONE).fit(X, y), new_rows(X)


def log_target():
    X, y = rows()
    return RFMRegressor(kernel="gaussian", target_transform="log", **ONE).fit(X, np.exp(y)), new_rows(X)


def shifted_log():
    X, y = rows()
    return RFMRegressor(kernel="gaussian", target_transform="shifted-log", **ONE).fit(X, -np.exp(y)), new_rows(X)


def several_targets():
    X, y = rows()
    return RFMRegressor(kernel="laplace", **ONE).fit(X, np.column_stack([y, X[:, 0], -y])), new_rows(X)


def weighted():
    X, y = rows()
    weights = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
    return RFMRegressor(kernel="laplace", **ONE).fit(X, y, sample_weight=weights), new_rows(X)


def long_tails():
    X, y = rows()
    X = np.exp(2 * X)
    return RFMRegressor(kernel=ScoredLp(2.0), **AXES).fit(X, y), np.exp(2 * new_rows(X) / 3)


def tree():
    X, y = rows(n=400)
    return RFMRegressor(solver=TreePartition(leaf_rows=100, overlap=0.2, workers=1), kernel="laplace", **ONE).fit(
        X, y
    ), new_rows(X)


def selected_columns():
    X, y = rows(columns=8)
    return RFMRegressor(kernel="laplace", feature_threshold=0.05, **ONE).fit(X, y), new_rows(X)


def compressed():
    X, y = rows()
    return RFMRegressor(kernel="laplace", **ONE).fit(X, y).compressed(40), new_rows(X)


def frame_regression(**options):
    X, y = frame()
    return RFMRegressor(**options).fit(X, y), frame(40, seed=1, new=True)[0]


def frame_classes(**options):
    X, y = frame()
    return RFMClassifier(**options).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6]))), frame(40, 1, new=True)[0]


def constant_outputs():
    X, _ = rows()
    return RFMRegressor(kernel="gaussian", **ONE).fit(X, np.full(len(X), 3.0)), new_rows(X)


MAKERS = {
    "default": lambda: regression(preset="fast"),
    "laplace": lambda: regression(kernel=Laplace(3.0), **ONE),
    "gaussian": lambda: regression(kernel=Gaussian(2.0), **ONE),
    "exponential": lambda: regression(kernel=Exponential(3.0, exponent=0.7), **ONE),
    "matern 3/2": lambda: regression(kernel=Matern(3.0, nu=1.5), **ONE),
    "matern 5/2": lambda: regression(kernel=Matern(3.0), **ONE),
    "l1": lambda: regression(kernel=Lp(4.0), **AXES),
    "l1.5": lambda: regression(kernel=Lp(4.0, p=1.5, exponent=0.8), **AXES),
    "polynomial": lambda: regression(kernel=Polynomial(degree=2, offset=1.0), **ONE),
    "exponential dot": lambda: regression(kernel=ExponentialDot(scale=4.0), **ONE),
    "ntk": lambda: regression(kernel=NTK(depth=2), **ONE),
    "nngp": lambda: regression(kernel=NNGP(depth=3), **ONE),
    "plain kernel": lambda: regression(kernel="laplace", n_rounds=0),
    "nystrom": lambda: regression(kernel="gaussian", solver=Nystrom(centers=50), **ONE),
    "bagging": lambda: regression(preset="fast", bagging=True),
    "float32": in_float32,
    "log target": log_target,
    "shifted log": shifted_log,
    "huber": lambda: regression(kernel="laplace", loss="huber", **ONE),
    "several targets": several_targets,
    "weights": weighted,
    "scores of long tails": long_tails,
    "tree": tree,
    "selected columns": selected_columns,
    "compressed": compressed,
    "constant target": constant_outputs,
    "two classes": lambda: classes(2, preset="fast"),
    "two classes, temperature": lambda: two_classes(SoftmaxLink(0.3)),
    "two classes, power": lambda: two_classes(PowerLink(1.5, 0.03)),
    "five classes": lambda: classes(5, preset="fast"),
    "class weights": lambda: classes(3, class_weight="balanced", kernel="laplace", **ONE),
    "frame": lambda: frame_regression(preset="fast"),
    "frame, scores": lambda: frame_regression(kernel="laplace", encoder=TableEncoder(rank_gauss=True), **ONE),
    "frame, only scores": lambda: frame_regression(
        kernel="laplace", encoder=TableEncoder(rank_gauss="only", missing="fill"), **ONE
    ),
    "frame, classes": lambda: frame_classes(preset="fast"),
}


@cache
def fitted(name):
    """A fitted model and new rows for it."""
    return MAKERS[name]()
