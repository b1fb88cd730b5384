"""Numbers of records by seed: means with their intervals, and the seeds that are comparable with the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from gramian.experiments.registry import SCALES, Experiment
from gramian.records import Record


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

    With an experiment, the numbers that it derives from the records of each seed are included.
    """
    values: dict[str, list[float]] = {}
    for _, key, value in _numbers(records, experiment):
        values.setdefault(key, []).append(value)
    return {key: Estimate.of(entries) for key, entries in values.items()}


def _numbers(records: Sequence[Record], experiment: Experiment | None) -> Iterator[tuple[int, str, float]]:
    """Yield ``(seed, key, value)`` of every number."""
    finished = [record for record in records if not record["error"]]
    for record in finished:
        for key, value in record["numbers"].items():
            yield record["seed"], key, value
    if experiment is not None and experiment.derive is not None:
        for seed in dict.fromkeys(record["seed"] for record in finished):
            for key, value in experiment.derive([r for r in finished if r["seed"] == seed]).items():
                yield seed, key, value


def pool(experiment: Experiment, records: Mapping[str, Sequence[Record]]) -> dict[str, Estimate]:
    """Estimate the pooled claims from all their scales; a seed counts once, at the largest scale that has it."""
    by_scale = {
        scale: list(_numbers(comparable_records(experiment, found), experiment)) for scale, found in records.items()
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


def comparable_records(experiment: Experiment, records: Sequence[Record]) -> list[Record]:
    """Return the records of the seeds that are compared with the paper's; failures are kept, which have no numbers."""
    if experiment.comparable is None:
        return list(records)
    seeds = experiment.comparable([record for record in records if not record["error"]])
    return [record for record in records if record["error"] or record["seed"] in seeds]
