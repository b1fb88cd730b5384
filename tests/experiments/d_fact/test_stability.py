"""The fall of accuracy after convergence, and the numbers derived from both shares of the table."""

import pytest

from gramian.experiments.d_fact.stability import fall_after_convergence, low_signal


@pytest.mark.parametrize(
    ("accuracies", "fall"), [([0.5, 0.9], 0.0), ([0.5, 1.0, 1.0], 0.0), ([1.0, 0.6, 1.0], 0.4), ([0.2, 1.0], 0.0)]
)
def test_only_losses_after_convergence_count(accuracies, fall):
    assert fall_after_convergence(accuracies) == pytest.approx(fall)


def test_low_signal_needs_both_shares():
    records = [{"numbers": {"0.7/gain": 0.1}}, {"numbers": {"0.5/gain": 0.4}}]
    assert low_signal(records) == pytest.approx({"low signal": 0.3})
    assert low_signal(records[:1]) == {}
