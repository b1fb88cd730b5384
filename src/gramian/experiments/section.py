"""The section of the page about one experiment: its figure, its numbers, and how they were computed."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from gramian.display import Cell, Column, Entry, Table, format_duration, format_number, typographic_minus
from gramian.experiments import bands
from gramian.experiments.formatting import format_band, format_estimate, format_paper_value
from gramian.experiments.html import outcome_tag, pills, ruler
from gramian.experiments.registry import Experiment
from gramian.experiments.search import artefacts_of, search_text
from gramian.experiments.shown import other_numbers, shown
from gramian.experiments.verdict import NOT_RUN, Findings, Verdict, count
from gramian.records import Record, to_json
from gramian.report.web import code_cell, drawn, folded, prose, table, tag, text

Images = dict[tuple[str, str], Path | str | None]


def section(found: Findings, images: Images) -> str:
    """Return the section of an experiment: the largest scale open with the notes below its figure, smaller ones folded.

    Parameters
    ----------
    found : Findings
    images : mapping of (id, scale) to path, str or None
        The file of the figure, or the reason why it cannot be drawn.
    """
    experiment = found.experiment
    anchor = experiment.id.replace("/", "-")
    link = tag("a", "#", href=f"#{anchor}", class_="link", aria_label=f"link to {experiment.id}")
    parts = [
        tag("h3", tag("span", text(experiment.id), class_="id") + " " + text(experiment.title) + " " + link),
        tag("p", pills(count(found.best)), class_="pills") if experiment.claims else "",
    ]
    words = experiment.read_notes()
    notes = tag("div", prose(words), class_="notes") if words else ""
    for place, scale in enumerate(found.scales):
        records = found.records[scale]
        picture = _picture(experiment, scale, images.get((experiment.id, scale)))
        numbers = _numbers(experiment, records, found.verdicts[scale])
        title = f"scale {scale}: {_work(records)}"
        if place:
            parts.append(folded(title, picture + numbers))
        else:
            parts += [tag("p", text(title), class_="work"), picture, notes, numbers]
    if not found.records:
        missing = [verdict for verdict in found.best if verdict.claim.missing]
        parts += [tag("p", "Not run yet.", class_="work"), notes, _claims(missing) if missing else ""]
    return tag(
        "section",
        "".join(parts),
        id=anchor,
        class_="card",
        data_search=search_text(experiment),
        data_artefacts=" ".join(artefacts_of(experiment)),
    )


def _picture(experiment: Experiment, scale: str, image: Path | str | None) -> str:
    alt = f"{experiment.title}, redrawn from our records at scale {scale}"
    if isinstance(image, Path) and image.suffix == ".svg":
        return _late(drawn(image.read_text(encoding="utf-8"), alt))
    if isinstance(image, Path):
        source = f"data:image/png;base64,{b64encode(image.read_bytes()).decode()}"
        return tag("figure", tag("img", alt=alt, src=source, loading="lazy"))
    return tag("p", f"The figure cannot be drawn from these records: {text(image)}", class_="why") if image else ""


def _numbers(experiment: Experiment, records: Sequence[Record], verdicts: Sequence[Verdict]) -> str:
    errors = [
        tag("p", f"{_what(record)}, seed {record['seed']}: {tag('code', text(record['error']))}", class_="why bad")
        for record in records
        if record["error"]
    ]
    rows = [[key, format_estimate(ours)] for key, ours in other_numbers(experiment, records).items()]
    return "".join(
        (
            _claims(verdicts) if verdicts else "",
            *errors,
            folded(_count(len(rows), "more number"), _late(table(Table(["number", "ours"], rows)))) if rows else "",
            folded("how it was computed", _late(_computation(records))),
        )
    )


def _late(part: str) -> str:
    """Return a figure or a folded table as text that the page reads when it comes near the window or is unfolded.

    They have several times the elements of the rest, and a browser would compute the style of each at the start.
    """
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', part)
    style = f"aspect-ratio: {size[1]} / {size[2]}; max-width: {size[1]}pt" if size else None
    return tag(
        "div", tag("script", part.replace("</script", "<\\/script"), type="text/html"), class_="late", style=style
    )


def _claims(verdicts: Sequence[Verdict]) -> str:
    rows: list[list[Entry]] = []
    absent = [verdict for verdict in verdicts if verdict.outcome == NOT_RUN]
    for verdict in verdicts:
        if verdict.outcome == NOT_RUN:
            continue
        claim = verdict.claim
        why = tag("div", text(_reason(verdict)), class_="why")
        misprint = ""
        if claim.misprint:
            printed = format_estimate(verdict.printed) if verdict.printed else "not evaluated here"
            both = f"Corrected: {format_estimate(verdict.ours)}; as printed: {printed}."
            remark = f"{text(claim.misprint.rstrip('.'))}. {text(typographic_minus(both))}"
            misprint = tag("div", f"{tag('b', 'Misprint.')} {remark}", class_="why")
        label = claim.label or claim.key
        rows.append(
            [
                Cell(label, markup=text(label) + why + misprint),
                claim.kind,
                format_paper_value(claim) if claim.paper is not None else "",
                "" if claim.missing else format_band(claim),
                format_estimate(verdict.ours),
                Cell("", markup=ruler(verdict)),
                Cell(verdict.outcome, markup=outcome_tag(verdict.outcome)),
            ]
        )
    more = tag("p", f"{len(absent)} more not run: {text(absent[0].why)}", class_="why") if absent else ""
    columns = ("number", Column("kind", "left"), "paper", "reproduced if", "ours", "", Column("verdict", "left"))
    return (table(Table(columns, rows), class_="claims") if rows else "") + more


def _reason(verdict: Verdict) -> str:
    """Return the reason for the band or for the outcome, the null, the printed setting's number and later changes."""
    claim = verdict.claim
    parts = [(shown(verdict) or verdict.why or claim.why).rstrip(".")]
    changed = claim.changed_at(verdict.scale)
    if changed and verdict.judged:
        parts = [claim.why.rstrip("."), f"Setting changed: {changed}"]
        if not claim.misprint:  # otherwise the second number is that of the formula as printed
            printed = format_estimate(verdict.printed) if verdict.printed else "not measured"
            parts.append(f"In the printed setting: {printed}")
    if verdict.withheld:
        parts.append(f"Without this rule: {verdict.withheld}")
    if claim.null is not None:
        parts.append(f"Null, {claim.null.what}: {format_number(claim.null.value)}")
    entries = bands.entries_of(verdict.experiment, claim)
    if len(entries) > 1:
        parts.append(f"Band entered {_day(entries[0])}, changed {_day(entries[-1])} ({entries[-1].reason})")
    return typographic_minus(". ".join(parts) + ".")


