"""Verdicts: the claims of a paper compared with our measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from gramian.experiments.claims import Claim
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.store import ExperimentStore
from gramian.records import Record

REPRODUCED, CLOSE, DIFFERS = "reproduced", "close", "differs"
CANNOT_RUN, NOT_JUDGED, NOT_RUN = "cannot run here", "not judged at this scale", "not run"
OUTCOMES = (REPRODUCED, CLOSE, DIFFERS, CANNOT_RUN, NOT_JUDGED, NOT_RUN)


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


@dataclass(frozen=True)
class Verdict:
    """The outcome of one claim at one scale.

    Attributes
    ----------
    experiment, scale : str
    claim : Claim
    outcome : str
        One of :data:`OUTCOMES`.
    ours : Estimate or None
    printed : Estimate or None
        The number by the formula as printed, where that is a misprint.
    why : str
        Reason why the claim cannot run, was not judged or has not run.
    """

    experiment: str
    scale: str
    claim: Claim
    outcome: str
    ours: Estimate | None = None
    printed: Estimate | None = None
    why: str = ""

    @property
    def judged(self) -> bool:
        """True if our number was compared with the paper's."""
        return self.outcome in (REPRODUCED, CLOSE, DIFFERS)


def compare(claim: Claim, ours: Estimate) -> str:
    """Compare our estimate with a claim: ``"reproduced"``, ``"close"`` or ``"differs"``.

    *Reproduced*: the mean lies in [low, high], or its 95 % interval overlaps that band. The interval counts only if it
    is at most as wide as the region called close, high − low + 2 slack (2 slack where a bound is infinite): a wider one
    cannot distinguish the claim from its opposite, so that noise would count as agreement. *Close*: the mean is at most
    ``slack`` outside. Where the paper prints ``nan``, NaN for every seed is *reproduced*, for some seeds *close*.

    >>> from gramian.experiments import number
    >>> compare(number("rho", 0.9, 0.02, "one seed"), Estimate.of([0.93]))
    'close'
    """
    if math.isnan(claim.low):
        lost = sum(math.isnan(value) for value in ours.values)
        return REPRODUCED if lost == len(ours.values) else CLOSE if lost else DIFFERS
    if claim.low <= ours.mean <= claim.high:
        return REPRODUCED
    band = claim.high - claim.low
    widest = (band if math.isfinite(band) else 0.0) + 2 * claim.slack
    if ours.half is not None and 2 * ours.half <= widest:
        reaches = ours.mean - ours.half <= claim.high and ours.mean + ours.half >= claim.low
        if reaches:
            return REPRODUCED
    return CLOSE if claim.low - claim.slack <= ours.mean <= claim.high + claim.slack else DIFFERS


def estimates(records: Sequence[Record]) -> dict[str, Estimate]:
    """Return the mean over seeds of every number, from the records without failures; keys in their order."""
    values: dict[str, list[float]] = {}
    for record in records:
        if not record["error"]:
            for key, value in record["numbers"].items():
                values.setdefault(key, []).append(value)
    return {key: Estimate.of(entries) for key, entries in values.items()}


def judge(experiment: Experiment, scale: str, records: Sequence[Record]) -> list[Verdict]:
    """Return one verdict per claim, from the records of one scale."""
    found = estimates(records)
    return [_judge_one(experiment, scale, claim, found, records) for claim in experiment.claims]


def _judge_one(
    experiment: Experiment, scale: str, claim: Claim, found: Mapping[str, Estimate], records: Sequence[Record]
) -> Verdict:
    if claim.missing:
        return Verdict(experiment.id, scale, claim, CANNOT_RUN, why=claim.missing)
    ours = found.get(claim.key)
    if ours is None:
        missing = next((record["error"] for record in records if record["missing"]), "")
        if missing:
            return Verdict(experiment.id, scale, claim, CANNOT_RUN, why=missing)
        failed = sum(bool(record["error"]) for record in records)
        why = f"{failed} cells failed" if failed else "no record contains this number"
        return Verdict(experiment.id, scale, claim, NOT_RUN, why=why)
    printed = found.get(claim.printed_key)
    if scale not in claim.scales:
        why = f"compared only at the scale {' or '.join(claim.scales)}"
        return Verdict(experiment.id, scale, claim, NOT_JUDGED, ours, printed, why)
    return Verdict(experiment.id, scale, claim, compare(claim, ours), ours, printed)


@dataclass(frozen=True)
class Findings:
    """All records and verdicts of an experiment, by scale.

    Attributes
    ----------
    experiment : Experiment
    records, verdicts : mapping of scale to list
        Scales with records, in the order of SCALES.
    """

    experiment: Experiment
    records: Mapping[str, list[Record]]
    verdicts: Mapping[str, list[Verdict]]

    @property
    def scales(self) -> list[str]:
        """Scales with records, largest first; a scale with the same records as a larger one is left out."""
        largest: dict[tuple[str, ...], str] = {}
        for scale in reversed(list(self.records)):
            largest.setdefault(tuple(record["key"] for record in self.records[scale]), scale)
        return list(largest.values())

    @property
    def best(self) -> list[Verdict]:
        """One verdict per claim: at the largest scale that judges it, otherwise at the largest that has run.

        Claims without any record are *not run* or *cannot run here*.
        """
        if not self.verdicts:
            return judge(self.experiment, SCALES[-1], [])
        rows = []
        for versions in zip(*reversed(list(self.verdicts.values())), strict=True):  # the largest scale first
            by_worth = sorted(versions, key=lambda v: 0 if v.judged else 1 if v.ours is not None else 2)
            rows.append(by_worth[0])
        return rows


def findings(experiment: Experiment, store: ExperimentStore, scales: Sequence[str] = SCALES) -> Findings:
    """Read the records of an experiment and judge its claims."""
    records = {scale: store.of(experiment, scale) for scale in SCALES if scale in scales}
    records = {scale: found for scale, found in records.items() if found}
    verdicts = {scale: judge(experiment, scale, found) for scale, found in records.items()}
    return Findings(experiment, records, verdicts)


def count(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Count the verdicts of each outcome that occurs.

    >>> count([])
    {}
    """
    outcomes = [verdict.outcome for verdict in verdicts]
    return {outcome: outcomes.count(outcome) for outcome in OUTCOMES if outcome in outcomes}
