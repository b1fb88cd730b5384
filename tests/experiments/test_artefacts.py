"""The maps of the papers: every artefact has an experiment, or the reason why it cannot run."""

import csv
from pathlib import Path

import pytest

from gramian.experiments import papers

FILES = sorted(Path(papers.__file__).parent.glob("*/artefacts.csv"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_artefact_has_an_experiment_or_a_reason(path):
    known = {experiment.id for experiment in papers.load()}
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert rows
    for row in rows:
        assert row["artefact"]
        assert row["id"] in known or (not row["id"] and row["remark"].startswith("cannot run here: "))


def test_every_experiment_is_in_a_map():
    named = {row["id"] for path in FILES for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())}
    ids = {experiment.id for experiment in papers.load(["A", "B", "C", "D", "E"])}
    assert {id for id in ids if not id.endswith("-why")} <= named
