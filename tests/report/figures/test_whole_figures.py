"""Whole figures of a network."""

import pytest
import torch
from torch import nn

from gramian.nets import Monitor, inspect
from gramian.report import plot_history, plot_layer, plot_report
from nets.models import INPUTS, LABELS, Block, full_report, mlp, seeded


def test_plots_draw_every_layer():
    report = full_report()
    figure = plot_report(report)
    assert len(figure.axes) == 4
    lines = {line.get_label() for line in figure.axes[0].lines}
    assert {"FACT", "AGOP^½", "C-NFA"} <= lines
    assert len(figure.axes[0].lines[0].get_xdata()) == 3
    assert len(plot_report(inspect(seeded(mlp), INPUTS)).axes) == 3
    deep = seeded(lambda: nn.Sequential(*(nn.Linear(5, 5) for _ in range(9))))
    assert "number" in plot_report(inspect(deep, INPUTS)).axes[0].get_xlabel()
    one = plot_layer(report, "0")
    assert len(one.axes) == 6
    assert "cos" in one.axes[1].get_title()
    tokens = torch.randint(0, 11, (6, 4), generator=torch.Generator().manual_seed(1))
    assert plot_layer(inspect(seeded(Block), tokens), "embed").axes


def test_the_history_of_a_monitor_has_a_panel_per_layer():
    model = seeded(mlp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-3)
    monitor = Monitor(model, (INPUTS, LABELS), "cross_entropy", optimizer=optimizer)
    with pytest.raises(ValueError, match="nothing was measured"):
        plot_history(monitor)
    monitor.measure()
    assert len(plot_history(monitor).axes) == 3
    assert hasattr(plot_history(monitor, ["fact_cos"], ["2"]).axes[0], "lines")
