"""Fig. 2 and 6: the comparison of methods on made records, diverging runs, and the control."""

import pytest
import torch
from torch import nn

from gramian.experiments.e_gram.classifiers import gram_kept_sgd
from gramian.experiments.e_gram.image_rows import ImageData
from gramian.experiments.e_gram.nearest_gram import gram_error, plain_step, ten_steps
from gramian.experiments.e_gram.small_nets import perceptron
from gramian.experiments.e_gram.whitening import WhitenedTraining, accuracies, compare_methods


def record(method, rate, curve):
    return {"spec": {"data": {"name": "mnist"}, "method": method, "rate": rate}, "arrays": {"accuracy": curve}}


def test_methods_are_compared_at_the_rate_of_the_figure():
    records = [
        record("plain", 0.01, [0.2, 0.3, 0.5, 0.4]),
        record("plain", 0.1, [0.2, 0.3, 0.3, 0.5]),
        record("whitened", 0.1, [0.5, 0.1, 0.1, 0.6]),
        record("whitened", 0.01, [0.2, 0.5, 0.6, 0.5]),
        record("kept", 0.01, [0.1, 0.1, 0.1, 0.1]),
    ]
    judged = {"mnist/gap": 0.1, "mnist/ratio": 1.25, "mnist/epochs": 2.0, "mnist/control": 0.3}
    assert compare_methods(records) == pytest.approx(judged | {"mnist/ratio at 0.1": 1.2})
    assert compare_methods(records[:2]) == {}
    slow = [records[0], record("whitened", 0.01, [0.2, 0.3, 0.3, 0.3])]
    assert compare_methods(slow)["mnist/epochs"] == 5
    assert compare_methods([record("plain", 0.01, [0.1] * 4), records[3]]) == {}  # nothing learned


def test_ten_newton_schulz_steps_miss_the_gram_matrix_of_a_square_layer_only():
    """The difference between the authors' update and ours that the notes of e/fig2 describe."""
    rng = torch.Generator().manual_seed(0)
    misses = {}
    for columns in (256, 784):
        W, W_new = plain_step((256, columns), 1e-3, rng)
        misses[columns] = gram_error(ten_steps(W @ W_new.mT) @ W_new, W, W_new)
    assert misses[256] > 2
    assert misses[784] < 1e-6


def test_a_run_that_diverges_counts_with_chance():
    spec = WhitenedTraining(ImageData("digits", 64, 20), "whitened", 1e30, width=8, epochs=3)
    assert accuracies(spec, 0)[1:] == [0.1, 0.1]


def test_the_control_changes_weights_and_no_gram_matrix():
    rng = torch.Generator().manual_seed(0)
    net = perceptron((5, 7, 3), "gelu", rng).double()
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
