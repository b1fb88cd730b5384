"""Sections on where a model comes from: its data, its settings, what went otherwise than asked, and a model card."""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from gramian.core.version import __version__
from gramian.report.model.evidence import Evidence, read_table
from gramian.report.model.learned import MOST_LINES, records_table
from gramian.report.web import Section, cell, facts, folded, note, number, row, shown, table, tag, text
from gramian.rfm.columns import Columns, missing

_CARD = ("intended use", "not meant for", "authors", "licence", "date of the data", "source of the data", "contact")
"""What nobody but the author knows."""


def data_section(model: Any, found: Evidence, X: Any = None) -> Section:
    """Rows, target and columns as the fit has kept them, and those of the table that was given."""
    columns = Columns.of(model)
    pairs: list[tuple[str, object]] = [
        ("rows the machines stand on", f"{len(model.row_index_):,}"),
        ("columns", f"{len(columns.names):,}"),
        ("encoded columns", f"{len(columns.encoded):,}" if len(columns.encoded) != len(columns.names) else None),
        ("columns in use", f"{int(model.support_.sum()):,}" if not model.support_.all() else None),
    ]
    if found.classes:
        some = ", ".join(found.classes[:12]) + (" …" if len(found.classes) > 12 else "")
        pairs.append(("classes", f"{len(found.classes)}: {some}"))
    else:
        pairs.append(("targets", str(found.y.shape[1])))
        pairs.append(("scale of the target", getattr(model.target_transform_, "name", None)))
    body = facts([(name, value) for name, value in pairs if value is not None])
    table_of = None if X is None else read_table(X)
    return Section("Data", body + folded("Columns", _columns(model, columns, table_of)))


def settings_section(model: Any) -> Section:
    """The arguments, those that are not the default marked, and what "auto" became."""
    defaults = {name: p.default for name, p in signature(type(model).__init__).parameters.items()}
    given: list[str] = []
    others: list[str] = []
    for name, value in sorted(model.get_params(deep=False).items()):
        changed = repr(value) != repr(defaults.get(name))
        (given if changed else others).append(row(name, cell(tag("code", text(said(value))))))
    became: list[tuple[str, object]] = [
        ("kernel", said(model.kernel_)),
        ("update of M", said(model.update_)),
        ("ridge", shown(float(model.ridge_))),
        ("round kept", f"{model.best_round_} of {len(model.rounds_) - 1}"),
        ("machines", " + ".join(map(_share, model.blend_.shares)) + " of one prediction"),
    ]
    if hasattr(model, "temperature_"):
        became.append(("temperature of probabilities", shown(float(model.temperature_))))
    heads = ("argument", "value")
    first = table(heads, given, title="Arguments that were given") if given else note("No argument was given.")
    rest = folded(f"{len(others)} arguments with their defaults", table(heads, others)) if others else ""
    return Section("Settings", facts(became, "What was chosen") + first + rest)


def said(value: Any) -> str:
    """A setting as code, its numbers with five digits.

    >>> said({"bandwidth": 44.13096165443141})
    "{'bandwidth': 44.131}"
    """
    return re.sub(r"\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.5g}", repr(value))


def records_section(model: Any) -> Section:
    """What a reader should be warned of, and the record of each round."""
    remarks = warnings_of(model)
    body = "".join(note(f"⚠ {text(remark)}", "near") for remark in remarks)
    body = body or note("Nothing out of the ordinary is on record.")
    return Section("Warnings and records", body + records_table(model), "Warnings")


