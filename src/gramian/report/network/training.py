"""The section on the training of a network."""

from __future__ import annotations

import math

import numpy as np

from gramian.nets import Monitor
from gramian.report.figures.network_parts import LINES
from gramian.report.figures.training import last_report
from gramian.report.web import lines, note, number, panels, tag, text
from gramian.report.web.charts import Line

_POINTS = 60
"""Largest number of points of a line."""


def training(monitor: Monitor | None) -> str:
    """Return charts of cosines and effective ranks of each layer over training, and of the loss."""
    if monitor is None:
        return ""
    report = last_report(monitor)
    steps = [float(step) for step in monitor.steps]
    some = np.unique(np.linspace(0, len(steps) - 1, min(_POINTS, len(steps))).astype(int))
    x = [steps[i] for i in some]

    def line(key: str, name: str) -> list[Line]:
        values = monitor.series(key)
        if all(math.isnan(value) for value in values):
            return []
        return [Line(name, x, [float(values[i]) for i in some])]

    def chart(series: list[Line], alt: str, y: str) -> str:
        return lines(series, alt, x="training step", y=y) if series else ""

    loss = line("loss", "loss")
    found = []
    for layer in report.layers:
        cosines = [
            entry for name in ("nfa_cos", "c_nfa_cos", "fact_cos") for entry in line(f"{layer}/{name}", LINES[name][0])
        ]
        cosines += line(f"{layer}/nfa_chance", "AGOP by chance")
        ranks = line(f"{layer}/effective_rank", "WᵀW") + line(f"{layer}/agop_effective_rank", "AGOP")
        both = chart(cosines, f"cosines with WᵀW of layer {layer} over training", "cosine with WᵀW")
        both += chart(ranks, f"effective ranks of layer {layer} over training", "effective rank")
        found.append((f"layer {layer}", tag("div", both, class_="side")))
    about = f"{len(steps)} measurements in {number(steps[-1])} steps, on a fixed set of samples."
    return note(text(about)) + chart(loss, "the loss over training", "loss") + panels("trained layer", found)
