"""The closed trajectory of the first layer against automatic differentiation."""

import torch

from gramian.experiments.b_rfm import wide_linear


def test_the_trajectory_is_that_of_the_training_loop_and_another_rate_leaves_it(monkeypatch):
    rng = torch.Generator().manual_seed(0)
    X, y, A = (torch.randn(*shape, generator=rng, dtype=torch.float64) for shape in ((9, 3), (9,), (40,)))
    assert wide_linear.trajectory_distance(X, y, A, 0.02, 6) < 1e-12
    right = wide_linear.regression_iterate
    monkeypatch.setattr(wide_linear, "regression_iterate", lambda X, y, step, *rest: right(X, y, 1.01 * step, *rest))
    assert wide_linear.trajectory_distance(X, y, A, 0.02, 6) > 1e-3
