"""Figures of the training of a network."""

import numpy as np
import pytest
import torch

from gramian.nets import Monitor
from gramian.report import plot_history, plot_trajectory
from nets.models import INPUTS, LABELS, mlp, seeded
from report.inspected import X, build
from report.plot_cases import monitor


def test_the_first_layer_is_drawn_by_default():
    default, first = plot_trajectory(monitor()), plot_trajectory(monitor(), layer="0")
    for one, two in zip(default.lines, first.lines, strict=True):
        np.testing.assert_array_equal(one.get_ydata(), two.get_ydata())


@pytest.mark.parametrize("draw", [plot_trajectory, plot_history])
def test_a_monitor_without_measurements_is_refused(draw):
    layer = build(lambda: torch.nn.Linear(5, 1))
    with pytest.raises(ValueError, match="nothing was measured yet"):
        draw(Monitor(layer, X))


def test_the_history_has_a_panel_per_layer_of_choice():
    model = seeded(mlp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
    measured = Monitor(model, (INPUTS, LABELS), "cross_entropy", optimizer=optimizer)
    measured.measure()
    assert len(plot_history(measured).axes) == 3
    assert hasattr(plot_history(measured, ["fact_cos"], ["2"]).axes[0], "lines")
