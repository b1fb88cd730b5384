"""The history of bands: every claim has its band in it, in order of time, and a changed band gives a reason."""

from dataclasses import replace

from gramian.experiments import papers
from gramian.experiments.bands import FIELDS, append, entries_of, history, unrecorded
from gramian.experiments.store import ExperimentStore
from toy_experiments import toy

EXPERIMENTS = papers.load()


def test_the_newest_entry_of_every_claim_is_its_band():
    wanting = [(experiment.id, claim.key) for experiment, claim in unrecorded(EXPERIMENTS)]
    assert not wanting, "enter these bands with gramian.experiments.bands.append"


def test_entries_have_times_in_order_and_reasons():
    for experiment in EXPERIMENTS:
        for claim in experiment.claims:
            times = [band.since for band in entries_of(experiment.id, claim)]
            assert times == sorted(times)
    assert all(len(band.reason) > 10 for band in history())


def test_a_band_that_changes_without_an_entry_is_found(tmp_path):
    experiment = next(e for e in EXPERIMENTS if e.id == "a/fig1")
    first, *others = experiment.claims
    changed = replace(experiment, claims=(replace(first, slack=first.slack / 2), *others))
    assert [(e.id, claim.key) for e, claim in unrecorded([changed])] == [("a/fig1", first.key)]
    path = tmp_path / "bands.csv"
    path.write_text(",".join(FIELDS) + "\n")
    assert append(path, [changed], "2026-11-17T00:00:00+00:00", "narrowed before the next run") == 1
    assert path.read_text().splitlines()[1].startswith(f"a/fig1,{first.key},small paper,")


def test_a_change_below_six_digits_is_found_since_entries_have_twelve():
    experiment = next(e for e in EXPERIMENTS if e.id == "e/prop1")
    claim = next(claim for claim in experiment.claims if claim.key == "ratio/relu")
    assert entries_of("e/prop1", claim)[-1].high == 1 + 1e-9
    changed = replace(experiment, claims=(replace(claim, high=1.0),))
    assert [claim.key for _, claim in unrecorded([changed])] == ["ratio/relu"]


def test_a_toy_has_no_history():
    assert len(unrecorded([toy()])) == sum(not claim.missing for claim in toy().claims)
    assert ExperimentStore("nowhere").all() == []
