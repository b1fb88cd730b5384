"""The number format of the library: significant digits, separated thousands, a dash for NaN."""

from __future__ import annotations

import math
import re

import numpy as np

Number = float | np.floating | np.integer
MISSING = "–"
"""The text of a number that does not exist: NaN, or a value that was not measured."""
_LARGE = 1e12
"""Numbers from here on are written with a power of ten."""
_MOST_DECIMALS = 6
"""Largest number of decimals of an interval; a narrower one is written with significant digits."""
_ROUND_OFF = 1e-9
"""Scores below this are written as 0."""
_SIZED = 100
"""Scores from here on are written with four significant digits, not with three decimals."""
_SEPARATED_VALUE = 10_000
"""Separators are used in whole numbers of the user's own table from here on; see :func:`format_value`."""


def format_number(value: Number, digits: int = 4) -> str:
    """Format a number with ``digits`` significant digits and all digits before the decimal point.

    Thousands are separated by commas, powers of ten are used below 1e-4 and from 1e12 on, and NaN is a dash. Integers
    are written in full.

    >>> format_number(0.43217), format_number(5432.1), format_number(-392_900.4), format_number(123_456_789)
    ('0.4322', '5,432', '-392,900', '123,456,789')
    >>> format_number(2.5e-7), format_number(3e12), format_number(float("nan")), format_number(float("-inf"))
    ('2.5e-7', '3e12', '–', '-∞')
    """
    return _formatted(value, digits, "")


def format_signed(value: Number, digits: int = 4) -> str:
    """Format a number as :func:`format_number` does, with its sign.

    >>> format_signed(5432.1), format_signed(-0.5), format_signed(float("nan"))
    ('+5,432', '-0.5', '–')
    """
    return _formatted(value, digits, "+")


def format_fixed(value: Number, decimals: int = 3) -> str:
    """Format a number with a fixed number of decimals, for columns whose numbers are compared with each other.

    >>> format_fixed(0.98765), format_fixed(1234.5, 1), format_fixed(float("nan"))
    ('0.988', '1,234.5', '–')
    """
    return MISSING if math.isnan(value) else f"{value:,.{decimals}f}".replace("inf", "∞")


def format_score(value: Number) -> str:
    """Format a score with three decimals; numbers from 100 on or below 0.001 with four significant digits.

    >>> format_score(0.8), format_score(-0.0066), format_score(54.96), format_score(96975.31), format_score(0.0004)
    ('0.800', '-0.007', '54.960', '96,975', '0.0004')
    """
    if math.isnan(value):
        return MISSING
    size = abs(float(value))
    if size < _ROUND_OFF:
        return format_fixed(0.0)
    return format_fixed(value) if 1e-3 <= size < _SIZED else format_number(value)


def format_percent(share: Number, decimals: int = 1) -> str:
    """Format a share as a percentage.

    >>> format_percent(0.1234), format_percent(float("nan"))
    ('12.3%', '–')
    """
    return MISSING if math.isnan(share) else f"{share:.{decimals}%}"


def format_plus_minus(mean: float, half: float | None) -> str:
    """Format mean ± half the interval, with the decimals that the length of the interval supports.

    >>> format_plus_minus(0.92714, 0.0123), format_plus_minus(0.92714, None), format_plus_minus(54321.9, 123.0)
    ('0.927 ± 0.012', '0.9271', '54,322 ± 123')
    """
    if half is None or half == 0:
        return format_number(mean)
    decimals = _supported_decimals(half, max(abs(mean), half))
    if decimals is None:
        return f"{format_number(mean)} ± {format_number(half, 2)}"
    return f"{mean:,.{decimals}f} ± {half:,.{decimals}f}"


def format_interval(low: float, high: float) -> str:
    """Format the ends of an interval, with the decimals that its length supports.

    >>> format_interval(0.91234, 0.93567), format_interval(0.5, 0.5), format_interval(-123456.0, 234567.0)
    ('0.912 … 0.936', '0.5', '-123,456 … 234,567')
    """
    if math.isnan(low) or math.isnan(high):
        return MISSING
    if low == high:
        return format_number(low)
    decimals = _supported_decimals(abs(high - low), max(abs(low), abs(high)))
    if decimals is None:
        return f"{format_number(low)} … {format_number(high)}"
    return f"{low:,.{decimals}f} … {high:,.{decimals}f}"


def format_duration(seconds: float) -> str:
    """Format a time span in a suitable unit.

    >>> format_duration(4.24), format_duration(95), format_duration(7300)
    ('4.2 s', '95 s', '2 h 2 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def format_value(value: object) -> str:
    """Format a value of the user's own table: numbers, text, booleans or dates; None is an entry that is missing.

    Whole numbers below 10,000 get no separator, because they are years or codes as often as quantities.

    >>> import numpy as np
    >>> format_value(2003.0), format_value(392_900.4), format_value("Ulm"), format_value(np.datetime64("2024-05-01"))
    ('2003', '392,900', 'Ulm', '2024-05-01')
    """
    if value is None:
        return "missing"
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="auto"))  # without the time of day where that is midnight
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return str(value)
    small = -_SEPARATED_VALUE < value < _SEPARATED_VALUE
    return f"{int(value)}" if small and value == int(value) else format_number(value)


def more_columns(count: int) -> str:
    """Name the columns that a table leaves out.

    >>> more_columns(1), more_columns(2500)
    ('1 more column', '2,500 more columns')
    """
    return f"{count:,} more column" + ("s" if count != 1 else "")


def typographic_minus(text: str) -> str:
    """Replace the hyphens that are minus signs in a formatted number, for pages.

    Text and terminal keep the hyphen, which every encoding has and every program reads.

    >>> typographic_minus("-1.5e-7"), typographic_minus("2024-05-01"), typographic_minus("a-1")
    ('−1.5e−7', '2024-05-01', 'a-1')
    """
    return re.sub(r"(?<![\w.])-(?=[\d.∞])|(?<=\de)-(?=\d)", "−", text)


def _formatted(value: Number, digits: int, sign: str) -> str:
    if isinstance(value, int | np.integer):
        return f"{value:{sign},}"
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return f"{value:{sign}f}".replace("inf", "∞")
    full = 10**digits - 0.5 <= abs(float(value)) < _LARGE
    text = f"{value:{sign},.0f}" if full else f"{value:{sign},.{digits}g}"
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def _supported_decimals(length: float, largest: float) -> int | None:
    """Return the decimals of two significant digits of an interval's length; None if they are too many or too few."""
    if not math.isfinite(length) or largest >= _LARGE:
        return None
    decimals = 1 - math.floor(math.log10(length))
    return None if decimals > _MOST_DECIMALS else max(decimals, 0)
