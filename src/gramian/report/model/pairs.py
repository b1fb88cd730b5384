"""The section on pairs of columns: the off-diagonal of the learned matrix, summed over encoded columns."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gramian.display import Bar, Column, Entry, Table, format_percent
from gramian.report.model.learned import matrix_name
from gramian.report.web import PageSection, heat_map, note, number_cell, table, tag, text
from gramian.rfm import FittedRFM
from gramian.rfm.explain import interactions, learned_matrix

_PAIRS, _MAP_COLUMNS = 12, 12
_OWN_SIGN = 0.05
"""A correlation below this has no direction worth a word."""


def pairs_section(model: FittedRFM) -> PageSection:
    """Return the pairs of the user's columns with the largest entries of the learned matrix, and a map of it."""
    columns = model.columns
    found = interactions(model, _PAIRS) if len(columns.names) > 1 else None
    if found is None or not len(found.pairs):
        return PageSection("Pairs of columns", "")
    top = float(found.strength.max(initial=0.0))
    single = np.bincount(columns.groups, minlength=len(columns.names)) == 1
    numbers = {name for name, alone in zip(columns.names, single, strict=True) if alone}
    rows: list[list[Entry]] = []
    for (a, b), strength, correlation in zip(found.pairs, found.strength, found.correlation, strict=True):
        signed = a in numbers and b in numbers and abs(correlation) >= _OWN_SIGN
        way = ("same" if correlation > 0 else "opposite") if signed else ""
        size = number_cell(float(strength), format_percent)
        rows.append([f"{a} and {b}", Bar(float(strength), 0.0, top), size, way])
    about = (
        f"From {matrix_name(found.source)}. A large share means that predictions change with a combination of the two "
        "columns, such as their sum or their difference: in the same direction with both, or in opposite directions. "
        "Shares are of the sum of the diagonal, and sums over the levels of a category. Two columns with separate "
        "effects that add up also have a share, so it is a hint to look at the pair and no proof of an interaction."
    )
    data = Table(["pair", "", "share", Column("direction", "left")], rows)
    body = tag("div", _map(model) + table(data, class_="plain", sortable=True), class_="side")
    return PageSection("Pairs of columns", note(text(about)) + body, "Pairs")


def by_group(M: Float[np.ndarray, "d d"], groups: Int[np.ndarray, " d"], count: int) -> Float[np.ndarray, "p p"]:
    """Return the root of the sum of squares of each block of a matrix; a block of one entry keeps its sign.

    >>> by_group(np.array([[1.0, -2.0], [-2.0, 4.0]]), np.array([0, 1]), 2)[0]
    array([ 1., -2.])
    >>> by_group(np.array([[3.0, 4.0], [4.0, 0.0]]), np.array([0, 0]), 1).round(2)
    array([[6.4]])
    """
    member = np.eye(count)[groups]
    size = np.sqrt(member.T @ M**2 @ member)
    alone = np.bincount(groups, minlength=count) == 1
    return np.where(np.outer(alone, alone), np.sign(member.T @ M @ member) * size, size)


def _map(model: FittedRFM) -> str:
    """Return the learned matrix of the user's columns with the largest diagonal as a picture."""
    M, _ = learned_matrix(model, off_diagonal=True)
    columns = model.columns
    whole = by_group(M, columns.groups, len(columns.names)) / (np.trace(M) or 1.0)
    at = np.sort(np.argsort(-np.diag(whole), kind="stable")[:_MAP_COLUMNS])
    block = whole[np.ix_(at, at)]
    names = [columns.names[p] for p in at]
    which = "all columns" if len(at) == len(columns.names) else f"the {len(at)} columns with the largest diagonal"
    caption = f"The learned matrix of {which}, divided by the sum of its diagonal. Red: same direction, blue: opposite."
    return heat_map(block, f"Learned matrix of {which}", names=names, caption=caption)
