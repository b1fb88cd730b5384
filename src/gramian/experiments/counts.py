"""Counts of verdicts by paper, kind and scale, and the counts of the former rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from gramian.display import Column, Entry, Table
from gramian.experiments.claims import KINDS
from gramian.experiments.registry import SCALES
from gramian.experiments.verdict import (
    CANNOT_RUN,
    CLOSE,
    IN_COLUMN,
    NOT_DECIDABLE,
    NOT_JUDGED,
    NOT_RUN,
    OUTCOMES,
    REPRODUCED,
    Findings,
    Verdict,
    count,
)

EXPLANATIONS = "explanations"
"""Group of the experiments whose id ends in ``-why``: their claims are ours, not the paper's."""


def group_of(experiment: str) -> str:
    """Return the group in which an experiment's claims are counted.

    >>> group_of("d/table2"), group_of("d/table2-why")
    ('paper D', 'explanations')
    """
    return EXPLANATIONS if experiment.endswith("-why") else f"paper {experiment[0].upper()}"


@dataclass(frozen=True)
class CountRow:
    """The number of claims of one group, kind and scale, by outcome; an empty scale means no record."""

    group: str
    kind: str
    scale: str
    outcomes: Mapping[str, int]


def single_verdicts(found: Findings) -> list[Verdict]:
    """Return the best verdicts, one for each number or statement.

    A number that is judged in a column has its outcome, and the column itself is left out. Of two claims of one kind
    about the same number, each at a scale of its own, the one whose scale has not run is left out.
    """
    best = found.best
    columns = {verdict.claim.column for verdict in best if verdict.claim.column}
    outcomes = {verdict.claim.key: verdict.outcome for verdict in best if verdict.claim.key in columns}
    judged = {(verdict.claim.key, verdict.claim.kind) for verdict in best if verdict.outcome != NOT_JUDGED}
    return [
        replace(verdict, outcome=outcomes[verdict.claim.column]) if verdict.outcome == IN_COLUMN else verdict
        for verdict in best
        if verdict.claim.key not in columns
        and (verdict.outcome != NOT_JUDGED or (verdict.claim.key, verdict.claim.kind) not in judged)
    ]


def count_rows(found: Iterable[Findings]) -> list[CountRow]:
    """Count the verdicts by group, kind and scale; a number in a column has its outcome, the column is not counted."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for entry in found:
        for verdict in single_verdicts(entry):
            scale = "" if verdict.ours is None else verdict.scale
            groups.setdefault((group_of(verdict.experiment), verdict.claim.kind, scale), []).append(verdict)
    scales = ("", *SCALES)
    order = sorted(groups, key=lambda key: (key[0] == EXPLANATIONS, key[0], KINDS.index(key[1]), -scales.index(key[2])))
    return [CountRow(*key, count(groups[key])) for key in order]


def before() -> list[CountRow]:
    """Return the counts of the former rules, by group and scale; claims had no kinds then."""
    text = files("gramian.experiments").joinpath("counts_before.json").read_text(encoding="utf-8")
    return [CountRow(row["group"], "", row["scale"], row["outcomes"]) for row in json.loads(text)]


def count_table(rows: Sequence[CountRow], by: Sequence[str] = ("group", "kind", "scale")) -> Table:
    """Return the counts as a table, added up over the fields that `by` does not name.

    >>> count_table([CountRow("paper A", "statement", "small", {"close": 2})], by=["group"]).rows
    (('paper A', '2'),)
    """
    outcomes = [outcome for outcome in OUTCOMES if any(outcome in row.outcomes for row in rows)]
    sums: dict[tuple[str, ...], dict[str, int]] = {}
    for row in rows:
        entry = sums.setdefault(tuple(getattr(row, name) for name in by), {})
        for outcome, n in row.outcomes.items():
            entry[outcome] = entry.get(outcome, 0) + n
    lines: list[tuple[Entry, ...]] = [
        (*(name or "none" for name in names), *(str(entry.get(outcome, 0)) for outcome in outcomes))
        for names, entry in sums.items()
    ]
    titles = {"group": "claims of", "kind": "kind", "scale": "scale"}
    return Table((*(Column(titles[name], "left") for name in by), *outcomes), lines)


def markdown(table: Table) -> str:
    """Return a table of counts as Markdown."""
    names = [column.heading for column in table.columns]
    rows = [names, ["---"] * len(names), *([str(entry) for entry in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _printed_numbers(found: Iterable[Findings]) -> list[Verdict]:
    """Return the verdicts on printed numbers of the papers, without explanations."""
    papers = (entry for entry in found if not entry.experiment.id.endswith("-why"))
    return [v for entry in papers for v in single_verdicts(entry) if v.claim.kind == "printed number"]


def summary(found: Iterable[Findings]) -> str:
    """Return sentences about the printed numbers: how many of all are judged, their outcomes, and the others."""
    numbers = _printed_numbers(found)
    judged = [verdict for verdict in numbers if verdict.judged and verdict.scale == SCALES[-1]]
    inside = [verdict for verdict in judged if verdict.claim.column]
    alone = [verdict for verdict in judged if not verdict.claim.column]
    share = f" ({len(judged) / len(numbers):.0%} of all)" if numbers else ""
    parts = ", ".join(f"{n:,} {outcome}" for outcome, n in count(alone).items())
    text = (
        f"Of {len(numbers):,} printed numbers, {len(judged):,} are judged at the paper's size{share}: "
        f"{len(inside):,} in their columns and {len(alone):,} alone{f' ({parts})' if parts else ''}"
    )
    others = {
        "have not run": sum(v.outcome == NOT_RUN for v in numbers),
        "cannot run here": sum(v.outcome == CANNOT_RUN for v in numbers),
        "are not decidable": sum(v.outcome == NOT_DECIDABLE for v in numbers),
    }
    left = len(numbers) - len(judged)
    others["ran at a smaller size or with a part of their column only"] = left - sum(others.values())
    rest = ", ".join(f"{n:,} {why}" for why, n in others.items() if n)
    return f"{text}. Of the other {left:,}, {rest}" if rest else text


def printed_outcomes(found: Iterable[Findings]) -> dict[str, int]:
    """Count the judged printed numbers of the papers by outcome, at any size."""
    return count(verdict for verdict in _printed_numbers(found) if verdict.judged)


def agreement(found: Iterable[Findings]) -> str:
    """Return sentences on the judged printed numbers: the share that is reproduced or close, and withheld verdicts."""
    entries = list(found)
    counts = printed_outcomes(entries)
    judged = sum(counts.values())
    agree = sum(counts.get(outcome, 0) for outcome in (REPRODUCED, CLOSE))
    share = f" ({agree / judged:.0%})" if judged else ""
    rest = ", ".join(f"{n:,} {outcome}" for outcome, n in counts.items() if outcome not in (REPRODUCED, CLOSE))
    text = f"Of the {judged:,} printed numbers that are judged at any size, {agree:,}{share} are reproduced or close"
    text = f"{text}; the others: {rest}" if rest else text
    withheld = [verdict.withheld for verdict in _printed_numbers(entries) if verdict.withheld]
    if not withheld:
        return text
    parts = ", ".join(f"{withheld.count(outcome):,} {outcome}" for outcome in OUTCOMES if outcome in withheld)
    return f"{text}. Without the rule on decidability, {len(withheld):,} more would be judged: {parts}"
