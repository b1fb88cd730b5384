"""Target linearity, surrogates, neural collapse, balancedness: laws, and equality with scikit-learn."""

import math

import pytest
import torch
from sklearn.linear_model import LinearRegression, Ridge
from torch import nn

from gramian.nets import balancedness, neural_collapse, surrogate, target_linearity
from gramian.nets.geometry import FeatureMoments, balancedness_of_pairs

G = torch.Generator().manual_seed(7)
H = torch.randn(40, 6, generator=G, dtype=torch.float64) + 3
Y = torch.randn(40, 2, generator=G, dtype=torch.float64) + H[:, :2] + 5


@pytest.mark.parametrize("ridge", [0.0, 0.5, 20.0])
def test_target_linearity_is_the_r2_of_ridge(ridge):
    model = Ridge(alpha=ridge) if ridge else LinearRegression()
    predicted = model.fit(H.numpy(), Y.numpy()).predict(H.numpy())
    expected = 1 - ((Y.numpy() - predicted) ** 2).sum() / ((Y - Y.mean(0)) ** 2).sum().item()
    assert target_linearity(H, Y, ridge) == pytest.approx(expected, abs=1e-10)


def test_target_linearity_without_centring_is_the_formula():
    gamma, Yc = 0.7, Y - Y.mean(0)
    fit = H @ torch.linalg.solve(H.mT @ H + gamma * torch.eye(6, dtype=H.dtype), H.mT @ Yc)
    expected = 1 - float((Yc - fit).square().sum() / Yc.square().sum())
    assert target_linearity(H, Y, gamma, center=False) == pytest.approx(expected, abs=1e-10)
    # Woodbury: the error is ‖γ(HHᵀ + γI)⁻¹Y‖²
    error = gamma * torch.linalg.solve(H @ H.mT + gamma * torch.eye(40, dtype=H.dtype), Yc)
    assert 1 - float(error.square().sum() / Yc.square().sum()) == pytest.approx(expected, abs=1e-9)


def test_dead_and_constant_features_do_no_harm():
    dead = torch.cat([H, torch.zeros(40, 2, dtype=H.dtype), torch.ones(40, 1, dtype=H.dtype)], 1)
    assert target_linearity(dead, Y, 0.0) == pytest.approx(target_linearity(H, Y, 0.0), abs=1e-9)
    assert math.isnan(target_linearity(H, torch.ones(40, 1, dtype=H.dtype), 0.1))


def test_surrogate_is_the_trace():
    Yc = Y - Y.mean(0)
    assert surrogate(H, Y) == pytest.approx(float((Yc.mT @ H @ H.mT @ Yc).trace()))


def test_balancedness_of_a_balanced_pair_and_of_any_other():
    U = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)))[0]
    s = torch.tensor([3.0, 2.0, 1.0, 0.5])
    assert balancedness(U * s, (U * s).mT) == pytest.approx(0.0, abs=1e-6)
    assert balancedness(torch.eye(4), 2 * torch.eye(4)) == pytest.approx(0.75)


def test_balance_is_measured_between_neighbours_with_one_successor():
    eye = torch.eye(3)[None]
    weights = {"a": eye, "b": 2 * eye, "c": eye, "grouped": eye.repeat(2, 1, 1), "wide": torch.ones(1, 3, 5)}
    pairs = [
        ("a", "b"),
        ("b", "c"),
        ("b", "a"),
        ("c", "grouped"),
        ("c", "elsewhere"),
        ("grouped", "a"),
        ("wide", "wide"),
    ]
    assert balancedness_of_pairs(weights, pairs) == {"a": pytest.approx(0.75)}


def features(collapse, classes=4, n=200, d=9):
    """Class means on a simplex with noise of size ``1 − collapse``."""
    g = torch.Generator().manual_seed(2)
    simplex = torch.eye(classes, d, dtype=torch.float64) - torch.eye(classes, d, dtype=torch.float64).mean(0)
    labels = torch.arange(n) % classes
    noise = torch.randn(n, d, generator=g, dtype=torch.float64)
    return simplex[labels] + (1 - collapse) * noise, nn.functional.one_hot(labels, classes).double(), simplex


def test_collapse_falls_to_zero_as_classes_tighten():
    seen = []
    for collapse in (0.0, 0.9, 1.0):
        Hc, onehot, simplex = features(collapse)
        moments = FeatureMoments(9, 4)
        moments.add(Hc[:77], onehot[:77])
        moments.add(Hc[77:], onehot[77:])
        seen.append(neural_collapse(moments, simplex))
    for name in ("nc1", "nc2_norm", "nc2_angle", "nc3"):
        assert seen[0][name] > seen[1][name] > seen[2][name]
        assert seen[2][name] == pytest.approx(0, abs=1e-9)


def test_nc1_equals_the_definition():
    Hc, onehot, _ = features(0.3)
    labels = onehot.argmax(1)
    means = torch.stack([Hc[labels == c].mean(0) for c in range(4)])
    within = sum((h - means[c]).outer(h - means[c]) for h, c in zip(Hc, labels, strict=True)) / len(Hc)
    M = means - means.mean(0)
    expected = float(torch.trace(within @ torch.linalg.pinv(M.mT @ M / 4, rtol=1e-10))) / 4
    moments = FeatureMoments(9, 4)
    moments.add(Hc, onehot)
    assert neural_collapse(moments)["nc1"] == pytest.approx(expected, rel=1e-8)
