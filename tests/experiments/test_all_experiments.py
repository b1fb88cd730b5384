"""Every experiment at the scale smoke: it runs, is a pure function of spec and seed, and can be drawn."""

import json
import math
from dataclasses import replace

import pytest

from gramian.experiments import figures, papers
from gramian.experiments.cell import ExperimentCell, cells
from gramian.experiments.registry import SCALES
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import Estimate, compare, judge

EXPERIMENTS = papers.load()
_QUICK = 0.2
"""Seconds up to which a cell is run twice."""
_LARGEST = 100_000
"""Bytes of a record, since records are committed."""


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.id)
def test_the_experiment_runs_and_can_be_drawn(experiment, tmp_path):
    store = ExperimentStore(tmp_path)
    owner: dict[str, object] = {}
    for cell in cells(experiment, "smoke"):
        answer = cell.task()()
        if answer["missing"]:
            pytest.skip(answer["error"])
        assert answer["numbers"]
        for key in answer["numbers"]:
            assert owner.setdefault(key, cell.spec) == cell.spec, f"{key} is a number of two specs"
        if answer["seconds"] < _QUICK:
            again = cell.task()()
            assert json.dumps([again["numbers"], again["arrays"]]) == json.dumps([answer["numbers"], answer["arrays"]])
        store.put(cell.head() | answer)
        assert store.path(cell).stat().st_size < _LARGEST
    records = store.of(experiment, "smoke")
    judge(experiment, "smoke", records)
    if experiment.draw is not None:
        figure = figures.draw(experiment, records)
        assert figure.axes


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.id)
def test_the_experiment_is_well_formed(experiment):
    assert experiment.id[0].upper() == experiment.paper
    labels = [(claim.key, claim.label) for claim in experiment.claims]
    assert len(set(labels)) == len(labels)
    for scale in SCALES:
        keys = [ExperimentCell(experiment, spec, 0).key for spec in experiment.specs[scale]]
        assert len(set(keys)) == len(keys)
    for claim in experiment.claims:
        assert set(claim.scales) <= set(SCALES)
        assert not (claim.misprint and claim.setting)
        assert not claim.printed_key or claim.misprint or claim.setting
        assert bool(claim.misprint) <= bool(claim.printed_key)
        assert claim.label
        assert not claim.column or any(other.key == claim.column and not other.column for other in experiment.claims)
        assert not experiment.id.endswith("-why") or claim.kind == "side condition"
        assert claim.paper is None or claim.kind == "printed number" or math.isnan(claim.paper)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.id)
def test_no_null_passes(experiment):
    """A result without the effect, measured exactly and with many seeds, is neither reproduced nor close."""
    for claim in experiment.claims:
        if claim.judged_alone:
            passed = compare(replace(claim, setting=""), Estimate.of([claim.null.value] * 5))
            assert passed in ("not told apart", "differs"), (claim.key, claim.null)
            assert passed == "differs" or claim.is_sign
            assert claim.null.what


def test_keys_with_two_claims_have_them_at_different_scales():
    for experiment in EXPERIMENTS:
        for claim in experiment.claims:
            others = [c for c in experiment.claims if c.key == claim.key and c is not claim]
            assert not any(set(claim.scales) & set(other.scales) for other in others)
