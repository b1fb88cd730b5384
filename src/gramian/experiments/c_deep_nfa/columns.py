"""Columns of Tables 1, 2 and 3 as a whole: distance from the printed column, its pattern, and what a repeat would have.

Most cells are so near to 1.00 that a constant would pass alone. A column is compared in two ways: by the mean distance
``mean |x − p|`` of its cells x from the printed ones p, and by its pattern over depth, decay and noise, the share
``1 − max(r(x, p), 0)²`` of the printed variance that a rising line in x leaves unexplained.

The paper names one random target and one table per rank. If the columns of our own seeds are farther from one another
than a result without learning is from the print, no seed can decide about the distance.

We assume that the five columns of a table have the same target. A target of ours is *comparable* if its column of gd
passes the claim about that column, gdm converges on it wherever the print has a number, and gdm diverges in some cell
if the print has cells that diverge. The other columns are judged by comparable targets; the first targets, which were
drawn before any was selected, judge the column of gd, and the rest. In Tables 1 and 2 gdm converges on every target, so
that gd selects; in Table 3 gd is near the print on every target, so that gdm selects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import StatisticsError, correlation, fmean, median_high, pvariance
from typing import Any

from gramian.experiments import Claim, Null, between
from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED
from gramian.experiments.c_deep_nfa.setting import DEPTHS, PAPER_EPOCHS

UNTRAINED = {2: 0.939, 3: 0.919, 4: 0.912, 5: 0.909}
"""Alignment before training by depth, mean over 12 starts (standard deviation 0.005 to 0.01)."""
SELECTING = "gd"
"""The optimiser whose column selects the comparable targets; its own column is judged by the first targets."""
FIRST_TARGETS: Mapping[int, Mapping[str, int]] = {
    2: {"gd": 5, "gdm": 5, "sgd": 5},
    5: {"gd": 5, "gdm": 5},
    20: {"adam": 1, "gd": 5, "gdm": 5, "sgd": 5, "sgdm": 1},
}
"""By rank and optimiser, the number of targets, seeds 0, 1, …, that ran before comparable ones were selected.

Columns that ran on comparable targets only have no entry; all their targets judge patterns and effects, too.
"""


def cell_name(optimiser: str, depth: int, decay: float, noise: float) -> str:
    """Return the name of a cell of the table.

    >>> cell_name("gdm", 5, 1e-3, 1.0)
    'gdm L=5 λ=1e-3 σ=1'
    """
    return f"{optimiser} L={depth} λ=1e{round(math.log10(decay))} σ={noise:g}"


def distance_key(optimiser: str) -> str:
    """Return the key of the mean distance from a printed column."""
    return f"{optimiser}: mean distance from the printed column"


def first_distance_key(optimiser: str) -> str:
    """Return the key of the mean distance from a printed column over the first targets, comparable or not."""
    return f"{optimiser}: mean distance from the printed column, first targets"


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


def distance_null(rank: int, optimiser: str, depths: Sequence[int] = DEPTHS) -> Null:
    """Return the least mean distance from a printed column, or some depths of it, without knowledge of its optimiser.

    That is of the best constant, which is the column's median, the alignment of untrained networks of each depth, or
    the printed column of gd: comparable targets are near to it.

    >>> distance_null(5, "gd").what, distance_null(5, "gdm").what
    ('the best constant', 'the printed column of gd')
    """
    column = {cell: value for cell, value in printed_column(rank, optimiser).items() if cell[0] in depths}
    values = list(column.values())
    nulls = {
        "the best constant": [median_high(values)] * len(values),
        "untrained networks": [UNTRAINED[depth] for depth, _, _ in column],
    }
    if optimiser != SELECTING:
        selecting = printed_column(rank, SELECTING)
        nulls[f"the printed column of {SELECTING}"] = [selecting[cell] for cell in column]
    return min((Null(distance(null, values), what) for what, null in nulls.items()), key=lambda null: null.value)


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


def distance_claim(rank: int, optimiser: str, depths: Sequence[int] = DEPTHS) -> Claim:
    """Return the claim about the mean distance from a printed column, or from some depths of it."""
    null = distance_null(rank, optimiser, depths)
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


def comparable_targets(records: Sequence[Mapping[str, Any]]) -> set[int]:
    """Return the seeds whose target is comparable with the printed one, from the records of one table.

    >>> printed = {cell_name(*cell): value for cell, value in PRINTED[20].items() if cell[0] in ("gd", "gdm")}
    >>> far = printed | {name: 0.7 for name in printed if name.startswith("gd ")}
    >>> lost = printed | {cell_name("gdm", 5, 1e-2, 0.0): math.nan}
    >>> kept = {name: 0.9 if math.isnan(value) else value for name, value in printed.items()}
    >>> columns = enumerate((printed, far, lost, kept, {}))
    >>> comparable_targets([{"seed": seed, "spec": {"rank": 20}, "numbers": numbers} for seed, numbers in columns])
    {0}
    """
    return {seed for seed in {record["seed"] for record in records} if _is_comparable(_of_seed(records, seed))}


def _is_comparable(records: Sequence[Mapping[str, Any]]) -> bool:
    rank = _rank(records)
    ours, momentum = _column(records, SELECTING, rank), _column(records, "gdm", rank)
    lost = {name for name, value in _cells(rank, "gdm").items() if math.isnan(value)}
    if ours is None or momentum is None or not all(map(math.isfinite, momentum)):
        return False
    numbers = _numbers(records)
    if lost and not any(math.isnan(numbers.get(name, 0.0)) for name in lost):
        return False
    return distance_claim(rank, SELECTING).admits(distance(ours, [*printed_column(rank, SELECTING).values()]))


def compare_columns(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return distance and unexplained share of each printed column whose cells have all run, for one seed."""
    found: dict[str, float] = {}
    rank = _rank(records)
    for optimiser in COLUMNS:
        ours = _column(records, optimiser, rank)
        if ours is not None:
            for key, compare in _compared(rank, optimiser).items():
                found[key] = compare(ours, [*printed_column(rank, optimiser).values()])
    return found


