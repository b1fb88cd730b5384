"""Every experiment of paper A at smoke scale: it runs, it is a function of its seed, its figure can be drawn."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from matplotlib.figure import Figure

from gramian.experiments import a_alignment
from gramian.experiments.a_alignment import fig6, fig9, fig278
from gramian.experiments.registry import experiments

OURS = [e for e in experiments() if e.run.__module__.startswith(a_alignment.__name__)]
ONLY_PAPER_SIZES = {"a/fig2-why", "a/fig9", "a/fig9-why", "a/prop10"}
"""Some numbers come from specs that the smoke scale leaves out."""


@pytest.fixture(scope="module")
def records():
    return {
        e.id: [{"spec": dataclasses.asdict(spec), "seed": 0, **vars(e.run(spec, 0))} for spec in e.specs["smoke"]]
        for e in OURS
    }


def test_all_artefacts_are_there():
    assert {e.id for e in OURS} >= {f"a/fig{i}" for i in range(1, 10)} | {"a/prop2-4", "a/prop10", "a/appendix-e"}


@pytest.mark.parametrize("e", OURS, ids=lambda e: e.id)
def test_numbers_are_there_for_every_claim(e, records):
    numbers = [key for record in records[e.id] for key in record["numbers"]]
    assert len(numbers) == len(set(numbers)), "two specs give the same key"
    assert all(math.isfinite(v) for record in records[e.id] for v in record["numbers"].values())
    if e.id not in ONLY_PAPER_SIZES:
        wanted = {key for claim in e.claims for key in (claim.key, claim.printed_key) if key and not claim.missing}
        assert wanted <= set(numbers)


@pytest.mark.parametrize("e", OURS, ids=lambda e: e.id)
def test_a_run_is_a_function_of_its_seed(e, records):
    spec = e.specs["smoke"][0]
    assert e.run(spec, 0).numbers == pytest.approx(records[e.id][0]["numbers"])
    assert e.run(spec, 1).numbers != records[e.id][0]["numbers"]


@pytest.mark.parametrize("e", [e for e in OURS if e.draw is not None], ids=lambda e: e.id)
def test_the_figure_can_be_drawn(e, records):
    figure = Figure(layout="constrained")
    e.draw(records[e.id], figure)
    figure.canvas.draw()
    axes = figure.get_axes()
    assert axes
    assert all(ax.lines or ax.images or ax.collections for ax in axes)


def test_paper_scale_has_the_papers_sizes():
    specs = {e.id: e.specs["paper"] for e in OURS}
    (first,) = specs["a/fig1"]
    assert (first.n, first.d, first.width, first.scale) == (384, 32, 128, 0.01)
    assert all((s.n, s.d, s.width, s.steps, s.every, s.step) == (256, 32, 256, 800, 5, 0.05) for s in specs["a/fig2"])
    assert [{s.decay for s in specs[id]} for id in ("a/fig2", "a/fig7", "a/fig8")] == [{0.0}, {1.0}, {2.0}]
    assert all(s.size == 1024 and s.draws == 30 for s in specs["a/fig3"])
    assert (specs["a/fig6"][0].n, specs["a/fig6"][0].widths) == (128, (128, 1024))
    assert all((s.n, s.scale, s.width, s.step) == (7500, 0.02, 128, 1e-4) for s in specs["a/fig9"])


def test_pictures_without_data_say_where_data_is_looked_for(monkeypatch):
    monkeypatch.delenv("GRAMIAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="GRAMIAN_DATA"):
        fig9.run(fig9.ImageNetwork("mnist"), 0)


def test_a_dip_is_measured_from_the_mean_of_the_ends():
    assert fig6._dip([0, 0.5, 1.5, 3, 6], [0.9, 0.4, 0.6, 0.1, 0.7]) == pytest.approx(0.3)


def test_the_linear_part_of_relu_is_a_taylor_expansion_at_a_right_angle():
    # 1/4 + arcsin(cos)/2π in the first layer: cut after the linear term the error is cubic in the cosine.
    errors = []
    for cos in (0.1, 0.2):
        X = torch.tensor([[1.0, 0.0], [cos, math.sqrt(1 - cos**2)]], dtype=torch.float64)
        second = (math.sin(math.acos(cos)) + (math.pi - math.acos(cos)) * cos) / math.pi
        above = 1 / 4 + second / (2 * math.pi)
        errors.append(float(fig6.linear_part_ptk(X)[0, 1]) / above - (1 / 4 + math.asin(cos) / (2 * math.pi)))
    assert errors[1] / errors[0] == pytest.approx(8, rel=0.1)


def test_summary_of_curves():
    low = {"t": [0.0, 10.0, 20.0], "uc1": [0.1, 0.2, 0.9], "c1": [math.nan, 0.8, 0.9], "test": [2.0, 1.0, 0.5]}
    high = {"t": [0.0, 10.0, 20.0], "uc1": [0.1, 0.4, 0.3], "c1": [math.nan, 0.7, 0.6], "test": [4.0, 2.0, 1.5]}
    found = {s: curves | {"uc2": curves["uc1"], "c2": curves["c1"]} for s, curves in ((0.1, low), (1.0, high))}
    numbers = fig278.summary(found)
    assert numbers["test_gain"] == pytest.approx(0.25)
    assert numbers["uc1_rise"] == pytest.approx(0.8)
    assert numbers["uc1_range"] == pytest.approx(0.6)
    assert (numbers["c1_early"], numbers["c1_low"]) == (0.7, 0.6)
    assert numbers["robust1"] == pytest.approx(((0.2 - 0.1) + (0.6 - 0.3)) / 2)
