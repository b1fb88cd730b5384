"""The committed records: the page in docs quotes what they give, and every difference has its explanation."""

import re
from pathlib import Path

import pytest

from gramian.experiments import papers
from gramian.experiments.store import Store
from gramian.experiments.verdict import DIFFERS, OUTCOMES, count, findings

ROOT = Path(__file__).parents[2]
EXPERIMENTS = papers.load()


@pytest.fixture(scope="module")
def found():
    store = Store(ROOT / "reproduction")
    return {experiment.id: findings(experiment, store) for experiment in EXPERIMENTS}


def _row(name, verdicts):
    counts = count(verdicts)
    return f"| {name} | " + " | ".join(str(counts.get(outcome, 0)) for outcome in OUTCOMES) + " |"


def test_the_page_quotes_the_counts(found):
    groups = {f"paper {letter}": [] for letter in papers.PAPERS} | {"explanations": []}
    for id, entry in found.items():
        groups["explanations" if id.endswith("-why") else f"paper {id[0].upper()}"] += entry.best
    text = (ROOT / "docs/reproduce.md").read_text()
    missing = [row for row in (_row(name, verdicts) for name, verdicts in groups.items()) if row not in text]
    assert not missing, "docs/reproduce.md should say\n" + "\n".join(missing)


def test_every_difference_is_explained_by_an_experiment_that_has_run(found):
    unexplained = []
    for id, entry in found.items():
        if any(verdict.outcome == DIFFERS for verdict in entry.best) and not id.endswith("-why"):
            others = set(re.findall(r"\b[a-z]/[a-z0-9-]+-why\b", entry.experiment.notes))
            if not any(found[other].records for other in others if other in found):
                unexplained.append(id)
    assert not unexplained
