"""Every public display on small fixed data, for the tests of how they look."""

import warnings
from functools import cache

import numpy as np
import torch
from torch import nn

from gramian import RFMClassifier, RFMRegressor, report
from gramian.nets import Monitor

NAMES = ["age", "bmi", "blood_pressure", "cholesterol", "sugar", "steps per day"]


@cache
def regressor() -> RFMRegressor:
    """Two of six columns act together, and a third alone."""
    import pandas as pd

    X = np.random.default_rng(0).normal(size=(120, 6))
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
    """A network that learns a product of two of sixteen pixels, watched for 60 steps."""
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


def _network(display, **options):
    return lambda ax: getattr(report, display).from_report(monitor().report, ax=ax, **options)


CASES = {
    "along": lambda ax: report.AlongDisplay.from_estimator(regressor(), ax=ax),
    "directions": lambda ax: report.DirectionsDisplay.from_estimator(regressor(), ax=ax),
    "explanation": lambda ax: report.ExplanationDisplay.from_estimator(regressor(), row(), ax=ax),
    "feature_matrix": lambda ax: report.FeatureMatrixDisplay.from_estimator(regressor(), ax=ax),
    "image_features": lambda ax: report.ImageFeaturesDisplay.from_estimator(regressor(), (2, 3), ax=ax, scale_bar=True),
    "importances": lambda ax: report.ImportancesDisplay.from_estimator(regressor(), ax=ax),
    "plain_importances": lambda ax: _Drawn(report.plot_importances(regressor(), ax)),
    "reliability": lambda ax: report.ReliabilityDisplay.from_estimator(classifier(), ax=ax),
    "rounds": lambda ax: report.RoundsDisplay.from_estimator(regressor(), ax=ax),
    "alignment": _network("AlignmentDisplay"),
    "geometry": _network("GeometryDisplay"),
    "layer_directions": _network("LayerDirectionsDisplay", shape=(4, 4), k=3),
    "layer_matrix": _network("LayerMatrixDisplay", layer="0", name="agop"),
    "ranks": _network("RanksDisplay"),
    "spectra": _network("SpectraDisplay"),
    "trajectory": lambda ax: report.TrajectoryDisplay.from_monitor(monitor(), ax=ax),
}


class _Drawn:
    def __init__(self, ax):
        self.ax_ = ax


WHOLE = {
    "report": lambda: report.plot_report(monitor().report),
    "layer": lambda: report.plot_layer(monitor().report, "0"),
    "history": lambda: report.plot_history(monitor()),
}
"""Figures of several plots."""
