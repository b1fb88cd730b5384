"""Figures over the layers of a network."""

import warnings

import torch
from torch import nn

from gramian.nets import inspect
from gramian.report import plot_report, plot_spectra
from nets.models import INPUTS, full_report, mlp, seeded


def test_a_layer_whose_name_begins_with_an_underscore_is_in_the_legend():
    model = nn.Sequential()
    with torch.random.fork_rng():
        for j in range(2):
            torch.manual_seed(j)
            model.add_module(f"_part{j}", nn.Linear(5, 5))
    X = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))
    ax = plot_spectra(inspect(model, X))
    assert [entry.get_text().strip("\u200b") for entry in ax.get_legend().get_texts()] == ["_part0", "_part1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no glyph may be missing
        ax.figure.canvas.draw()


def test_the_figure_of_a_report_draws_every_layer():
    figure = plot_report(full_report())
    assert len(figure.axes) == 4
    lines = {line.get_label() for line in figure.axes[0].lines}
    assert {"FACT", "AGOP^½", "C-NFA"} <= lines
    assert len(figure.axes[0].lines[0].get_xdata()) == 3
    assert len(plot_report(inspect(seeded(mlp), INPUTS)).axes) == 3
    deep = seeded(lambda: nn.Sequential(*(nn.Linear(5, 5) for _ in range(9))))
    assert "number" in plot_report(inspect(deep, INPUTS)).axes[0].get_xlabel()