def _day(band: bands.Band) -> str:
    return band.since[:16].replace("T", " ")


def _computation(records: Sequence[Record]) -> str:
    by_spec: dict[str, list[Record]] = {}
    for record in records:
        by_spec.setdefault(f"{record['class']} {json.dumps(to_json(record['spec']))}", []).append(record)
    rows: list[list[Entry]] = []
    for spec, group in by_spec.items():
        name, fields = spec.split(" ", 1)
        settings = ", ".join(f"{key}={json.dumps(value)}" for key, value in json.loads(fields).items())
        seeds = ", ".join(str(record["seed"]) for record in group)
        seconds = format_duration(sum(record["seconds"] for record in group))
        rows.append([code_cell(f"{name}({settings})"), seeds, seconds])
    versions = sorted({", ".join(f"{k} {v}" for k, v in record["versions"].items()) for record in records})
    machines = sorted({f"{r['machine']['cpu']}, {r['machine']['cores']} cores" for r in records})
    last = max(record["finished"] for record in records)
    lines = [*versions, *machines, f"version {records[0]['version']} of the experiment, last cell {last}"]
    return table(Table(["spec", "seeds", "time"], rows)) + "".join(tag("p", text(line), class_="why") for line in lines)


def _work(records: Sequence[Record]) -> str:
    seeds = len({record["seed"] for record in records})
    seconds = sum(record["seconds"] for record in records)
    return f"{_count(seeds, 'seed')}, {_count(len(records), 'cell')}, {format_duration(seconds)} of one core"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _what(record: Record) -> str:
    return "Data missing" if record["missing"] else "Failed"
