"""The committed records: each is found by its key, docs quote their verdicts, every difference is explained."""

import re
from pathlib import Path

import pytest

from gramian.experiments import papers
from gramian.experiments.cell import cells
from gramian.experiments.counts import agreement, before, count_rows, count_table, markdown, summary
from gramian.experiments.page import page
from gramian.experiments.registry import SCALES
from gramian.experiments.store import ExperimentStore, spec_identity
from gramian.experiments.verdict import DIFFERS, findings
from html_checks import check

ROOT = Path(__file__).parents[2]
EXPERIMENTS = papers.load()


STORE = ExperimentStore(ROOT / "reproduction")


@pytest.fixture(scope="module")
def found():
    return {experiment.id: findings(experiment, STORE) for experiment in EXPERIMENTS}


def test_every_committed_record_is_found_by_its_recomputed_key():
    """A change of a spec, of a class name or of the key's formula would lose records."""
    files = list((ROOT / "reproduction/records").glob("*/*/*.json"))
    wanted = [cell for e in EXPERIMENTS for scale in SCALES for cell in cells(e, scale)]
    found = STORE.find({cell.key: cell for cell in wanted}.values())
    assert len(files) == len(STORE.all()) >= 636
    assert {path.stem for path in files} == set(found)
    assert all(record["key"] == key for key, record in found.items())


def test_the_page_of_the_committed_records_is_valid(found):
    text = page(list(found.values()), {})
    claims = sum(len(entry.best) for entry in found.values())
    # With figures, which are text at first, 11 MB and 70,000 elements take 2.4 s of processor time on a busy computer.
    assert len(text) < 6_000_000
    assert len(check(text).elements) < 80_000
    assert sum("data-outcome" in attributes for _, attributes in check(text).elements) == claims
    for id, entry in found.items():
        assert f'id="{id.replace("/", "-")}"' in text
        assert entry.experiment.notes is not None or not entry.experiment.read_notes()


def test_notes_belong_to_experiments():
    """Every file of notes is that of an experiment of the paper's package."""
    folder = ROOT / "src/gramian/experiments"
    used = {experiment.notes for experiment in EXPERIMENTS}
    assert set(folder.glob("*/notes/*.md")) == used - {None}


def test_the_docs_quote_the_counts(found):
    text = (ROOT / "docs/reproduce.md").read_text()
    rows = count_rows(found.values())
    wanted = [
        markdown(count_table(rows, ("group", "kind"))),
        markdown(count_table(rows, ("group", "scale"))),
        markdown(count_table(before(), ("group", "scale"))),
        summary(found.values()),
        agreement(found.values()),
    ]
    missing = [part for part in wanted if part not in text]
    assert not missing, "docs/reproduce.md should say\n" + "\n\n".join(missing)


def test_declared_seeds_are_those_that_are_run(found):
    """A spec either has the declared seeds or has not run: seeds are not added after a result is seen."""
    wrong = []
    for experiment in EXPERIMENTS:
        for scale in SCALES:
            declared = {}
            for cell in cells(experiment, scale):
                declared.setdefault(spec_identity(cell.head()), set()).add(cell.seed)
            by_spec = {}
            for record in found[experiment.id].records.get(scale, ()):
                by_spec.setdefault(spec_identity(record), set()).add(record["seed"])
            wrong += [(experiment.id, scale, spec, seeds) for spec, seeds in by_spec.items() if seeds != declared[spec]]
    assert not wrong


def test_every_difference_is_explained_by_an_experiment_that_has_run(found):
    unexplained = []
    for id, entry in found.items():
        if any(verdict.outcome == DIFFERS for verdict in entry.best) and not id.endswith("-why"):
            others = set(re.findall(r"\b[a-z]/[a-z0-9-]+-why\b", entry.experiment.read_notes()))
            if not any(found[other].records for other in others if other in found):
                unexplained.append(id)
    assert not unexplained
