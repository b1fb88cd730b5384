"""Every public figure on small fixed data."""

import warnings
from functools import cache

import numpy as np
import torch
from torch import nn

from gramian import RFMClassifier, RFMRegressor, report
from gramian.nets import FeatureReport, Monitor

NAMES = ["age", "bmi", "blood_pressure", "cholesterol", "sugar", "steps per day"]


@cache
def regressor() -> RFMRegressor:
    """A model of a target with a joint effect of two of six columns and the effect of a third one."""
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(150, 6))
    y = (X[:, 1] + X[:, 4]) ** 2 - 0.5 * X[:, 3]
    return RFMRegressor(kernel="gaussian", update="agop", n_rounds=2).fit(pd.DataFrame(X, columns=NAMES), y)


@cache
def row():
    import pandas as pd

    return pd.DataFrame([[0.4, 1.2, -0.7, 0.1, 0.9, -1.5]], columns=NAMES)


@cache
def classifier() -> RFMClassifier:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    return RFMClassifier(kernel="gaussian", update="agop", n_rounds=1).fit(X, X[:, 0] + rng.normal(size=200) > 0)


@cache
def monitor() -> Monitor:
    """A monitor of 61 training steps of a network on a product of two of sixteen pixels."""
    rng = torch.Generator().manual_seed(0)
    X = torch.randn(80, 16, generator=rng)
    y = X[:, :1] * X[:, 1:2]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-2)
    watching = Monitor(model, (X, y), loss="mse", every=10, optimizer=optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(61):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(X), y).backward()
            watching.step()
            optimizer.step()
    return watching


def inspected() -> FeatureReport:
    return monitor().report


CASES = {
    "alignment": lambda ax: report.plot_alignment(inspected(), ax),
    "directions": lambda ax: report.plot_directions(regressor().directions(3), ax),
    "explanation": lambda ax: report.plot_explanation(regressor().explain(row()), ax),
    "feature_matrix": lambda ax: report.plot_feature_matrix(regressor(), ax),
    "geometry": lambda ax: report.plot_geometry(inspected(), ax),
    "image_features": lambda ax: report.plot_image_features(regressor(), ax, shape=(2, 3), scale_bar=True),
    "importance_intervals": lambda ax: report.plot_importance_intervals(regressor().importances(), ax),
    "interactions": lambda ax: report.plot_interactions(regressor().interactions(), ax),
    "importances": lambda ax: report.plot_importances(regressor(), ax),
    "layer_directions": lambda ax: report.plot_layer_directions(inspected(), ax, shape=(4, 4), k=3),
    "layer_matrix": lambda ax: report.plot_layer_matrix(inspected(), ax, layer="0", name="agop"),
    "partial_dependence": lambda ax: report.plot_partial_dependence(regressor().partial_dependence_along(), ax),
    "permutation_importances": lambda ax: report.plot_permutation_importances(
        regressor().permutation_importances(), ax
    ),
    "ranks": lambda ax: report.plot_ranks(inspected(), ax),
    "reliability": lambda ax: report.plot_reliability(classifier().reliability(), ax),
    "rounds": lambda ax: report.plot_rounds(regressor(), ax),
    "spectra": lambda ax: report.plot_spectra(inspected(), ax),
    "trajectory": lambda ax: report.plot_trajectory(monitor(), ax),
}
"""Name → the figure ``plot_<name>`` on given axes."""
WHOLE = {
    "report": lambda: report.plot_report(inspected()),
    "layer": lambda: report.plot_layer(inspected(), "0"),
    "history": lambda: report.plot_history(monitor()),
}
"""Name → the figure ``plot_<name>``, which has several axes."""