def warnings_of(model: Any) -> list[str]:
    """What went otherwise than asked, from the records of the fit."""
    found = []
    for record in model.rounds_:
        if any(word in record.status for word in ("jitter", "stopped", "then solved", "not ", "failed")):
            found.append(f"Round {record.index}: {record.status}.")
        if record.residual == record.residual and record.residual > 1e-2:
            found.append(
                f"Round {record.index}: the system is solved to a residual of {shown(record.residual, 2)} only."
            )
    if model.best_round_ == 0 and len(model.rounds_) > 1:
        found.append("Round 0 was kept: no learned features helped, and the model is plain kernel ridge regression.")
    squeezed = getattr(model, "compression_", None)
    if squeezed is not None:
        found.append(
            f"Compressed from {squeezed.n_before:,} to {squeezed.n_centers:,} rows: predictions typically change by "
            f"{squeezed.typical_change:.2%} of their spread, at most by {squeezed.largest_change:.2%}."
        )
    if getattr(model, "encoder_", None) is not None:
        for record in model.encoder_.records_:
            if not record.encoded:
                found.append(f"Column {record.name} is not used: {record.kind}.")
    if not model.support_.all():
        found.append(f"{int((~model.support_).sum())} of {len(model.support_)} columns were thresholded away.")
    return found


def card_section(model: Any, found: Evidence, card: Mapping[str, str] | None = None) -> Section:
    """What is known of the model for someone who did not make it; what is not known is said to be."""
    given = dict(card or {})
    kind = (
        f"classifier of {len(found.classes)} classes" if found.classes else f"regressor of {found.y.shape[1]} target(s)"
    )
    columns = Columns.of(model)
    known: list[tuple[str, object]] = [
        ("model", f"{type(model).__name__}, a kernel machine that learns its features ({kind})"),
        ("written by", f"gramian {__version__}"),
        ("stands on", f"{len(model.row_index_):,} training rows of {len(columns.names):,} columns"),
        ("judged on", found.words),
    ]
    known += [(name, given.pop(name, None)) for name in _CARD]
    known += list(given.items())
    limits = [
        "Intervals and sets of classes hold for new rows that come from where the training rows came from.",
        "Importances, directions and explanations say to what predictions are sensitive, not what causes the target.",
        "Whether errors differ between groups of people has not been looked at.",
    ]
    if model.kernel_.translation_invariant:
        limits.append("Far from all training rows predictions go back to the mean.")
    few = [name for c, name in enumerate(found.classes) if 0 < int((found.y == c).sum()) < 20]
    if few:
        limits.append(f"Judged on fewer than 20 rows: class {', '.join(few[:8])}{' …' if len(few) > 8 else ''}.")
    listed = tag("ul", "".join(tag("li", text(limit)) for limit in limits))
    return Section("Model card", facts(known) + tag("h3", "Limits") + listed)


def _columns(model: Any, columns: Columns, table_of: Any) -> str:
    encoder = getattr(model, "encoder_", None)
    made = {record.name: record for record in encoder.records_} if encoder is not None else {}
    per = np.bincount(columns.groups, minlength=len(columns.names))
    means, scales = columns.own(model._column_means), columns.own(model._scaler.scale)
    rows = []
    for p, name in enumerate(columns.names[:MOST_LINES]):
        cells = [cell(text(made[name].kind if name in made else "number")), number(str(per[p]), int(per[p]))]
        cells += [number(_number(v), None if v != v else float(v)) for v in (means[p], scales[p])]
        if table_of is not None:
            values = np.asarray(columns.column(table_of, p), dtype=object)
            absent = np.array([missing(value) for value in values], dtype=bool)
            cells.append(number(f"{absent.mean():.1%}", float(absent.mean())))
            different = len({str(value) for value in values[~absent]})
            cells.append(number(f"{different:,}", different))
        if made:
            cells.append(cell(text(made[name].done) if name in made else ""))
        rows.append(row(name, *cells))
    heads = ["column", "kind", "encoded as", "mean", "spread"]
    heads += ["missing in X", "different in X"] if table_of is not None else []
    heads += ["what is done to it"] if made else []
    left = len(columns.names) - len(rows)
    rest = note(f"{left:,} more columns.") if left else ""
    return table(heads, rows, sort=True) + rest


def _share(value: float) -> str:
    return f"{value:.0%}"


def _number(value: float) -> str:
    return "–" if value != value else shown(float(value))
