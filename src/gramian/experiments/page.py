"""One page for all that a folder of records holds: verdicts first, then each experiment. It needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from gramian.core.version import __version__
from gramian.experiments.html import kind_of, outcome_tag, ruler, table, tag, text
from gramian.experiments.papers import TITLES
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.section import section
from gramian.experiments.store import Store
from gramian.experiments.text import of_the_paper, with_interval
from gramian.experiments.verdict import CLOSE, OUTCOMES, REPRODUCED, Findings, Verdict, count, findings

_HEADS = ("experiment", "verdict", "number", "paper", "ours", "", "scale")


def write_page(experiments: Sequence[Experiment], store: Store, scales: Sequence[str] = SCALES) -> Path:
    """Draw the figures and write ``index.html`` in the store's folder; return its path."""
    found = [findings(experiment, store, scales) for experiment in experiments]
    path = store.folder / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(found, store.folder / "figures"), encoding="utf-8")
    return path


def page(found: Sequence[Findings], folder: Path) -> str:
    """The page as text; figures are saved in ``folder`` too."""
    groups = {letter: list(group) for letter, group in groupby(found, key=lambda f: f.experiment.paper)}
    verdicts = [verdict for entry in found for verdict in entry.best]
    sections = []
    for letter, entries in groups.items():
        title = tag("h2", f"Paper {text(letter)} {tag('small', text(TITLES.get(letter, '')))}", id=f"paper-{letter}")
        sections.append(title + "".join(section(entry, folder) for entry in entries))
    body = tag("nav", _navigation(groups)) + tag(
        "main", _head(found, verdicts) + _verdicts(verdicts) + "".join(sections)
    )
    return _SHELL.format(style=_asset("page.css"), body=body, script=_asset("page.js"))


def _navigation(groups: dict[str, list[Findings]]) -> str:
    parts = [tag("a", "Verdicts", href="#verdicts", class_="top")]
    for letter, entries in groups.items():
        links = []
        for entry in entries:
            id = entry.experiment.id
            outcomes = {verdict.outcome for verdict in entry.best}
            worst = next((o for o in reversed(OUTCOMES[:3]) if o in outcomes), OUTCOMES[-1])
            dot = tag("i", class_=f"dot {kind_of(worst)}", title=worst)
            links.append(tag("a", dot + text(id.partition("/")[2]), href=f"#{id.replace('/', '-')}"))
        parts.append(
            tag("div", tag("a", f"Paper {text(letter)}", href=f"#paper-{letter}", class_="top") + "".join(links))
        )
    return "".join(parts)


def _head(found: Sequence[Findings], verdicts: Sequence[Verdict]) -> str:
    counts = count(verdicts)
    judged = [verdict for verdict in verdicts if verdict.judged]
    good = sum(verdict.outcome in (REPRODUCED, CLOSE) for verdict in judged)
    share = (
        f"{good} of {len(judged)} judged numbers ({good / len(judged):.0%}) are reproduced or close" if judged else ""
    )
    ran = sum(bool(entry.records) for entry in found)
    boxes = "".join(
        tag(
            "button", tag("b", str(n)) + tag("span", text(outcome)), class_=f"box {kind_of(outcome)}", data_only=outcome
        )
        for outcome, n in counts.items()
    )
    lead = f"{share or 'Nothing is judged yet'}; {ran} of {len(found)} experiments have run. gramian {__version__}."
    switch = tag("button", "◐", id="theme", title="light or dark", aria_label="light or dark")
    return tag(
        "header",
        switch + tag("h1", "The papers, run again") + tag("p", text(lead)) + tag("div", boxes, class_="boxes"),
        id="verdicts",
    )


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    rows = []
    for verdict in verdicts:
        claim, id = verdict.claim, verdict.experiment
        label = text(claim.label or claim.key)
        label += " " + tag("span", "misprint", class_="tag none", title=claim.misprint) if claim.misprint else ""
        mean = None if verdict.ours is None else verdict.ours.mean
        cells = (
            tag("td", tag("a", text(id), href=f"#{id.replace('/', '-')}")),
            tag("td", outcome_tag(verdict.outcome, verdict.why), data_value=OUTCOMES.index(verdict.outcome)),
            tag("td", label),
            tag("td", text(of_the_paper(claim)), class_="num", data_value=claim.paper),
            tag("td", text(with_interval(verdict.ours)), class_="num", data_value=mean),
            tag("td", ruler(verdict)),
            tag("td", "–" if mean is None else text(verdict.scale)),
        )
        rows.append(tag("tr", "".join(cells), data_outcome=verdict.outcome, data_paper=id[:1].upper()))
    letters = sorted({verdict.experiment[:1].upper() for verdict in verdicts})
    options = tag("option", "all papers", value="") + "".join(
        tag("option", f"paper {letter}", value=letter) for letter in letters
    )
    controls = (
        '<input type="search" id="filter" placeholder="search numbers and experiments" aria-label="search">'
        + tag("select", options, id="paper", aria_label="paper")
        + tag("span", "", id="shown", aria_live="polite")
    )
    return tag("div", controls, class_="controls") + table(_HEADS, rows, class_="sortable", id="table")


def _asset(name: str) -> str:
    return (files("gramian.experiments") / name).read_text(encoding="utf-8")


_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gramian reproduce</title>
<style>
{style}</style>
</head>
<body>
{body}
<script>
{script}</script>
</body>
</html>
"""
