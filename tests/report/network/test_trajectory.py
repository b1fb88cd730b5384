"""The page about a run: a chart per column, and a panel per layer."""

import math

import pytest

from gramian.nets import Trajectory
from gramian.report import write_report
from gramian.report.network.trajectory import describe_run, trajectory_page
from html_checks import check


def run(layers=3, steps=(0, 10, 20)):
    rows = [
        {"step": s, "checkpoint": f"step-{s}", "layer": f"<{i}>", "kind": "matrix", "norm": 1.0 + i * s / 10,
         "effective_rank": 5.0 - s / 10, "weight_change": math.nan if s == 0 else s / 10}
        for s in steps for i in range(layers)
    ]  # fmt: skip
    return Trajectory(steps, tuple(f"step-{s}" for s in steps), rows, kind="weights")


def test_sentences_count_layers():
    words = describe_run(run())
    assert (
        words[0]
        == "The norm of the weights rose in 2 and fell in 0 of 3 layers; it changed most in layer <2>, from 1 to 5."
    )
    assert words[1].startswith("The effective rank of WᵀW rose in 0 and fell in 3 of 3 layers")
    assert words[2].startswith("The change of the weights since the first checkpoint rose in 3")
    assert describe_run(run(steps=(0,))) == []


def test_a_chart_per_column_and_per_layer_and_column():
    html = trajectory_page(run())
    check(html)
    assert html.count('class="chart"') == 3 + 3 * 3
    assert "&lt;2&gt;" in html
    assert "<2>" not in html
    assert "All layers are drawn" in html
    many = trajectory_page(run(layers=30), layers=["<4>"])
    assert many.count('class="chart"') == 3 + 3
    assert "The 5 layers in which a column changed most are drawn" in many
    assert "29 more layers are in the table only" in many


def test_arguments(tmp_path):
    with pytest.raises(ValueError, match="must be a list of names"):
        trajectory_page(run(), layers=["absent"])
    with pytest.raises(ValueError, match="card is for the page of a model"):
        write_report(run(), tmp_path / "x.html", card={})
    assert "<h1>mine</h1>" in write_report(run(), tmp_path / "x.html", title="mine").read_text()
