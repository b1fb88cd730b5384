"""Numbers, intervals and times as people read them."""

from __future__ import annotations

import math

from gramian.experiments.expected import Claim
from gramian.experiments.verdict import Estimate


def shown(value: float, digits: int = 4) -> str:
    """A number with so many significant digits.

    >>> shown(0.123456), shown(float("nan")), shown(-1234567.0), shown(60000.0)
    ('0.1235', 'nan', '−1.235e6', '60000')
    """
    text = f"{value:.{digits}g}"
    if value == int(value) and abs(value) < 1e6 if math.isfinite(value) else False:
        text = str(int(value))
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("inf", "∞").replace("-", "−")


def with_interval(estimate: Estimate | None) -> str:
    """Mean ± half the interval, with the decimals that the interval can vouch for.

    >>> with_interval(Estimate(0.92714, 0.0123, (0.92, 0.93))), with_interval(Estimate(0.92714, None, (0.92714,)))
    ('0.927 ± 0.012', '0.9271')
    """
    if estimate is None:
        return "–"
    mean, half = estimate.mean, estimate.half
    if half is None or half == 0:
        return shown(mean)
    decimals = 1 - math.floor(math.log10(half))
    if decimals <= 6 and max(abs(mean), half) < 1e6:
        decimals = max(decimals, 0)
        return f"{mean:.{decimals}f} ± {half:.{decimals}f}".replace("-", "−")
    return f"{shown(mean)} ± {shown(half, 2)}"


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


def duration(seconds: float) -> str:
    """A time span in the unit that suits it.

    >>> duration(4.24), duration(95), duration(7300)
    ('4.2 s', '95 s', '2 h 2 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
