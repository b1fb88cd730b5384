"""Every experiment at the scale smoke: it runs, is a pure function of spec and seed, and can be drawn."""

import json
import math
import re
from dataclasses import fields, is_dataclass

import pytest

from gramian.experiments import figures, papers
from gramian.experiments.cell import ExperimentCell, cells
from gramian.experiments.estimates import Estimate
from gramian.experiments.registry import SCALES
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import compare, judge

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
        assert not claim.printed_key or claim.misprint or claim.setting
        assert bool(claim.misprint) <= bool(claim.printed_key)
        assert claim.label
        assert not claim.column or any(other.key == claim.column and not other.column for other in experiment.claims)
        assert not experiment.id.endswith("-why") or claim.kind == "side condition"
        assert claim.paper is None or claim.kind in ("printed number", "side condition") or math.isnan(claim.paper)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.id)
def test_no_null_passes(experiment):
    """A result without the effect, measured exactly and with many seeds, is neither reproduced nor close."""
    for claim in experiment.claims:
        if claim.judged_alone:
            passed = compare(claim, Estimate.of([claim.null.value] * 5))
            assert passed in ("not told apart", "differs"), (claim.key, claim.null)
            assert passed == "differs" or claim.is_sign
            assert claim.null.what


def test_keys_with_two_claims_have_them_at_different_scales():
    for experiment in EXPERIMENTS:
        for claim in experiment.claims:
            others = [c for c in experiment.claims if c.key == claim.key and c is not claim]
            assert not any(set(claim.scales) & set(other.scales) for other in others)


_TUNED = ("rate", "rates", "momentum", "batch", "weight_decay", "fraction")
"""Fields of specs that are settings of the paper; the others are sizes, or conditions that an experiment compares."""
_UNTOUCHED = {
    "b/fig3": "/rfm$",
    "c/fig1": "^alignment before$",
    "c/fig3": r"\bgdm?:",
    "c/rates": "^Gauss",
    "c/table1": "^gdm?:",
    "c/table2": "^gdm?:",
    "c/table3": "^(gd|gdm|sgdm):",
    "e/fig11": "/(lead|gap over sst2|order|hump|earlier)$",
}
"""Patterns of claims that have the paper's settings at the scale small, where others of the experiment do not."""


def _tuned(spec, optimiser=None):
    """Yield the settings of a spec, each with the optimiser that it belongs to."""
    values = {entry.name: getattr(spec, entry.name) for entry in fields(spec)}
    optimiser = values.get("optimiser", values.get("optimizer", values.get("optimisers", optimiser)))
    for name, value in values.items():
        if is_dataclass(value):
            yield from _tuned(value, optimiser)
        elif name in _TUNED:
            yield optimiser, name, value


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.id)
def test_claims_name_the_settings_that_the_scale_small_changes(experiment):
    small, paper = ({one for spec in experiment.specs[scale] for one in _tuned(spec)} for scale in ("small", "paper"))
    changed = small - paper
    for claim in experiment.claims:
        judged = "small" in claim.scales and not claim.missing and claim.kind in ("printed number", "statement")
        untouched = re.search(_UNTOUCHED.get(experiment.id, "^$"), claim.key)
        if judged and changed and not untouched and not experiment.id.endswith("-why"):
            assert claim.small_setting or "rate and momentum" in claim.setting, (claim.key, changed)


def test_claims_about_the_paper_have_the_setting_of_their_experiment():
    by_key = {claim.key: claim for claim in next(e for e in EXPERIMENTS if e.id == "b/fig3").claims}
    assert by_key["gain/nn"].changed_at("paper") == "numbers made of MNIST's digits in place of SVHN"
    assert by_key["gain/nn"].changed_at("small").endswith("rate 1 in place of 0.05")
    tickets = {claim.key: claim for claim in next(e for e in EXPERIMENTS if e.id == "b/fig6").claims}
    assert tickets["mnist/3-8/gain over both"].setting
    assert not tickets["mnist/3-8/chosen"].setting  # a side condition of ours
