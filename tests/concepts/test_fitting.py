"""Every kind of label gives a concept; the result does not depend on threads; wide rows cost no more."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from gramian.concepts import Activations, ProbeOptions, fit_concept, fitting
from gramian.core.pool import Threads

QUICK = ProbeOptions(kernels=ProbeOptions().kernels[:1], ridges=(0.1, 1.0, 10.0), rounds=1)


def states(X, layers=1):
    values = {str(k): X.astype(np.float32) for k in range(layers)}
    return Activations(tuple(values), values, np.arange(len(X)), np.full(len(X), -1))


def sample(n=50, d=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 1.0


def test_several_classes_have_a_direction_each():
    X = sample(n=90)
    labels = np.array(["x", "y", "z"])[np.arange(90) % 3]
    for c, name in enumerate("xyz"):
        X[labels == name, c] += 3
    concept = fit_concept(states(X), labels, options=QUICK)
    assert concept.columns == ("x", "y", "z")
    for c, name in enumerate("xyz"):
        for method in ("rfm", "logistic", "mean_difference"):
            vector = concept.directions(method, of=name)[0].vector
            assert int(vector.argmax()) == c
    p = concept.probabilities({"0": torch.from_numpy(X).float()})
    assert p.shape == (90, 3)
    torch.testing.assert_close(p.sum(dim=1), torch.ones(90, dtype=torch.float64))
    assert np.mean(np.array(["x", "y", "z"])[p.argmax(dim=1).numpy()] == labels) > 0.9


@pytest.mark.parametrize("kind", ["graded", "soft"])
def test_grades_and_probabilities(kind):
    X = sample(n=80)
    score = X[:, 4] - X[:, 5]
    labels = 10 * score if kind == "graded" else 1 / (1 + np.exp(-2 * score))
    concept = fit_concept(states(X), labels, kind=kind, options=QUICK)
    vector = concept.directions("rfm")[0].vector
    assert set(vector.abs().topk(2).indices.tolist()) == {4, 5}
    assert float(vector[4]) > 0 > float(vector[5])
    assert concept.aucs["rfm"][0].value > (0.8 if kind == "graded" else 0.7)


def test_a_rotation_of_hidden_states_rotates_the_directions():
    X = sample()
    labels = (X[:, 0] > 1).astype(int)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(30, 30)))[0]
    plain, turned = (fit_concept(states(rows), labels, options=QUICK) for rows in (X, X @ Q))
    for method in ("rfm", "logistic", "mean_difference", "pca"):
        expected = plain.directions(method)[0].vector.numpy() @ Q
        assert float(turned.directions(method)[0].vector.numpy() @ expected) > 0.999


def test_more_threads_give_the_same_concept(monkeypatch):
    X = sample()
    labels = (X[:, 0] > 1).astype(int)
    one = fit_concept(states(X, layers=3), labels, options=QUICK)
    monkeypatch.setattr(fitting, "side_by_side", lambda pool, workers: nullcontext(Threads(2)))
    two = fit_concept(states(X, layers=3), labels, options=QUICK)
    for method in one.found:
        for first, second in zip(one.directions(method), two.directions(method), strict=True):
            torch.testing.assert_close(first.vector, second.vector, rtol=1e-4, atol=1e-5)


def test_directions_of_zero_columns_are_zero():
    """Rows of d coordinates, most of which are zero: the same rows in fewer coordinates give the same result."""
    X = sample(d=20)
    labels = (X[:, 0] > 1).astype(int)
    wide = np.concatenate([X, np.zeros((50, 500))], axis=1)
    small, large = (fit_concept(states(rows), labels, options=QUICK) for rows in (X, wide))
    for method in small.found:
        first, second = small.directions(method)[0].vector, large.directions(method)[0].vector
        torch.testing.assert_close(second[:20], first, rtol=1e-3, atol=1e-4)
        assert float(second[20:].abs().max()) < 1e-6


def test_bad_input_is_named():
    X = sample()
    labels = (X[:, 0] > 1).astype(int)
    with pytest.raises(ValueError, match="49 labels for 50 rows"):
        fit_concept(states(X), labels[:-1])
    with pytest.raises(ValueError, match="not finite"):
        fit_concept(states(np.where(X > 2, np.nan, X)), labels, options=QUICK)
    with pytest.raises(ValueError, match="are equal"):
        fit_concept(states(np.ones((50, 3))), labels, options=QUICK)
    with pytest.raises(ValueError, match=r"4,100 rows.*activations\.part"):
        fit_concept(states(np.ones((4100, 1))), np.arange(4100) % 2)