def _compared(rank: int, optimiser: str) -> dict[str, Callable[[Sequence[float], Sequence[float]], float]]:
    first = {first_distance_key(optimiser): distance} if has_first_distance(rank, optimiser) else {}
    return {distance_key(optimiser): distance, **first, pattern_key(optimiser): unexplained}


def has_first_distance(rank: int, optimiser: str) -> bool:
    """Return True if targets that are not comparable have run, too, whose distance is a side condition.

    >>> has_first_distance(2, "sgd"), has_first_distance(2, "adam"), has_first_distance(2, "gd")
    (True, False, False)
    """
    return optimiser != SELECTING and optimiser in FIRST_TARGETS[rank]


def judged_by(records: Sequence[Mapping[str, Any]]) -> Callable[[str, int], bool]:
    """Return which seeds judge a number: comparable ones cells and distances, the first ones all else and gd.

    At smaller scales, and for a column without first targets, all seeds do.
    """
    paper = [record for record in records if record["spec"]["epochs"] > PAPER_EPOCHS]
    if not paper:
        return lambda key, seed: True
    rank, comparable = _rank(paper), comparable_targets(paper)

    def counts(key: str, seed: int) -> bool:
        optimiser = key.replace(":", " ").split()[0]
        level = key == distance_key(optimiser) or key.startswith(f"{optimiser} L=")
        if level and optimiser != SELECTING:
            return seed in comparable
        return seed < FIRST_TARGETS[rank].get(optimiser, math.inf)

    return counts


def repeats(records: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Put each of our seeds in the place of the paper's, rounded to two digits: the mean over the others, by seed.

    Where the seed diverges, its cells are left out, as those with ``nan`` in print are; where another one diverges in
    the rest, the number is infinite. Columns of one seed have no numbers. The seeds are those of :func:`judged_by`.
    """
    found: dict[str, list[float]] = {}
    if not records:
        return found
    rank, counts = _rank(records), judged_by(records)
    for optimiser in COLUMNS:
        for key, compare in _compared(rank, optimiser).items():
            seeds = dict.fromkeys(record["seed"] for record in records if counts(key, record["seed"]))
            columns = [_column(_of_seed(records, seed), optimiser, rank) for seed in seeds]
            drawn = [column for column in columns if column is not None]
            if len(drawn) > 1:
                found[key] = _in_turn(drawn, compare)
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


def _rank(records: Sequence[Mapping[str, Any]]) -> int:
    (rank,) = {record["spec"]["rank"] for record in records}
    return int(rank)


def _of_seed(records: Sequence[Mapping[str, Any]], seed: int) -> list[Mapping[str, Any]]:
    return [record for record in records if record["seed"] == seed]


def _numbers(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    return {name: value for record in records for name, value in record["numbers"].items()}


def _cells(rank: int, optimiser: str) -> dict[str, float]:
    """Return the printed column by the names of its cells."""
    return {cell_name(*cell): value for cell, value in PRINTED[rank].items() if cell[0] == optimiser}


def _column(records: Sequence[Mapping[str, Any]], optimiser: str, rank: int) -> list[float] | None:
    """Return the cells of one seed in the order of the printed column; None if some have not run."""
    numbers = _numbers(records)
    names = [cell_name(optimiser, *cell) for cell in printed_column(rank, optimiser)]
    return [numbers[name] for name in names] if set(names) <= set(numbers) else None


def column_claims(rank: int) -> Iterator[Claim]:
    """Yield the claims about the distance from each printed column and about its pattern."""
    for optimiser in COLUMNS:
        near = distance_claim(rank, optimiser)
        yield near
        if has_first_distance(rank, optimiser):
            label = f"rank {rank}, {optimiser}: mean |ours − printed| over the column, first targets"
            yield replace(near, key=first_distance_key(optimiser), kind="side condition", label=label)
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
