"""The protocol of Table 3 with and without its leak."""

import pytest

from gramian.bench.uci_protocol import evaluate, evaluate_without_leak
from gramian.experiments import uci_sets


def test_without_feature_learning_the_leak_changes_nothing():
    """Kernel regression learns no M, so the honest protocol gives its folds the same scores as the paper's."""
    data = uci_sets.read_uci("iris (scikit-learn)")
    outcome = evaluate(data, "paper-laplace")
    assert evaluate_without_leak(data, "paper-laplace", outcome.choice) == pytest.approx(outcome.scores)


def test_scores_without_the_leak_are_accuracies_of_four_folds():
    """With round 0 chosen there is no M to learn either; otherwise scores may change, and are accuracies."""
    data = uci_sets.read_uci("iris (scikit-learn)")
    outcome = evaluate(data, "paper-rfm")
    scores = evaluate_without_leak(data, "paper-rfm", outcome.choice)
    assert len(scores) == 4
    assert all(0.8 < score <= 1 for score in scores)
