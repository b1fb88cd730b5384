"""Columns of Tables 1, 2 and 3 as a whole: distance from the printed column, its pattern, and what a repeat would have.

Most cells are so near to 1.00 that a constant would pass alone. A column is compared in two ways: by the mean distance
``mean |x − p|`` of its cells x from the printed ones p, and by its pattern over depth, decay and noise, the share
``1 − max(r(x, p), 0)²`` of the printed variance that a rising line in x leaves unexplained.

The paper has one random target, draw of rows and start per table. If the columns of our own seeds are farther from one
another than a result without learning is from the print, no seed can decide about the distance.

The columns of a table share their target, so that each tells something about it. Gradient descent has no other
randomness than target, rows and start, and momentum does not diverge in some cells. A target of ours is *comparable* if
its column of gd passes the claim about that column, and if gdm converges wherever the print has a number. The other
columns are judged by comparable targets; beside their distance stands that of all. The column of gd is judged by all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import StatisticsError, correlation, fmean, median_high, pvariance
from typing import Any

from gramian.experiments import Claim, Null, between
from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED

UNTRAINED = {2: 0.939, 3: 0.919, 4: 0.912, 5: 0.909}
"""Alignment before training by depth, mean over 12 starts (standard deviation 0.005 to 0.01)."""
SELECTING = "gd"
"""The optimiser whose column selects the comparable targets; its own distance is that of all targets."""


def cell_name(optimiser: str, depth: int, decay: float, noise: float) -> str:
    """Return the name of a cell of the table.

    >>> cell_name("gdm", 5, 1e-3, 1.0)
    'gdm L=5 λ=1e-3 σ=1'
    """
    return f"{optimiser} L={depth} λ=1e{round(math.log10(decay))} σ={noise:g}"


def distance_key(optimiser: str) -> str:
    """Return the key of the mean distance from a printed column."""
    return f"{optimiser}: mean distance from the printed column"


def whole_distance_key(optimiser: str) -> str:
    """Return the key of the mean distance from a printed column over all targets, comparable or not."""
    return f"{optimiser}: mean distance from the printed column, all targets"


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


def distance_claim(rank: int, optimiser: str) -> Claim:
    """Return the claim about the mean distance from a printed column."""
    null = distance_null(rank, optimiser)
    targets = "" if optimiser == SELECTING else ", comparable targets"
    return between(
        distance_key(optimiser),
        0.0,
        null.value / 2,
        "at most half the distance of the best result without learning; close if nearer than that result",
        slack=0.49 * null.value,
        label=f"rank {rank}, {optimiser}: mean |ours − printed| over the column{targets}",
        scales=("paper",),
        kind="printed number",
        null=null,
    )


def comparable_targets(records: Sequence[Mapping[str, Any]], rank: int) -> set[int]:
    """Return the seeds whose target can be the printed one, by the columns of gd and gdm on it.

    >>> printed = {cell_name(*cell): value for cell, value in PRINTED[20].items() if cell[0] in ("gd", "gdm")}
    >>> far = printed | {name: 0.7 for name in printed if name.startswith("gd ")}
    >>> lost = printed | {cell_name("gdm", 5, 1e-2, 0.0): math.nan}
    >>> records = [{"seed": seed, "numbers": numbers} for seed, numbers in enumerate((printed, far, lost, {}))]
    >>> comparable_targets(records, rank=20)
    {0}
    """
    by_seed: dict[int, list[Mapping[str, Any]]] = {}
    for record in records:
        by_seed.setdefault(record["seed"], []).append(record)
    return {seed for seed, found in by_seed.items() if _is_comparable(found, rank)}


def _is_comparable(records: Sequence[Mapping[str, Any]], rank: int) -> bool:
    column = printed_column(rank, SELECTING)
    selecting, momentum = _column(records, SELECTING, column), _column(records, "gdm", printed_column(rank, "gdm"))
    if selecting is None or momentum is None or not all(map(math.isfinite, momentum)):
        return False
    return distance_claim(rank, SELECTING).admits(distance(selecting, [*column.values()]))


def compare_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return distances and unexplained share of each printed column whose cells have all run, for one seed."""
    found: dict[str, float] = {}
    for rank in {record["spec"]["rank"] for record in records}:
        comparable = bool(comparable_targets(records, rank))
        for optimiser in COLUMNS:
            column = printed_column(rank, optimiser)
            ours = _column(records, optimiser, column)
            if ours is not None:
                for key, compare in _compared(optimiser).items():
                    if comparable or not _needs_comparable(key, optimiser):
                        found[key(optimiser)] = compare(ours, [*column.values()])
    return found


def _compared(optimiser: str) -> dict[Callable[[str], str], Callable[[Sequence[float], Sequence[float]], float]]:
    whole = {} if optimiser == SELECTING else {whole_distance_key: distance}
    return {distance_key: distance, **whole, pattern_key: unexplained}


def _needs_comparable(key: Callable[[str], str], optimiser: str) -> bool:
    return key is distance_key and optimiser != SELECTING


def repeats(records: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Put each of our seeds in the place of the paper's, rounded to two digits: the mean over the others, by seed.

    Where the seed diverges, its cells are left out, as those with ``nan`` in print are; where another one diverges in
    the rest, the number is infinite. Columns of one seed have no numbers. Distances are those of comparable targets.
    """
    found: dict[str, list[float]] = {}
    for rank in {record["spec"]["rank"] for record in records}:
        comparable = comparable_targets(records, rank)
        for optimiser in COLUMNS:
            for key, compare in _compared(optimiser).items():
                chosen = [r for r in records if r["seed"] in comparable or not _needs_comparable(key, optimiser)]
                drawn = _columns_by_seed(chosen, optimiser, printed_column(rank, optimiser))
                if len(drawn) > 1:
                    found[key(optimiser)] = _in_turn(drawn, compare)
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
        near = distance_claim(rank, optimiser)
        yield near
        if optimiser != SELECTING:
            label = f"rank {rank}, {optimiser}: mean |ours − printed| over the column, all targets"
            yield replace(near, key=whole_distance_key(optimiser), kind="side condition", label=label)
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
