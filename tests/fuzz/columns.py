"""Makers of ugly columns: each takes a generator and a number of rows, and returns a pandas series."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd

try:
    import pyarrow as pa
except ImportError:  # pragma: no cover
    pa = None

EAST = dt.timezone(dt.timedelta(hours=5))
LEVELS = ["red", "blue", "größe", "東京", "a, b", "=1+1", "<b>", "None", "NA", "1", "x y", " pad "]


def objects(values):
    return pd.Series(np.fromiter(values, dtype=object, count=len(values)), dtype=object)


def normal(rng, n):
    return rng.normal(size=n)


def days(rng, n):
    return np.datetime64("2020-01-01", "D") + rng.integers(0, 900, n).astype("m8[D]")


def instants(rng, n):
    return [dt.datetime(2020, 1, 1, tzinfo=EAST) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 9000, n)]


def some(rng, values, special):
    """Put a special value into one row or more."""
    values = list(values)
    for at in rng.integers(0, len(values), 1 + len(values) // 20):
        values[at] = special
    return objects(values)


def levels(rng, n):
    return rng.choice(LEVELS[: int(rng.integers(2, len(LEVELS) + 1))], n)


NUMBERS = {
    "float": lambda rng, n: pd.Series(normal(rng, n)),
    "float32": lambda rng, n: pd.Series(normal(rng, n).astype(np.float32)),
    "float16": lambda rng, n: pd.Series(normal(rng, n).astype(np.float16)),
    "integer": lambda rng, n: pd.Series(rng.integers(-5, 5, n)),
    "int8": lambda rng, n: pd.Series(rng.integers(-128, 128, n).astype(np.int8)),
    "uint64": lambda rng, n: pd.Series(rng.integers(0, 2**63, n).astype(np.uint64) * 2),
    "boolean": lambda rng, n: pd.Series(rng.random(n) < 0.4),
    "huge": lambda rng, n: pd.Series(1e300 * normal(rng, n)),
    "largest": lambda rng, n: pd.Series(rng.choice([1.7e308, -1.7e308, 1.0], n)),
    "tiny": lambda rng, n: pd.Series(1e-300 * normal(rng, n)),
    "subnormal": lambda rng, n: pd.Series(5e-324 * rng.integers(0, 9, n)),
    "far": lambda rng, n: pd.Series(1e12 + normal(rng, n)),
    "heavy tail": lambda rng, n: pd.Series(rng.standard_cauchy(n)),
    "constant": lambda rng, n: pd.Series(np.full(n, 3.5)),
    "nullable": lambda rng, n: pd.Series(rng.integers(0, 9, n), dtype="Int64").mask(rng.random(n) < 0.2),
    "nullable float": lambda rng, n: pd.Series(normal(rng, n), dtype="Float64"),
    "nullable boolean": lambda rng, n: pd.Series(rng.random(n) < 0.5, dtype="boolean").mask(rng.random(n) < 0.2),
    "sparse": lambda rng, n: pd.Series(pd.arrays.SparseArray((rng.random(n) < 0.3) * 1.0)),
    "decimal": lambda rng, n: objects([Decimal(int(k)) / 7 for k in rng.integers(-50, 50, n)]),
    "signalling decimal": lambda rng, n: some(rng, map(Decimal, rng.integers(0, 50, n).tolist()), Decimal("sNaN")),
    "fraction": lambda rng, n: objects([Fraction(int(k), 7) for k in rng.integers(-50, 50, n)]),
    "objects": lambda rng, n: objects(rng.integers(0, 50, n).tolist()),
    "objects with NA": lambda rng, n: some(rng, rng.integers(0, 50, n).tolist(), pd.NA),
    "number as text": lambda rng, n: pd.Series([f"{x:.3f}" for x in normal(rng, n)]),
    "integer as text": lambda rng, n: pd.Series(rng.integers(0, 99, n).astype(str)),
}
DATES = {
    "days": lambda rng, n: pd.Series(days(rng, n).astype("M8[ns]")),
    "seconds": lambda rng, n: pd.Series(days(rng, n).astype("M8[s]")),
    "zone": lambda rng, n: pd.Series(pd.to_datetime(days(rng, n)).tz_localize("Europe/Berlin")),
    "datetimes": lambda rng, n: objects(instants(rng, n)),
    "date objects": lambda rng, n: objects([when.date() for when in instants(rng, n)]),
    "year one": lambda rng, n: some(rng, instants(rng, n), dt.datetime(1, 1, 1)),
    "year one in the east": lambda rng, n: some(rng, instants(rng, n), dt.datetime(1, 1, 1, tzinfo=EAST)),
    "year 9999": lambda rng, n: some(rng, [w.replace(tzinfo=None) for w in instants(rng, n)], dt.datetime.max),
    "far future": lambda rng, n: pd.Series((rng.integers(0, 2, n) * 2**62).astype("M8[s]")),
    "date as text": lambda rng, n: pd.Series(days(rng, n).astype(str)),
    "instant as text": lambda rng, n: pd.Series([when.isoformat() for when in instants(rng, n)]),
    "year one as text": lambda rng, n: some(rng, [w.isoformat() for w in instants(rng, n)], "0001-01-01T00:00+05:00"),
    "date as words": lambda rng, n: pd.Series([when.strftime("%d.%m.%Y") for when in instants(rng, n)]),
    "durations": lambda rng, n: pd.Series(rng.integers(0, 9**9, n).astype("m8[s]")),
    "longest durations": lambda rng, n: some(rng, [dt.timedelta(int(k)) for k in range(n)], dt.timedelta.max),
    "times": lambda rng, n: objects([when.time() for when in instants(rng, n)]),
    "periods": lambda rng, n: pd.Series(pd.PeriodIndex(pd.to_datetime(days(rng, n)), freq="M")),
}
WORDS = ["old", "new", "broken", "chair", "table", "größe", "東京", "Mr.", "a\ud83e", "=1+1", "it's", "of"]


def written(values, form):
    """Return numbers or dates as text of a form."""
    return objects([form(value) for value in values])


def euros(value):
    return f"{value:,.2f} €".translate(str.maketrans(",.", ".,"))


def accounting(value):
    return f"({-value:,.0f})" if value < 0 else f"{value:,.0f}"


WRITTEN = {
    "money": lambda rng, n: written(1000 * normal(rng, n), lambda x: f"-${-x:,.2f}" if x < 0 else f"${x:,.2f}"),
    "euros": lambda rng, n: written(1000 * np.abs(normal(rng, n)), euros),
    "millions": lambda rng, n: written(rng.integers(1, 900, n), lambda k: f"€{k}K" if k % 2 else f"€{k / 100:.2f}M"),
    "accounting": lambda rng, n: written(5000 * normal(rng, n), accounting),
    "percent": lambda rng, n: written(rng.uniform(0, 100, n), lambda x: f"{x:.1f} %"),
    "unit": lambda rng, n: written(rng.integers(1, 99, n), lambda k: f"{k} kg"),
    "two units": lambda rng, n: written(rng.integers(1, 99, n), lambda k: f"{k} kg" if k % 2 else f"{k} lb"),
    "decimal comma": lambda rng, n: written(normal(rng, n), lambda x: f"{x:.2f}".replace(".", ",")),
    "bounds": lambda rng, n: written(rng.integers(0, 12, n), lambda k: "<1" if k < 1 else ">9" if k > 9 else str(k)),
    "ranges": lambda rng, n: written(rng.integers(0, 9, n), lambda k: "80plus" if k > 7 else f"{10 * k}-{10 * k + 9}"),
    "never": lambda rng, n: written(rng.integers(0, 9, n), lambda k: ("never", "?", ">6")[k - 6] if k > 5 else str(k)),
    "day first": lambda rng, n: written(instants(rng, n), lambda when: f"{when:%d/%m/%Y}"),
    "month first": lambda rng, n: written(instants(rng, n), lambda when: f"{when:%m/%d/%y %I:%M %p}"),
    "either first": lambda rng, n: written(rng.integers(1, 13, (n, 2)), lambda two: f"{two[0]}.{two[1]}.2021"),
    "both first": lambda rng, n: some(rng, [f"{when:%d/%m/%Y}" for when in instants(rng, n)], "12/31/2020"),
    "month in words": lambda rng, n: written(instants(rng, n), lambda when: f"{when:%b} {when.day}, {when.year}"),
    "NA": lambda rng, n: some(rng, [f"{x:.3f}" for x in normal(rng, n)], "NA"),
    "only NA": lambda rng, n: objects(rng.choice(["NA", "null", "", "None"], n).tolist()),
    "free text": lambda rng, n: written(rng.choice(WORDS, (n, 4)), " ".join),
    "hexadecimal": lambda rng, n: written(rng.integers(0, 2**60, n), lambda k: f"{k:015x}"),
    "whole identifier": lambda rng, n: pd.Series(rng.permutation(10 * n)[:n]),
}
TEXTS = {
    "text": lambda rng, n: pd.Series(levels(rng, n)),
    "text as string": lambda rng, n: pd.Series(levels(rng, n), dtype="string"),
    "many levels": lambda rng, n: pd.Series([f"level {k}" for k in rng.integers(0, max(n // 2, 2), n)]),
    "identifier": lambda rng, n: pd.Series([f"id {k}" for k in rng.permutation(n)]),
    "blanks": lambda rng, n: pd.Series(rng.choice(["", "  ", "nan", "NaN", "x", "y"], n)),
    "long": lambda rng, n: pd.Series(rng.choice(["x" * 5000, "y" * 4000, "z"], n)),
    "truth as text": lambda rng, n: pd.Series(rng.choice(["True", "False", "true"], n)),
    "numbers and words": lambda rng, n: some(rng, [f"{x:.2f}" for x in normal(rng, n)], "unknown"),
    "mixed objects": lambda rng, n: objects([k if k % 2 else f"t{k}" for k in rng.integers(0, 9, n).tolist()]),
    "bytes": lambda rng, n: objects(rng.choice([b"a", b"b", b"c"], n).tolist()),
    "half letters": lambda rng, n: objects(rng.choice(["a\ud83e", "b", "c"], n).tolist()),
    "functions": lambda rng, n: objects([len if k else sum for k in rng.integers(0, 2, n)]),
    "category": lambda rng, n: pd.Series(pd.Categorical(levels(rng, n), categories=LEVELS)),
    "ordered": lambda rng, n: pd.Series(pd.Categorical(levels(rng, n), categories=LEVELS, ordered=True)),
    "category of numbers": lambda rng, n: pd.Series(pd.Categorical(rng.integers(0, 4, n))),
    "category of dates": lambda rng, n: pd.Series(pd.Categorical(pd.to_datetime(days(rng, n)).normalize())),
    "intervals": lambda rng, n: pd.Series(pd.cut(normal(rng, n), [-9, -1, 0, 1, 9])),
}
EMPTY = {
    "none at all": lambda rng, n: objects([None] * n),
    "all NaN": lambda rng, n: pd.Series(np.full(n, np.nan)),
    "all NaT": lambda rng, n: pd.Series(np.full(n, np.datetime64("NaT"), dtype="M8[ns]")),
}
REFUSED = {
    "infinity": lambda rng, n: pd.Series(np.where(np.arange(n) == n // 2, np.inf, normal(rng, n))),
    "complex": lambda rng, n: pd.Series(normal(rng, n) * 1j),
    "lists": lambda rng, n: objects([[1, 2]] * n),
    "dicts": lambda rng, n: objects([{"a": 1}] * n),
    "sets": lambda rng, n: objects([{1}] * n),
    "tuples": lambda rng, n: objects([(1, 2)] * n),
    "too large": lambda rng, n: some(rng, range(n), 10**400),
    "digits": lambda rng, n: some(rng, [f"t{k}" for k in range(n)], 10**5000),
    "bytes of no text": lambda rng, n: objects([b"\xff\xfe", b"a"] * (n // 2) + [b"b"] * (n % 2)),
}
"""Columns that no fit may accept."""
ARROW = {}
if pa is not None:

    def arrow(values, kind):
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, type=kind)))

    ARROW = {
        "arrow integer": lambda rng, n: arrow(rng.integers(0, 9, n).tolist(), pa.int32()),
        "arrow with nulls": lambda rng, n: arrow([None if k < 2 else k for k in rng.integers(0, 9, n).tolist()], None),
        "arrow text": lambda rng, n: arrow(levels(rng, n).tolist(), pa.string()),
        "arrow large text": lambda rng, n: arrow(levels(rng, n).tolist(), pa.large_string()),
        "arrow boolean": lambda rng, n: arrow((rng.random(n) < 0.5).tolist(), pa.bool_()),
        "arrow instant": lambda rng, n: arrow(days(rng, n).astype("M8[s]").tolist(), pa.timestamp("s")),
        "arrow zone": lambda rng, n: arrow(instants(rng, n), pa.timestamp("us", "UTC")),
        "arrow date": lambda rng, n: arrow([when.date() for when in instants(rng, n)], pa.date32()),
        "arrow time": lambda rng, n: arrow([when.time() for when in instants(rng, n)], pa.time64("us")),
        "arrow duration": lambda rng, n: arrow(rng.integers(0, 9**6, n).tolist(), pa.duration("s")),
        "arrow decimal": lambda rng, n: arrow([Decimal(int(k)) for k in rng.integers(0, 50, n)], pa.decimal128(20, 2)),
        "arrow dictionary": lambda rng, n: pd.Series(
            pd.arrays.ArrowExtensionArray(pa.array(levels(rng, n).tolist()).dictionary_encode())
        ),
        "arrow null": lambda rng, n: arrow([None] * n, pa.null()),
    }
    REFUSED |= {
        "arrow list": lambda rng, n: arrow([[1, 2]] * n, None),
        "arrow struct": lambda rng, n: arrow([{"a": 1}] * n, None),
    }

READABLE = NUMBERS | DATES | WRITTEN | TEXTS | EMPTY | ARROW
MAKERS = READABLE | REFUSED


def make(kind, rng, n, gaps):
    """Return a column with a share of missing entries, where its type has any."""
    column = MAKERS[kind](rng, n).reset_index(drop=True)
    if gaps:
        try:
            return column.mask(pd.Series(rng.random(n) < gaps))
        except (TypeError, ValueError):
            return column
    return column
