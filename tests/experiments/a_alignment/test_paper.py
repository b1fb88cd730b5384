"""All experiments of paper A at the scale smoke: numbers for every claim, pure functions, figures."""

import dataclasses
import math

import pytest
from matplotlib.figure import Figure

from gramian.experiments import a_alignment
from gramian.experiments.registry import experiments

OURS = [e for e in experiments() if e.run.__module__.startswith(a_alignment.__name__)]
ONLY_PAPER_SIZES = {"a/fig2-why", "a/fig9", "a/fig9-why", "a/prop10"}
"""Experiments with numbers from specs that the scale smoke does not have."""


@pytest.fixture(scope="module")
def records():
    return {
        e.id: [{"spec": dataclasses.asdict(spec), "seed": 0, **vars(e.run(spec, 0))} for spec in e.specs["smoke"]]
        for e in OURS
    }


def test_every_figure_and_proposition_has_an_experiment():
    assert {e.id for e in OURS} >= {f"a/fig{i}" for i in range(1, 10)} | {"a/prop2-4", "a/prop10", "a/appendix-e"}


@pytest.mark.parametrize("e", OURS, ids=lambda e: e.id)
def test_every_claim_has_a_number(e, records):
    numbers = [key for record in records[e.id] for key in record["numbers"]]
    numbers += [] if e.derive is None else e.derive(records[e.id])
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


def test_the_scale_paper_has_the_sizes_of_the_paper():
    specs = {e.id: e.specs["paper"] for e in OURS}
    (first,) = specs["a/fig1"]
    assert (first.n, first.d, first.width, first.scale) == (384, 32, 128, 0.01)
    assert all((s.n, s.d, s.width, s.steps, s.every, s.step) == (256, 32, 256, 800, 5, 0.05) for s in specs["a/fig2"])
    assert [{s.decay for s in specs[id]} for id in ("a/fig2", "a/fig7", "a/fig8")] == [{0.0}, {1.0}, {2.0}]
    assert all(s.size == 1024 and s.draws == 30 for s in specs["a/fig3"])
    assert (specs["a/fig6"][0].n, specs["a/fig6"][0].widths) == (128, (128, 1024))
    assert all((s.n, s.scale, s.width, s.step) == (7500, 0.02, 128, 1e-4) for s in specs["a/fig9"])
