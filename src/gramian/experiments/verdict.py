"""Verdicts: the claims of a paper compared with our measurements."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gramian.experiments.claims import Claim
from gramian.experiments.estimates import Estimate, finished, judging, means, numbers_of, pool
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.store import ExperimentStore
from gramian.records import Record

REPRODUCED, CLOSE, NOT_TOLD_APART, DIFFERS = "reproduced", "close", "not told apart", "differs"
ANOTHER_SETTING, IN_COLUMN = "another setting", "judged in its column"
NOT_DECIDABLE = "not decidable"
CANNOT_RUN, NOT_JUDGED, NOT_RUN = "cannot run here", "not judged at this scale", "not run"
JUDGED = (REPRODUCED, CLOSE, ANOTHER_SETTING, NOT_TOLD_APART, DIFFERS)
"""Outcomes of a comparison of our number with the paper's, best first."""
_FAILING = 0.05
"""Share of our own seeds that may fail a claim in the place of the paper's: of fewer than twenty seeds, none."""
OUTCOMES = (*JUDGED, IN_COLUMN, NOT_DECIDABLE, CANNOT_RUN, NOT_JUDGED, NOT_RUN)


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
        The number by the formula or in the setting as printed, where that is a misprint.
    why : str
        Reason why the claim cannot run, was not judged, is not decidable or has not run.
    withheld : str
        The outcome that a claim would have which is not decidable.
    """

    experiment: str
    scale: str
    claim: Claim
    outcome: str
    ours: Estimate | None = None
    printed: Estimate | None = None
    why: str = ""
    withheld: str = ""

    @property
    def judged(self) -> bool:
        """True if our number was compared with the paper's."""
        return self.outcome in JUDGED


def compare(claim: Claim, ours: Estimate, changed: str = "") -> str:
    """Compare our estimate with a claim. An interval can only withhold a verdict; it never earns one.

    *Two-sided band.* Reproduced: the mean lies in [low, high] and its 95 % interval is narrower than that band. Close:
    the mean lies at most ``slack`` outside and the interval is narrower than the region called close. Not told apart:
    the mean lies in one of these regions and the interval is wider than it. Differs: the mean lies outside both.

    *Threshold.* Reproduced: the whole interval lies beyond the threshold. Not told apart: the interval contains it.
    Close: the mean lies at most ``slack`` before it. Differs: otherwise. A sign is a threshold at its null.

    One seed has no interval and is at most close, unless the claim is deterministic. Where the paper prints ``nan``,
    NaN for every seed is reproduced, for some seeds close. If a printed setting was changed, which `changed` names, a
    number that agrees is *another setting*.

    >>> from gramian.experiments import Null, number, positive
    >>> rho = number("rho", 0.9, 0.02, "one seed in the paper", null=Null(0.5, "no training"))
    >>> [compare(rho, Estimate.of(values)) for values in ([0.93], [0.9, 0.905, 0.895], [0.9])]
    ['close', 'reproduced', 'close']
    >>> compare(positive("gain", "a sign"), Estimate.of([-0.1, 0.3, 0.2]))
    'not told apart'
    """
    if math.isnan(claim.low):
        lost = sum(math.isnan(value) for value in ours.values)
        outcome = REPRODUCED if lost == len(ours.values) else CLOSE if lost else DIFFERS
        alone = len(ours.values) == 1
    else:
        outcome = _at_threshold(claim, ours) if claim.threshold is not None else _in_band(claim, ours)
        alone = ours.half is None
    if outcome == REPRODUCED and alone and not claim.deterministic:
        outcome = CLOSE
    return ANOTHER_SETTING if changed and outcome in (REPRODUCED, CLOSE) else outcome


def _in_band(claim: Claim, ours: Estimate) -> str:
    low, high, slack = claim.low, claim.high, claim.slack
    width = 2 * (ours.half or 0.0)
    if low <= ours.mean <= high:
        return REPRODUCED if width <= high - low else NOT_TOLD_APART
    if low - slack <= ours.mean <= high + slack:
        return CLOSE if width <= high - low + 2 * slack else NOT_TOLD_APART
    return DIFFERS


def _at_threshold(claim: Claim, ours: Estimate) -> str:
    beyond = ours.mean - claim.low if math.isinf(claim.high) else claim.high - ours.mean
    if not math.isfinite(beyond):
        return REPRODUCED if beyond == math.inf else DIFFERS
    half = ours.half or 0.0
    if beyond > half or (beyond == half and not claim.is_sign):
        return REPRODUCED
    if -half <= beyond <= half:
        return NOT_TOLD_APART
    return CLOSE if beyond >= -claim.slack and not claim.is_sign else DIFFERS


def judge(
    experiment: Experiment, scale: str, records: Sequence[Record], pooled: Mapping[str, Estimate] | None = None
) -> list[Verdict]:
    """Return one verdict per claim, from the records of one scale and the pooled estimates of all scales."""
    numbers = list(numbers_of(records, experiment))
    found = means(judging(numbers, records, experiment))
    measured = {key for _, key, _ in numbers}
    verdicts = [
        _judge_one(experiment, scale, claim, found, records, pooled or {}, measured) for claim in experiment.claims
    ]
    verdicts = _withhold(verdicts, experiment, records)
    columns = {verdict.claim.key: verdict for verdict in verdicts if not verdict.claim.column}
    return [_in_column(verdict, columns) if verdict.claim.column else verdict for verdict in verdicts]


