"""Estimates: the means over seeds of what experiments measured and derived, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from gramian.experiments.registry import SCALES, Experiment
from gramian.records import Record

Number = tuple[int, str, float]
"""Seed, key and value."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % interval by Student's t; a single seed has no interval.

    Attributes
    ----------
    mean : float
    half : float or None
        Half the width of the interval: t₀.₉₇₅(m − 1) s/√m for m seeds.
    values : tuple of float
        By seed.
    """

    mean: float
    half: float | None
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        """Estimate from one value per seed.

        >>> Estimate.of([1.0, 2.0, 3.0]).mean
        2.0
        """
        x = np.asarray(list(values), dtype=np.float64)
        half = None
        if len(x) > 1 and np.isfinite(x).all():
            half = float(t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)))
        with np.errstate(invalid="ignore"):  # ∞ − ∞ is NaN, and so is the mean
            return cls(float(x.mean()), half, tuple(x.tolist()))


def estimates(records: Sequence[Record], experiment: Experiment | None = None) -> dict[str, Estimate]:
    """Return the mean over seeds of every number, from the records without failures; keys in their order.

    With an experiment, the numbers that it derives from the records of each seed are included, and seeds that do not
    judge a number are left out.
    """
    return means(judging(numbers_of(records, experiment), records, experiment))


def means(numbers: Iterable[Number]) -> dict[str, Estimate]:
    """Return the mean over seeds by key; keys in their order."""
    values: dict[str, list[float]] = {}
    for _, key, value in numbers:
        values.setdefault(key, []).append(value)
    return {key: Estimate.of(entries) for key, entries in values.items()}


def judging(numbers: Iterable[Number], records: Sequence[Record], experiment: Experiment | None) -> Iterable[Number]:
    """Leave out numbers whose seed does not judge them."""
    done = finished(records)
    if experiment is None or experiment.judged_by is None or not done:
        return numbers
    counts = experiment.judged_by(done)
    return (number for number in numbers if counts(number[1], number[0]))


def finished(records: Sequence[Record]) -> list[Record]:
    """Return the records without failures."""
    return [record for record in records if not record["error"]]


def numbers_of(records: Sequence[Record], experiment: Experiment | None) -> Iterator[Number]:
    """Yield every number, measured or derived, with its seed and key."""
    done = finished(records)
    for record in done:
        for key, value in record["numbers"].items():
            yield record["seed"], key, value
    if experiment is not None and experiment.derive is not None:
        for seed in dict.fromkeys(record["seed"] for record in done):
            for key, value in experiment.derive([r for r in done if r["seed"] == seed]).items():
                yield seed, key, value


def pool(experiment: Experiment, records: Mapping[str, Sequence[Record]]) -> dict[str, Estimate]:
    """Estimate the pooled claims from all their scales; a seed counts once, at the largest scale that has it."""
    by_scale = {
        scale: list(judging(numbers_of(found, experiment), found, experiment)) for scale, found in records.items()
    }
    result = {}
    for claim in experiment.claims:
        if claim.pooled:
            by_seed: dict[int, float] = {}
            for scale in SCALES:
                if scale in claim.scales:
                    by_seed |= {seed: value for seed, key, value in by_scale.get(scale, ()) if key == claim.key}
            if by_seed:
                result[claim.key] = Estimate.of(by_seed[seed] for seed in sorted(by_seed))
    return result
