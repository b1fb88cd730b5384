"""Claims and estimates as text."""

from __future__ import annotations

import math

from gramian.display import MISSING, format_number, format_plus_minus
from gramian.experiments.claims import Claim
from gramian.experiments.estimates import Estimate

NAN = "nan"
"""A training that diverged, as the papers print it; it is a result, unlike a missing number."""


def format_estimate(estimate: Estimate | None) -> str:
    """Format mean ± half the interval, with the decimals that the interval supports.

    >>> format_estimate(Estimate(0.92714, 0.0123, (0.92, 0.93))), format_estimate(Estimate(0.92714, None, (0.92714,)))
    ('0.927 ± 0.012', '0.9271')
    """
    if estimate is None:
        return MISSING
    return NAN if math.isnan(estimate.mean) else format_plus_minus(estimate.mean, estimate.half)


def format_paper_value(claim: Claim) -> str:
    """Format the printed value, or the band of a claim that is not a number.

    >>> from gramian.experiments import Null, at_least, number
    >>> format_paper_value(number("rho", 0.93, 0.02, "one seed", null=Null(0.5, "no training")))
    '0.93'
    >>> format_paper_value(at_least("x", 0.9, "a law", null=Null(0.5, "no training")))
    '≥ 0.9'
    """
    if claim.paper is None:
        return MISSING if claim.missing else format_band(claim)
    return NAN if math.isnan(claim.paper) else format_number(claim.paper)


def format_band(claim: Claim) -> str:
    """Format the band in which a number counts as reproduced.

    >>> from gramian.experiments import Null, between
    >>> format_band(between("x", 0.9, 1.0, "a law", null=Null(0.5, "no training")))
    '0.9 … 1'
    """
    if math.isnan(claim.low):
        return NAN
    if claim.low == claim.high:
        return format_number(claim.low)
    if math.isinf(claim.high):
        return f"≥ {format_number(claim.low)}" if math.isfinite(claim.low) else "any number"
    return (
        f"≤ {format_number(claim.high)}"
        if math.isinf(claim.low)
        else f"{format_number(claim.low)} … {format_number(claim.high)}"
    )
