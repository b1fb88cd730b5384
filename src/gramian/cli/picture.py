"""The picture of the README: learned features next to the truth, over pixels, and by name."""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_digits

from gramian import RFMClassifier, RFMRegressor
from gramian.cli.tasks import CROWD_SHAPE, crowded
from gramian.core import cosine
from gramian.datasets import hermite_index
from gramian.report import plot_feature_matrix, plot_image_features, plot_importances


def draw(seed: int = 0) -> Figure:
    """Fit three models and draw what they learned, 10 × 3.4 inches."""
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, middle, right = figure.subfigures(1, 3, width_ratios=(1.12, 1.0, 1.2), wspace=0.04)
    truth, learned = left.subplots(1, 2)
    _known_answer(truth, learned, seed)
    example, pixels = middle.subplots(2, 1)
    _crowd(example, pixels, seed)
    _table(right.add_subplot(), seed)
    for part, title in (
        (left, "It finds the true directions"),
        (middle, "It learns where to look"),
        (right, "It says what matters, by name"),
    ):
        part.suptitle(title, fontsize=12, fontweight="bold")
    return figure


def _known_answer(truth: Axes, learned: Axes, seed: int) -> None:
    data = hermite_index(n=1000, seed=seed)
    model = RFMRegressor(update="agop", random_state=seed).fit(data.X, data.y)
    similarity = cosine(torch.from_numpy(model.feature_matrix_), torch.from_numpy(data.egop))
    for ax, M, title in ((truth, data.egop, "truth"), (learned, model.feature_matrix_, "learned")):
        plot_feature_matrix(M, ax, scale_bar=False)
        ax.set_title(title, fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    truth.set_xlabel("E[∇f ∇fᵀ]", fontsize=9)
    learned.set_xlabel(f"M, cosine {similarity:.3f}", fontsize=9)


def _crowd(example: Axes, pixels: Axes, seed: int) -> None:
    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    X, y = crowded(images[order].reshape(-1, 8, 8), rng), labels[order]
    model = RFMClassifier(n_rounds=2, random_state=seed).fit(X[:500], y[:500])
    plain = RFMClassifier(n_rounds=0, random_state=seed).fit(X[:500], y[:500])
    example.imshow(X[-1].reshape(CROWD_SHAPE), cmap="gray_r", interpolation="nearest")
    example.set_title("which digit is in the middle?", fontsize=10)
    plot_image_features(model, CROWD_SHAPE, pixels)
    scores = [m.score(X[500:], y[500:]) for m in (plain, model)]
    pixels.set_xlabel(f"kernel ridge {scores[0]:.1%}, with features {scores[1]:.1%}", fontsize=9)
    for ax in (example, pixels):
        ax.set_xticks([])
        ax.set_yticks([])


def _table(ax: Axes, seed: int) -> None:
    data = load_breast_cancer()
    model = RFMClassifier(random_state=seed).fit(data.data, data.target)
    plot_importances(model, ax, top=8, names=list(data.feature_names))
    ax.tick_params(labelsize=9)
    ax.set_xlabel("share of sensitivity (breast cancer)", fontsize=9)
