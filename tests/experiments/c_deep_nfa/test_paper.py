"""All experiments of paper C at the scale smoke: they run and draw."""

import dataclasses
import math

import pytest
from matplotlib.figure import Figure

from gramian.experiments import papers

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
def test_the_experiment_runs_and_draws_at_the_scale_smoke(experiment, request):
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


def test_every_figure_table_and_theorem_has_an_experiment():
    wanted = {f"c/fig{k}" for k in range(1, 9)} | {f"c/table{k}" for k in (1, 2, 3)}
    wanted |= {
        "c/theorem-3-1",
        "c/theorem-3-2",
        "c/lemma-3-1",
        "c/counterexamples",
        "c/lemma-b1",
        "c/lemmas-a1-a2",
        "c/eq-3-9",
        "c/scalar-output",
        "c/remark-3-11",
        "c/rates",
        "c/rates-why",
        "c/cited-target-why",
        "c/fig6-why",
        "c/table1-noise-why",
        "c/table1-size-why",
        "c/table1-why",
        "c/table3-nan-why",
        "c/table3-size-why",
        "c/table3-targets-why",
        "c/table3-why",
    }
    assert wanted == {e.id for e in EXPERIMENTS}