def _judge_one(
    experiment: Experiment,
    scale: str,
    claim: Claim,
    found: Mapping[str, Estimate],
    records: Sequence[Record],
    pooled: Mapping[str, Estimate],
    measured: Collection[str],
) -> Verdict:
    if claim.missing:
        return Verdict(experiment.id, scale, claim, CANNOT_RUN, why=claim.missing)
    ours = found.get(claim.key)
    if ours is None:
        missing = next((record["error"] for record in records if record["missing"]), "")
        if missing:
            return Verdict(experiment.id, scale, claim, CANNOT_RUN, why=missing)
        failed = sum(bool(record["error"]) for record in records)
        without = "no record contains this number"
        if claim.key in measured:
            without = "no record of a seed that can be compared with the paper's contains this number"
        why = f"{failed} cells failed" if failed else without
        return Verdict(experiment.id, scale, claim, NOT_RUN, why=why)
    printed = found.get(claim.printed_key)
    if scale not in claim.scales:
        why = f"compared only at the scale {' or '.join(claim.scales)}"
        return Verdict(experiment.id, scale, claim, NOT_JUDGED, ours, printed, why)
    ours = pooled.get(claim.key, ours) if claim.pooled else ours
    if claim.column:
        return Verdict(experiment.id, scale, claim, IN_COLUMN, ours, printed)
    changed = claim.changed_at(scale)
    return Verdict(experiment.id, scale, claim, compare(claim, ours, changed), ours, printed, changed)


def _withhold(verdicts: Sequence[Verdict], experiment: Experiment, records: Sequence[Record]) -> list[Verdict]:
    """Withhold the verdicts, good and bad, on claims that a seed of ours in the place of the paper's would fail."""
    if experiment.repeats is None:
        return list(verdicts)
    repeats = experiment.repeats(finished(records))

    def checked(verdict: Verdict) -> Verdict:
        claim, values = verdict.claim, repeats.get(verdict.claim.key, ())
        failing = [value for value in values if not claim.admits(value)]
        if not verdict.judged or not claim.judged_alone or claim.pooled or len(failing) <= _FAILING * len(values):
            return verdict
        worst = "diverges" if math.inf in failing else f"has up to {max(failing):.4f}"
        limit = f"{claim.low - claim.slack:.4f} to {claim.high + claim.slack:.4f} would pass"
        why = f"{len(failing)} of our {len(values)} seeds would fail in the place of the paper's ({worst}; {limit})"
        return replace(verdict, outcome=NOT_DECIDABLE, withheld=verdict.outcome, why=why)

    return [checked(verdict) for verdict in verdicts]


def _in_column(verdict: Verdict, columns: Mapping[str, Verdict]) -> Verdict:
    if verdict.outcome != IN_COLUMN:
        return verdict
    column = columns[verdict.claim.column]
    if column.judged:
        null = "" if column.claim.null is None else f" ({column.claim.null.what} would pass alone)"
        return replace(verdict, why=f"judged with its column{null}: {column.outcome}")
    if column.outcome == NOT_DECIDABLE:
        why = f"its column is not decidable: {column.why}"
        return replace(verdict, outcome=NOT_DECIDABLE, withheld=column.withheld, why=why)
    return replace(verdict, outcome=NOT_JUDGED, why="judged with its column, of which other cells have not run")


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

        A claim about a smaller scale only is left out where one about the same number at a larger scale is judged.

        Claims without any record are *not run* or *cannot run here*.
        """
        if not self.verdicts:
            return judge(self.experiment, SCALES[-1], [])
        rows = [
            min(versions, key=_worth)
            for versions in zip(*reversed(list(self.verdicts.values())), strict=True)  # the largest scale first
        ]
        # A key may have two claims, one per scale: that of the larger scale replaces the other once it is settled.
        largest: dict[str, int] = {}
        for row in filter(_is_settled, rows):
            largest[row.claim.key] = max(SCALES.index(row.scale), largest.get(row.claim.key, 0))
        return [row for row in rows if _last_scale(row.claim) >= largest.get(row.claim.key, 0)]


def _last_scale(claim: Claim) -> int:
    return max(map(SCALES.index, claim.scales), default=len(SCALES))


def _is_settled(verdict: Verdict) -> bool:
    return verdict.judged or verdict.outcome in (IN_COLUMN, NOT_DECIDABLE)


def _worth(verdict: Verdict) -> int:
    return 0 if _is_settled(verdict) else 1 if verdict.ours is not None else 2


def findings(experiment: Experiment, store: ExperimentStore, scales: Sequence[str] = SCALES) -> Findings:
    """Read the records of an experiment and judge its claims."""
    records = {scale: store.of(experiment, scale) for scale in SCALES if scale in scales}
    records = {scale: found for scale, found in records.items() if found}
    pooled = pool(experiment, records)
    verdicts = {scale: judge(experiment, scale, found, pooled) for scale, found in records.items()}
    return Findings(experiment, records, verdicts)


def count(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Count the verdicts of each outcome that occurs.

    >>> count([])
    {}
    """
    outcomes = [verdict.outcome for verdict in verdicts]
    return {outcome: outcomes.count(outcome) for outcome in OUTCOMES if outcome in outcomes}
