"""Claims and estimates as people read them."""

from __future__ import annotations

import math

from gramian.experiments.expected import Claim
from gramian.experiments.verdict import Estimate
from gramian.report.web.numbers import plus_minus, shown


def with_interval(estimate: Estimate | None) -> str:
    """Mean ± half the interval, with the decimals that the interval can vouch for.

    >>> with_interval(Estimate(0.92714, 0.0123, (0.92, 0.93))), with_interval(Estimate(0.92714, None, (0.92714,)))
    ('0.927 ± 0.012', '0.9271')
    """
    if estimate is None:
        return "–"
    return plus_minus(estimate.mean, estimate.half)


def of_the_paper(claim: Claim) -> str:
    """The printed value, or what the claim demands where it is no number.

    >>> from gramian.experiments import between, number
    >>> of_the_paper(number("rho", 0.93, 0.02, "one seed")), of_the_paper(between("x", 0.9, math.inf, "a law"))
    ('0.93', '≥ 0.9')
    """
    return shown(claim.paper) if claim.paper is not None else "–" if claim.missing else wanted(claim)


def wanted(claim: Claim) -> str:
    """The region in which a number counts as reproduced.

    >>> from gramian.experiments import between
    >>> wanted(between("x", 0.9, 1.0, "a law"))
    '0.9 … 1'
    """
    if math.isnan(claim.low) or claim.low == claim.high:
        return shown(claim.low)
    if math.isinf(claim.high):
        return f"≥ {shown(claim.low)}" if math.isfinite(claim.low) else "any number"
    return f"≤ {shown(claim.high)}" if math.isinf(claim.low) else f"{shown(claim.low)} … {shown(claim.high)}"
