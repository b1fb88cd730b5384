"""The figure of the README: learned features next to the truth, by pixel, and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_digits

from gramian import RFMClassifier, RFMRegressor
from gramian.core import cosine
from gramian.datasets import hermite_index
from gramian.demo.tasks import CROWD_SHAPE, with_neighbours
from gramian.report import plot_feature_matrix, plot_image_features, plot_importances


def draw(seed: int = 0) -> Figure:
    """Fit three models and draw their learned features, 10 × 3.3 inches."""
    figure = Figure(figsize=(10, 3.3), layout="constrained")
    left, middle, right = np.asarray(figure.subfigures(1, 3, width_ratios=(1.25, 1.0, 1.15), wspace=0.05))
    for part, title, fill in (
        (left, "Finds the true directions", _known_answer),
        (middle, "Learns where to look", _crowd),
        (right, "Says what matters, by name", _table),
    ):
        part.suptitle(title, fontsize=12, fontweight="bold")
        part.supxlabel(fill(part, seed), fontsize=9, color="#444444")
    return figure


def _known_answer(part: Any, seed: int, n: int = 1000) -> str:
    data = hermite_index(n=n, seed=seed)
    model = RFMRegressor(update="agop", random_state=seed).fit(data.X, data.y)
    M = model.feature_matrix_
    assert data.egop is not None, "the truth of this task is known"
    pair = ((data.egop, "truth: E[∇f ∇fᵀ]"), (M, "learned: M"))
    for ax, (matrix, title) in zip(part.subplots(1, 2), pair, strict=True):
        plot_feature_matrix(matrix, ax, scale_bar=False)
        ax.set_title(title, fontsize=10)
        _bare(ax)
    similarity = cosine(torch.from_numpy(M), torch.from_numpy(data.egop))
    return f"y = He₂(u·x) + He₄(u·x), {n:,} rows: cosine {similarity:.3f}"


def _crowd(part: Any, seed: int, n: int = 500) -> str:
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)
    rng = np.random.default_rng(seed)
    train, out = np.split(rng.permutation(len(images)), [n])
    X, X_out = with_neighbours(images[train], rng), with_neighbours(images[out], rng)
    plain, model = (RFMClassifier(n_rounds=k, random_state=seed).fit(X, labels[train]) for k in (0, 2))
    before, after = (100 * m.score(X_out, labels[out]) for m in (plain, model))
    example, pixels = part.subplots(2, 1)
    example.imshow(X_out[labels[out] == 3][0].reshape(CROWD_SHAPE), cmap="gray_r", interpolation="nearest")
    example.set_title("Which digit is in the middle?", fontsize=10)
    plot_image_features(model, pixels, shape=CROWD_SHAPE)
    pixels.set_title("Pixels that count: diagonal of M", fontsize=10)
    for ax in (example, pixels):
        _bare(ax)
    return f"kernel ridge {before:.1f} %, with features {after:.1f} %"


def _table(part: Any, seed: int) -> str:
    data = load_breast_cancer()
    model = RFMClassifier(random_state=seed).fit(data.data, data.target)
    ax = plot_importances(model, part.add_subplot(), top=8, names=list(data.feature_names))
    ax.tick_params(labelsize=9)
    ax.set_xlabel("")
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    return "share of the prediction's sensitivity, breast cancer"


def _bare(ax: Any) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color("#B0B0B0")
