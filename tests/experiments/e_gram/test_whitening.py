"""Fig. 2 and 6: the comparison of methods on made records, diverging runs, and the control."""

import pytest
import torch
from torch import nn

from gramian.experiments.e_gram.classifiers import gram_kept_sgd, mlp_classifier
from gramian.experiments.e_gram.image_rows import ImageData
from gramian.experiments.e_gram.whitening import WhitenedTraining, accuracies, compare_methods


def record(method, rate, curve):
    return {"spec": {"data": {"name": "mnist"}, "method": method, "rate": rate}, "arrays": {"accuracy": curve}}


def test_methods_are_compared_at_their_best_rates():
    records = [
        record("plain", 0.1, [0.2, 0.3, 0.5, 0.4]),
        record("plain", 0.01, [0.2, 0.3, 0.3, 0.3]),
        record("whitened", 0.1, [0.5, 0.1, 0.1, 0.1]),
        record("whitened", 0.01, [0.2, 0.5, 0.6, 0.5]),
        record("kept", 0.01, [0.1, 0.1, 0.1, 0.1]),
    ]
    expected = {"mnist/gap": 0.1, "mnist/ratio": 1.25, "mnist/epochs": 2.0, "mnist/control": 0.3}
    assert compare_methods(records) == pytest.approx(expected)
    assert compare_methods(records[:2]) == {}
    slow = [records[0], record("whitened", 0.1, [0.2, 0.3, 0.3, 0.3])]
    assert compare_methods(slow)["mnist/epochs"] == 5


def test_a_run_that_diverges_counts_with_chance():
    spec = WhitenedTraining(ImageData("digits", 64, 20), "whitened", 1e30, width=8, epochs=3)
    assert accuracies(spec, 0)[1:] == [0.1, 0.1]


def test_the_control_changes_weights_and_no_gram_matrix():
    rng = torch.Generator().manual_seed(0)
    net = mlp_classifier((5, 7, 3), rng).double()
    before = [p.detach().clone() for p in net.parameters() if p.ndim > 1]
    steps = gram_kept_sgd(net, 0.5, 0.9)
    X, y = torch.randn(20, 5, generator=rng, dtype=torch.float64), torch.randint(3, (20,), generator=rng)
    for _ in range(3):
        steps.zero_grad()
        nn.functional.cross_entropy(net(X), y).backward()
        steps.step()
    for p, start in zip((p.detach() for p in net.parameters() if p.ndim > 1), before, strict=True):
        torch.testing.assert_close(p.mT @ p, start.mT @ start, rtol=1e-9, atol=1e-9)
        assert (p - start).norm() > 1e-2
