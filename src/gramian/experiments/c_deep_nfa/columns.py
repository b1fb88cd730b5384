"""Columns of Tables 1, 2 and 3 as a whole: distance from the printed column, its pattern, and what a repeat would have.

Most cells are so near to 1.00 that a constant would pass alone. A column is compared in two ways: by the mean distance
``mean |x − p|`` of its cells x from the printed ones p, and by its pattern over depth, decay and noise, the share
``1 − max(r(x, p), 0)²`` of the printed variance that a rising line in x leaves unexplained.

The paper has one random target, draw of rows and start. If the columns of our own seeds are farther from one another
than a result without learning is from the print, no seed can decide about the distance.

A table also says something of its target: whether gradient descent with momentum diverges on it. That depends on the
target and not on the other columns, so that a seed which diverges where the print has a number has another kind of
target, and none of its columns is compared with the print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import StatisticsError, correlation, fmean, median_high, pvariance
from typing import Any

from gramian.experiments import Claim, Null, between
from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED

UNTRAINED = {2: 0.939, 3: 0.919, 4: 0.912, 5: 0.909}
"""Alignment before training by depth, mean over 12 starts (standard deviation 0.005 to 0.01)."""


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
    """Return ``1 − max(r, 0)²`` with Pearson's correlation r; 1 for a constant, NaN where a cell diverged.

    >>> unexplained([0.8, 0.9, 1.0], [0.6, 0.8, 1.0]) < 1e-12, unexplained([1.0, 1.0], [0.9, 1.0])
    (True, 1.0)
    >>> unexplained([1.0, 0.9], [0.9, 1.0])
    1.0
    """
    if not all(map(math.isfinite, (*x, *p))):
        return math.nan
    try:
        return 1 - max(correlation(x, p), 0.0) ** 2
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
    """Return the share of a printed column's variance that its best single factor leaves unexplained.

    That is the variance within groups of equal L, λ or σ: a result with the right effect of one of them and no other.

    >>> pattern_null(5, "gd").what
    'the printed effect of L alone'
    """
    column = printed_column(rank, optimiser)
    all_variance = pvariance(column.values())
    shares = {}
    for place, factor in enumerate("Lλσ"):
        groups: dict[float, list[float]] = {}
        for cell, value in column.items():
            groups.setdefault(cell[place], []).append(value)
        within = sum(len(group) * pvariance(group) for group in groups.values()) / len(column)
        shares[factor] = within / all_variance
    best = min(shares, key=shares.__getitem__)
    return Null(shares[best], f"the printed effect of {best} alone")


def comparable_targets(records: Sequence[Mapping[str, Any]]) -> set[int]:
    """Return the seeds on whose target momentum does not diverge with up to four layers where the print has a number.

    Five layers are left out: on all targets of rank 20 that we drew, most of their cells diverge.

    >>> cell = {"spec": {"rank": 20}, "numbers": {"gdm L=4 λ=1e-5 σ=0": math.nan}}
    >>> comparable_targets([{**cell, "seed": 0}, {**cell, "seed": 1, "numbers": {"gdm L=4 λ=1e-5 σ=0": 0.8}}])
    {1}
    """
    shown = {
        rank: {cell_name("gdm", *cell) for cell in printed_column(rank, "gdm") if cell[0] < max(UNTRAINED)}
        for rank in {record["spec"]["rank"] for record in records}
    }
    diverged = {
        record["seed"]
        for record in records
        for name, value in record["numbers"].items()
        if name in shown[record["spec"]["rank"]] and math.isnan(value)
    }
    return {record["seed"] for record in records} - diverged


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


def repeats(records: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Put each of our seeds in the place of the paper's, rounded to two digits: the mean over the others, by seed.

    Where the seed diverges, its cells are left out, as those with ``nan`` in print are; where another one diverges in
    the rest, the number is infinite. Columns of one seed have no numbers.
    """
    found: dict[str, list[float]] = {}
    for rank in {record["spec"]["rank"] for record in records}:
        for optimiser in COLUMNS:
            drawn = _columns_by_seed(records, optimiser, printed_column(rank, optimiser))
            if len(drawn) > 1:
                found |= {key(optimiser): _in_turn(drawn, compare) for key, compare in _COMPARED.items()}
    return found


def _in_turn(
    drawn: Sequence[Sequence[float]], compare: Callable[[Sequence[float], Sequence[float]], float]
) -> list[float]:
    values = []
    for place, paper in enumerate(drawn):
        kept = [k for k, value in enumerate(paper) if math.isfinite(value)]
        others = [[x[k] for k in kept] for other, x in enumerate(drawn) if other != place]
        if not kept or not all(math.isfinite(value) for x in others for value in x):
            values.append(math.inf)
        else:
            values.append(fmean(compare(x, [round(paper[k], 2) for k in kept]) for x in others))
    return values


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
            "the effects of L, λ and σ together: at most half of what the best of them leaves unexplained alone; close "
            "if less than it leaves",
            slack=0.49 * null.value,
            label=f"rank {rank}, {optimiser}: share of the printed column's variance that ours leaves unexplained",
            scales=("paper",),
            kind="side condition",
            null=null,
        )
