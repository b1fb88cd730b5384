"""Sections on the features a model has learned: importances and directions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gramian.display import Bar, Cell, Column, Entry, Table, typographic_minus
from gramian.report.figures import plot_partial_dependence
from gramian.report.web import PageSection, figure, folded, note, number, number_cell, table, tabs, tag, text
from gramian.rfm import FittedRFM
from gramian.rfm.explain import (
    Directions,
    Importances,
    PermutationImportances,
    along,
    directions,
)
from gramian.tables.types import Label

MOST_LINES = 200
"""Largest number of rows of a table about columns."""
_SHOWN_COLUMNS = 15
_SMALLEST_SHARE = 5e-4
_DIRECTIONS, _LOADINGS = 4, 12


def importances_section(importances: Importances, permutation: PermutationImportances | None = None) -> PageSection:
    """Return sensitivity and permutation importance of each of the user's columns side by side, and of groups of them.

    ``permutation`` replaces the permutation importances of ``importances``, for rows that were given with the report.
    """
    permutation = permutation or importances.permutation
    order = importances.order[:MOST_LINES]
    shown, folded_up = order[:_SHOWN_COLUMNS], order[_SHOWN_COLUMNS:]
    body = note(text(_about_importances(importances, permutation)))
    body += note(text(f"{importances.about_interval} A column that matters to predictions need not cause the target."))
    body += table(_importance_table(importances, permutation, shown), class_="plain", sortable=True)
    if folded_up:
        more = table(_importance_table(importances, permutation, folded_up), class_="plain", sortable=True)
        body += folded(f"{len(folded_up):,} more columns", more)
    left = importances.order[MOST_LINES:]
    if left:
        body += note(f"{len(left):,} more columns have {importances.shares[left].sum():.1%} together.")
    return PageSection("Importances", body + _group_table(importances, permutation))


def _about_importances(importances: Importances, permutation: PermutationImportances | None) -> str:
    about = (
        "The sensitivity of a column is its share in the mean squared gradient of the predictions: how strongly they "
        "react to a small change of its entries."
    )
    if permutation is None:
        return about
    return (
        f"{about} The loss if shuffled is the part of the {permutation.measure} ({permutation.score:.3f}) that is lost "
        f"when its entries are permuted in {permutation.source}: how much the predictions need the column, as long as "
        "all other columns are there."
    )


def _importance_table(importances: Importances, permutation: PermutationImportances | None, order: list[int]) -> Table:
    top = float(max(importances.high.max(), importances.shares.max()))
    rows: list[list[Entry]] = []
    for j in order:
        share, low, high = (float(part[j]) for part in (importances.shares, importances.low, importances.high))
        bar = Bar(share, 0.0, top, ends=(low, high))
        loss = [] if permutation is None else [_loss_cell(permutation.drop, j)]
        rows.append([importances.columns[j], bar, _share_cell(share, low, high), *loss])
    headings: list[str | Column] = ["column", "", Column("sensitivity", hint=f"share, and {importances.interval_name}")]
    return Table([*headings, *_loss_heading(permutation)], rows)


def _group_table(importances: Importances, permutation: PermutationImportances | None) -> str:
    shares = importances.group_shares
    order = [int(g) for g in np.argsort(-shares, kind="stable") if shares[g] >= _SMALLEST_SHARE]
    if not order:
        return ""
    rows: list[list[Entry]] = [
        [
            ", ".join(importances.columns[j] for j in importances.groups[g]),
            _share_cell(float(shares[g]), float(importances.group_low[g]), float(importances.group_high[g])),
            *([] if permutation is None else [_loss_cell(permutation.group_drop, g)]),
        ]
        for g in order
    ]
    about = (
        "These columns have nearly the same information (rank correlations above 0.85), so the data does not determine "
        "how they share their importance. Compare their sum: the sensitivities are added, and the columns are shuffled "
        "together."
    )
    data = Table(["columns", "sensitivity", *_loss_heading(permutation)], rows)
    return tag("h3", "Correlated columns together") + note(about) + table(data, class_="plain", sortable=True)


def _loss_heading(permutation: PermutationImportances | None) -> list[Column]:
    if permutation is None:
        return []
    return [Column("loss if shuffled", hint=f"loss of {permutation.measure} when the entries are shuffled")]


def _share_cell(share: float, low: float, high: float) -> Cell:
    """Return a share with its interval below it."""
    ends = f"{100 * low:.0f} … {high:.0%}"
    markup = f"{share:.1%}" + tag("div", ends, class_="quiet", style="font-size:85%;white-space:nowrap")
    return Cell(f"{share:.1%} ({ends})", sort=share, markup=markup)


def _loss_cell(drops: Float[np.ndarray, " q"], at: int) -> Cell:
    value, top = float(drops[at]), float(np.nanmax(drops, initial=0.0))
    if not np.isfinite(value):
        return number_cell(value)
    shown = f"{round(value, 3) + 0.0:.3f}"  # a zero has no sign
    return Cell(typographic_minus(shown), sort=value, fill=max(value, 0.0) / top if top > 0 else 0.0)


def directions_section(model: FittedRFM, output: Label) -> PageSection:
    """Return the loadings of the strongest directions, and the predictions of one output along each."""
    found = directions(model, _DIRECTIONS)
    about = f"Eigenvectors of {matrix_name(found.source)}, on standardised columns. Shares are of its trace."
    panels = []
    for i in range(len(found.loadings)):
        body = tag("div", _loadings(found, i) + _dependence(model, found, i, output), class_="side")
        panels.append((f"{i + 1}: {found.shares[i]:.0%}", body))
    return PageSection("Directions", note(text(about)) + tabs("directions", panels))


def matrix_name(source: str) -> str:
    """Return the name of the matrix from which directions are taken, given the attribute that has it."""
    if source == "agop_":
        return (
            "the average gradient outer product of the predictor (the matrix M of the fit contains no learned features)"
        )
    return "the learned matrix M"


def _loadings(found: Directions, i: int) -> str:
    direction = found.loadings[i]
    order = np.argsort(-np.abs(direction), kind="stable")[:_LOADINGS]
    order = order[np.abs(direction[order]) >= 0.01]
    low, high = min(0.0, float(direction.min())), max(0.0, float(direction.max()))
    rows: list[list[Entry]] = [
        [found.names[j], Bar(float(direction[j]), low, high), number_cell(float(direction[j]), _signed)] for j in order
    ]
    return table(Table(["column", "", "loading"], rows), title=f"Direction {i + 1}: {found.shares[i]:.1%}")


def _dependence(model: FittedRFM, learned: Directions, i: int, output: Label) -> str:
    found = along(model, learned, i, grid=30, rows=100, output=output)
    ends = f"from {number(float(found.mean[0]))} to {number(float(found.mean[-1]))}"
    alt = f"{found.output.name} along direction {i + 1}: {ends}"
    return figure(plot_partial_dependence(found), alt, "Mean prediction of training rows moved along the direction.")


def _signed(value: float) -> str:
    return f"{value:+.2f}"
