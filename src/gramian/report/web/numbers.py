"""Numbers, intervals and times as people read them."""

from __future__ import annotations

import math

_LARGE = 1e9
"""Below it nobody wants a power of ten for a price or a number of rows."""


def shown(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, and all of those before the point.

    >>> shown(0.123456), shown(float("nan")), shown(-1234567.8), shown(60000.0), shown(2.5e9)
    ('0.1235', 'nan', '−1234568', '60000', '2.5e9')
    """
    text = f"{value:.{digits}g}"
    if abs(value) < _LARGE and (value == int(value) or abs(value) >= 10**digits):
        text = f"{value:.0f}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("inf", "∞").replace("-", "−")


def plus_minus(mean: float, half: float | None) -> str:
    """Mean ± half the interval, with the decimals that the interval can vouch for.

    >>> plus_minus(0.92714, 0.0123), plus_minus(0.92714, None)
    ('0.927 ± 0.012', '0.9271')
    """
    if half is None or half == 0:
        return shown(mean)
    decimals = 1 - math.floor(math.log10(half))
    if decimals <= 6 and max(abs(mean), half) < _LARGE:
        decimals = max(decimals, 0)
        return f"{mean:.{decimals}f} ± {half:.{decimals}f}".replace("-", "−")
    return f"{shown(mean)} ± {shown(half, 2)}"


def span(low: float, high: float) -> str:
    """An interval, its ends with the decimals that its length can vouch for.

    >>> span(0.91234, 0.93567), span(0.5, 0.5), span(-123456.0, 234567.0)
    ('0.912 … 0.936', '0.5', '−123456 … 234567')
    """
    length = high - low
    if not length > 0 or not math.isfinite(length):
        return shown(low) if low == high else f"{shown(low)} … {shown(high)}"
    decimals = 1 - math.floor(math.log10(length))
    if decimals > 6 or max(abs(low), abs(high)) >= _LARGE:
        return f"{shown(low)} … {shown(high)}"
    decimals = max(decimals, 0)
    return f"{low:.{decimals}f} … {high:.{decimals}f}".replace("-", "−")


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
