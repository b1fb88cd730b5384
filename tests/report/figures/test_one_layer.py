"""Figures of one layer of a network."""

import torch

from gramian.nets import inspect
from gramian.report import plot_layer
from nets.models import Block, full_report, seeded


def test_the_figure_of_a_layer_draws_its_matrices():
    figure = plot_layer(full_report(), "0")
    assert len(figure.axes) == 6
    assert "cos" in figure.axes[1].get_title()
    tokens = torch.randint(0, 11, (6, 4), generator=torch.Generator().manual_seed(1))
    assert plot_layer(inspect(seeded(Block), tokens), "embed").axes
