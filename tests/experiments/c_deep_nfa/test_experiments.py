"""Every experiment of paper C runs at the smoke scale, is drawn, and its claims speak of numbers that exist."""

import dataclasses
import math

import pytest
from matplotlib.figure import Figure

from gramian.experiments import papers
from gramian.experiments.c_deep_nfa.curves import Curves
from gramian.experiments.c_deep_nfa.curves import run as curves
from gramian.experiments.c_deep_nfa.sampled import Draws, counterexamples, initialisation
from gramian.experiments.c_deep_nfa.theorems import Flow, decayed_flow

EXPERIMENTS = papers.load(["C"])


def results(experiment):
    for spec in experiment.specs["smoke"]:
        result = experiment.run(spec, 0)
        yield {
            "spec": dataclasses.asdict(spec),
            "seed": 0,
            "numbers": dict(result.numbers),
            "arrays": dict(result.arrays),
        }


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.id)
def test_smoke(experiment, request):
    if experiment.id == "c/fig8":
        request.getfixturevalue("data_dir")
    records = list(results(experiment))
    names = [name for record in records for name in record["numbers"]]
    assert names
    assert len(names) == len(set(names)), "two specs gave the same key"
    assert all(math.isfinite(v) for record in records for v in record["numbers"].values())
    if experiment.draw is not None:
        figure = Figure(layout="constrained")
        experiment.draw(records, figure)
        assert figure.axes


def test_all_artefacts_of_the_paper_are_there():
    wanted = {f"c/fig{k}" for k in range(1, 9)} | {f"c/table{k}" for k in (1, 2, 3)}
    wanted |= {"c/theorem-3-1", "c/theorem-3-2", "c/counterexamples", "c/lemma-b1", "c/fig6-why", "c/table3-why"}
    assert wanted == {e.id for e in EXPERIMENTS}


def test_misprints_are_told_apart():
    """The corrected formulas meet the measurement, and the printed ones do not."""
    start = initialisation(Draws(300), 0).numbers
    assert start["ratio of the squared Gram norms, corrected"] == pytest.approx(1, abs=0.02)
    assert abs(start["ratio of the squared Gram norms, printed"] - 1) > 0.3
    example = counterexamples(Draws(20_000), 0).numbers
    assert example["example 1: E[(∂f/∂x₁)²]"] == pytest.approx(0.5, abs=0.02)
    assert example["example 1: E[(∂f/∂x₁)²], indicator as printed"] == 0


def test_rate_of_the_theorem():
    numbers = decayed_flow(Flow(2, 0.2, 20.0, 480), 1).numbers
    assert numbers["L=2 rate of the balance over 2λ"] == pytest.approx(1, abs=1e-4)
    assert numbers["L=2 rate of the AGOP over 2λ"] == pytest.approx(1, abs=0.1)


def test_curves_compare_what_the_paper_compares():
    spec = Curves(("gd", "gdm"), (1e-3, 1e-3), (20, 20), (1e-3, 1e-2), (2, 3), tail=2, rows=128)
    result = curves(spec, 0)
    gains = [
        result.numbers[f"relu gdm λ=0.01 L={L} mean"] - result.numbers[f"relu gd λ=0.01 L={L} mean"] for L in (2, 3)
    ]
    assert result.numbers["relu gd: gain by momentum, mean over training"] == pytest.approx(sum(gains) / 2)
    assert len(result.arrays) == 8
