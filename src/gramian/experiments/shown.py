"""Sentences about numbers that were measured and are not judged: what a small run has shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gramian.display import format_number
from gramian.experiments.claims import Claim
from gramian.experiments.estimates import Estimate, estimates
from gramian.experiments.formatting import format_band
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.verdict import NOT_JUDGED, Verdict
from gramian.records import Record


def shown(verdict: Verdict) -> str:
    """Return what a measured number shows that is not judged at its scale; empty for any other verdict.

    >>> from gramian.experiments import Null, between
    >>> claim = between("gap", 0.0, 1e-10, "a theorem", null=Null(1.0, "unrelated"), kind="proved identity")
    >>> shown(Verdict("a/prop2-4", "smoke", claim, NOT_JUDGED, Estimate.of([3e-16])))
    'the identity is met to 3e-16; the scale smoke is too small to judge'
    """
    if verdict.outcome != NOT_JUDGED or verdict.ours is None:
        return ""
    if verdict.claim.column:
        return f"measured; {verdict.why}"
    return f"{_place(verdict.claim, verdict.ours)}; the scale {verdict.scale} is too small to judge"


def in_band(verdict: Verdict) -> bool:
    """Return whether our mean lies in the band of the claim; where the paper prints nan, whether it is NaN."""
    if verdict.ours is None:
        return False
    claim, mean = verdict.claim, verdict.ours.mean
    return math.isnan(mean) if math.isnan(claim.low) else claim.low <= mean <= claim.high


def other_numbers(experiment: Experiment, records: Sequence[Record]) -> dict[str, Estimate]:
    """Return the numbers of some records that no claim of the experiment names, in their order."""
    claimed = {key for claim in experiment.claims for key in (claim.key, claim.printed_key)}
    return {key: ours for key, ours in estimates(records, experiment).items() if key not in claimed}


def small_run_note(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence about all numbers that were measured and not judged, with the share in their bands.

    Empty if there are none.
    """
    measured = [v for v in verdicts if v.outcome == NOT_JUDGED and v.ours is not None]
    if not measured:
        return ""
    inside = sum(in_band(verdict) for verdict in measured)
    # In the order of the scales, whatever the order of the claims.
    judged_at = [scale for scale in SCALES if any(scale in v.claim.scales for v in measured)]
    run = " or ".join(f"--scale {scale}" for scale in judged_at)
    what = "number was" if len(measured) == 1 else "numbers were"
    return (
        f"{len(measured):,} {what} measured at a scale too small to judge, {inside:,} of them in the band; "
        f"{run} is large enough"
    )


def _place(claim: Claim, ours: Estimate) -> str:
    if math.isnan(claim.low) or not math.isfinite(ours.mean):
        return "as in the paper" if math.isnan(ours.mean) == math.isnan(claim.low) else "unlike the paper"
    inside = claim.low <= ours.mean <= claim.high
    if claim.kind == "proved identity" and inside and claim.threshold is None:
        gap = abs(ours.mean - _ideal(claim))
        return "the identity is met exactly" if gap == 0 else f"the identity is met to {format_number(gap, 1)}"
    return f"{'inside' if inside else 'outside'} the band {format_band(claim)}"


def _ideal(claim: Claim) -> float:
    """Return the value that an identity says: the printed one, 0 for an error, 1 for a cosine, or the band's middle."""
    if claim.paper is not None:
        return claim.paper
    if claim.low == 0.0:
        return 0.0
    return 1.0 if claim.high == 1.0 else (claim.low + claim.high) / 2
