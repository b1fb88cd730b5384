"""The page of all records in a folder: verdicts first, then each experiment. It needs no network."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path

from gramian.core.atomic import atomic_write
from gramian.core.version import __version__
from gramian.display import MISSING, Cell, Column, Entry, Table
from gramian.experiments import figures
from gramian.experiments.bibliography import BIBLIOGRAPHY
from gramian.experiments.counts import agreement, before, count_rows, count_table, summary
from gramian.experiments.formatting import format_estimate, format_paper_value
from gramian.experiments.html import kind_of, outcome_tag, pills, ruler
from gramian.experiments.registry import Experiment
from gramian.experiments.section import Images, section
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import JUDGED, OUTCOMES, Findings, Verdict, count, findings
from gramian.report.web import document, folded, table, tag, text
from gramian.report.web.shell import SWITCH, asset

_COLUMNS = (
    "experiment",
    Column("verdict", "left"),
    Column("number", "left"),
    Column("kind", "left"),
    "paper",
    "ours",
    "",
    Column("scale", "left"),
)


def write_page(
    experiments: Sequence[Experiment], store: ExperimentStore, redraw: Collection[str] | None = None
) -> Path:
    """Draw the figures and write ``index.html`` in the store's folder.

    Parameters
    ----------
    experiments : sequence of Experiment
        Ordered by id, so that those of one paper are adjacent.
    store : ExperimentStore
    redraw : collection of str, optional
        Ids of the experiments whose figures are always drawn, all by default; others only if a record is newer.

    Returns
    -------
    path
    """
    found = [findings(experiment, store) for experiment in experiments]
    images: Images = {}
    for entry in found:
        id = entry.experiment.id
        since = math.inf if redraw is None or id in redraw else store.modified(id)
        for scale in entry.scales:
            stem = store.folder / "figures" / f"{id.replace('/', '-')}-{scale}"
            images[id, scale] = figures.write(entry.experiment, entry.records[scale], stem, since)
    path = store.folder / "index.html"
    atomic_write(path, page(found, images))
    return path


def page(found: Sequence[Findings], images: Images) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    found : sequence of Findings
        Ordered by id.
    images : mapping of (id, scale) to path, str or None
        The file of each figure, or the reason why it cannot be drawn.
    """
    groups = {letter: list(group) for letter, group in groupby(found, key=lambda f: f.experiment.paper)}
    verdicts = [verdict for entry in found for verdict in entry.best]
    sections = []
    for letter, entries in groups.items():
        title = tag("h2", f"Paper {text(_paper_name(letter))}", id=f"paper-{letter}") + _citation(letter)
        counts = tag("p", pills(count(verdict for entry in entries for verdict in entry.best)), class_="pills")
        sections.append(title + counts + "".join(section(entry, images) for entry in entries))
    return document(
        "gramian reproduce",
        _navigation(groups),
        _head(found, verdicts) + _counts(found) + _verdicts(verdicts) + "".join(sections),
        style=asset("claims.css", "gramian.experiments"),
        script=asset("claims.js", "gramian.experiments"),
    )


def _paper_name(letter: str) -> str:
    """Return the letter of a paper with its short name."""
    return f"{letter}: {BIBLIOGRAPHY[letter].names[0]}" if letter in BIBLIOGRAPHY else letter


def _citation(letter: str) -> str:
    if letter not in BIBLIOGRAPHY:
        return ""
    paper = BIBLIOGRAPHY[letter]
    authors = ", ".join(paper.authors)
    return tag("p", text(f"{paper.title}. {authors}, {paper.year}. arXiv:{paper.arxiv}"), class_="why")


def _navigation(groups: dict[str, list[Findings]]) -> str:
    parts = [tag("a", "Verdicts", href="#verdicts", class_="top")]
    for letter, entries in groups.items():
        links = []
        for entry in entries:
            id = entry.experiment.id
            outcomes = {verdict.outcome for verdict in entry.best}
            worst = next((o for o in (*reversed(JUDGED), *OUTCOMES) if o in outcomes), OUTCOMES[-1])
            dot = tag("i", class_=f"dot {kind_of(worst)}", title=worst)
            links.append(tag("a", dot + text(id.partition("/")[2]), href=f"#{id.replace('/', '-')}"))
        parts.append(
            tag(
                "div",
                tag("a", f"Paper {text(_paper_name(letter))}", href=f"#paper-{letter}", class_="top") + "".join(links),
            )
        )
    return "".join(parts)


def _head(found: Sequence[Findings], verdicts: Sequence[Verdict]) -> str:
    counts = count(verdicts)
    ran = sum(bool(entry.records) for entry in found)
    boxes = "".join(
        tag(
            "button",
            tag("b", str(n)) + tag("span", text(outcome)),
            class_=f"box {kind_of(outcome)}",
            data_only=outcome,
            type="button",
        )
        for outcome, n in counts.items()
    )
    lead = f"{summary(found)}. {agreement(found)}. {ran} of {len(found)} experiments have run. gramian {__version__}."
    return tag(
        "header",
        SWITCH + tag("h1", "Reproduction of the papers") + tag("p", text(lead)) + tag("div", boxes, class_="boxes"),
        id="verdicts",
    )


def _counts(found: Sequence[Findings]) -> str:
    """Return the counts by group, kind and scale, and those of the former rules."""
    rows = count_rows(found)
    if not rows:
        return ""
    explain = (
        "Before the rules were tightened (an interval could earn a verdict, claims had no null and no kind), the "
        "counts were:"
    )
    body = (
        table(count_table(rows, ("group", "kind")), class_="counts")
        + folded("by scale", table(count_table(rows), class_="counts"))
        + folded("before", tag("p", explain) + table(count_table(before(), ("group", "scale")), class_="counts"))
    )
    return tag("section", folded("counts by paper, kind and scale, and those of the former rules", body), id="counts")


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    rows: list[list[Entry]] = []
    for verdict in verdicts:
        claim, id = verdict.claim, verdict.experiment
        label = text(claim.label or claim.key)
        label += " " + tag("span", "misprint", class_="tag none", title=claim.misprint) if claim.misprint else ""
        mean = None if verdict.ours is None else verdict.ours.mean
        link = tag("a", text(id), href=f"#{id.replace('/', '-')}", data_paper=id[:1].upper())
        outcome = tag("span", outcome_tag(verdict.outcome, verdict.why), data_outcome=verdict.outcome)
        rows.append(
            [
                Cell(id, markup=link),
                Cell(verdict.outcome, sort=OUTCOMES.index(verdict.outcome), markup=outcome),
                Cell(claim.label or claim.key, markup=label),
                claim.kind,
                Cell(format_paper_value(claim), sort=claim.low if claim.paper is None else claim.paper),
                Cell(format_estimate(verdict.ours), sort=mean),
                Cell("", markup=ruler(verdict)),
                MISSING if mean is None else verdict.scale,
            ]
        )
    letters = sorted({verdict.experiment[:1].upper() for verdict in verdicts})
    options = tag("option", "all papers", value="") + "".join(
        tag("option", text(f"paper {_paper_name(letter)}"), value=letter) for letter in letters
    )
    controls = (
        tag(
            "input",
            type="search",
            id="filter",
            placeholder="search, for example: Figure 3, or FACT table 2",
            aria_label="search",
        )
        + tag("select", options, id="paper", aria_label="paper")
        + tag("span", "", id="shown", aria_live="polite")
    )
    return (
        tag("div", controls, class_="controls")
        + table(Table(_COLUMNS, rows), class_="claims fresh", id="table", sortable=True)
        + tag("p", tag("button", "show all rows", id="more", type="button"))
    )
