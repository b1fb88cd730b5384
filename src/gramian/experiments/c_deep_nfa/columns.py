"""Columns of Tables 1, 2 and 3 as a whole: distance from the printed column, its pattern, and what a repeat would have.

Most cells are so near to 1.00 that a constant would pass alone. A column is compared in two ways: by the mean distance
``mean |x − p|`` of its cells x from the printed ones p, and by its pattern over depth, decay and noise, the share
``1 − r²(x, p)`` of the printed variance that a line in x leaves unexplained.

The paper trains on one random target. The pairs of our own seeds show how far two targets are apart; where that is
farther than a constant is from the print, no target can decide about the distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from statistics import StatisticsError, correlation, fmean, median_high
from typing import Any

from gramian.experiments import Claim, Null, between
from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED
from gramian.experiments.c_deep_nfa.setting import DEPTHS

UNTRAINED = {2: 0.939, 3: 0.919, 4: 0.912, 5: 0.909}
"""Alignment before training by depth, mean over 12 starts (standard deviation 0.005 to 0.01)."""

_LIKE = {"sgd": "gd", "sgdm": "gdm", "adam": "gdm"}
"""The optimiser whose seeds tell how much the target matters, for those that run with one seed."""


def cell_name(optimiser: str, depth: int, decay: float, noise: float) -> str:
    """Return the name of a cell of the table.

    >>> cell_name("gdm", 5, 1e-3, 1.0)
    'gdm L=5 λ=1e-3 σ=1'
    """
    return f"{optimiser} L={depth} λ=1e{round(math.log10(decay))} σ={noise:g}"


def distance_key(optimiser: str) -> str:
    """Return the key of the mean distance from a printed column."""
    return f"{optimiser}: mean distance from the printed column"


def pattern_key(optimiser: str) -> str:
    """Return the key of the printed variance that our column leaves unexplained."""
    return f"{optimiser}: unexplained share of the printed column"


def distance(x: Sequence[float], p: Sequence[float]) -> float:
    """Return ``mean |x − p|``.

    >>> distance([1.0, 0.5], [1.0, 1.0])
    0.25
    """
    return fmean(abs(a - b) for a, b in zip(x, p, strict=True))


def unexplained(x: Sequence[float], p: Sequence[float]) -> float:
    """Return ``1 − r²`` with Pearson's correlation r; 1 for a constant, NaN where a cell diverged.

    >>> unexplained([0.8, 0.9, 1.0], [0.6, 0.8, 1.0]) < 1e-12, unexplained([1.0, 1.0], [0.9, 1.0])
    (True, 1.0)
    """
    if not all(map(math.isfinite, (*x, *p))):
        return math.nan
    try:
        return 1 - correlation(x, p) ** 2
    except StatisticsError:  # a constant
        return 1.0


_COMPARED: Mapping[Callable[[str], str], Callable[[Sequence[float], Sequence[float]], float]] = {
    distance_key: distance,
    pattern_key: unexplained,
}


def printed_column(rank: int, optimiser: str) -> dict[tuple[int, float, float], float]:
    """Return the printed column of one optimiser by ``(L, λ, σ)``, without its ``nan``.

    >>> len(printed_column(5, "gd")), len(printed_column(20, "gdm"))
    (32, 27)
    """
    return {cell[1:]: value for cell, value in PRINTED[rank].items() if cell[0] == optimiser and not math.isnan(value)}


def distance_null(rank: int, optimiser: str) -> Null:
    """Return the mean distance from a printed column of the best result without learning.

    That is the best constant, which is the column's median, or the alignment of untrained networks of each depth.

    >>> distance_null(5, "gdm").what
    'the best constant'
    """
    column = printed_column(rank, optimiser)
    values = list(column.values())
    constant = distance([median_high(values)] * len(values), values)
    untrained = distance([UNTRAINED[depth] for depth, _, _ in column], values)
    return Null(constant, "the best constant") if constant < untrained else Null(untrained, "untrained networks")


def pattern_null(rank: int, optimiser: str) -> Null:
    """Return the share of a printed column that untrained networks of each depth leave unexplained.

    >>> pattern_null(5, "gd").value > 0.5
    True
    """
    column = printed_column(rank, optimiser)
    return Null(unexplained([UNTRAINED[depth] for depth, _, _ in column], [*column.values()]), "untrained networks")


def compare_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return distance and unexplained share of each printed column whose cells have all run, for one seed."""
    found: dict[str, float] = {}
    for rank in {record["spec"]["rank"] for record in records}:
        for optimiser in COLUMNS:
            column = printed_column(rank, optimiser)
            ours = _column(records, optimiser, column)
            if ours is not None:
                found |= {key(optimiser): compare(ours, [*column.values()]) for key, compare in _COMPARED.items()}
    return found


def repeats(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return what another random target of ours would have in place of the paper's, mean over pairs of seeds.

    One column of the pair is rounded to two digits, as the paper's is. Optimisers with one seed use the pairs of
    gradient descent, with momentum for sgdm and Adam; without two seeds there is no number.
    """
    found: dict[str, float] = {}
    for rank in {record["spec"]["rank"] for record in records}:
        for optimiser in COLUMNS:
            cells = printed_column(rank, optimiser)
            drawn = _columns_by_seed(records, optimiser, cells)
            if len(drawn) < 2:
                drawn = _columns_by_seed(records, _LIKE.get(optimiser, optimiser), cells)
            pairs = list(permutations(drawn, 2))
            if pairs:
                found |= {
                    key(optimiser): fmean(compare(x, [round(value, 2) for value in p]) for x, p in pairs)
                    for key, compare in _COMPARED.items()
                }
    return found


def _columns_by_seed(
    records: Sequence[Mapping[str, Any]], optimiser: str, cells: Mapping[tuple[int, float, float], float]
) -> list[list[float]]:
    seeds = dict.fromkeys(record["seed"] for record in records)
    columns = [_column([r for r in records if r["seed"] == seed], optimiser, cells) for seed in seeds]
    return [column for column in columns if column is not None]


def _column(
    records: Sequence[Mapping[str, Any]], optimiser: str, cells: Mapping[tuple[int, float, float], float]
) -> list[float] | None:
    """Return our values in the order of the cells; None if some have not run."""
    numbers = {name: value for record in records for name, value in record["numbers"].items()}
    names = [cell_name(optimiser, *cell) for cell in cells]
    return [numbers[name] for name in names] if set(names) <= set(numbers) else None


def column_claims(rank: int) -> Iterator[Claim]:
    """Yield the claims about the distance from each printed column and about its pattern."""
    for optimiser in COLUMNS:
        null = distance_null(rank, optimiser)
        yield between(
            distance_key(optimiser),
            0.0,
            null.value / 2,
            "at most half the distance of the best result without learning; close if nearer than that result",
            slack=0.49 * null.value,
            label=f"rank {rank}, {optimiser}: mean |ours − printed| over the column",
            scales=("paper",),
            kind="printed number",
            null=null,
        )
        null = pattern_null(rank, optimiser)
        yield between(
            pattern_key(optimiser),
            0.0,
            null.value / 2,
            f"the effects of L = {DEPTHS[0]} to {DEPTHS[-1]}, λ and σ: at most half of what untrained networks leave "
            "unexplained; close if less than they leave",
            slack=0.49 * null.value,
            label=f"rank {rank}, {optimiser}: share of the printed column's variance that ours leaves unexplained",
            scales=("paper",),
            null=null,
        )
