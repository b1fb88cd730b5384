"""Cases of a fit: an ugly table in some container, a target, weights. A case is small and prints as what makes it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fuzz.choices import strategy
from fuzz.columns import READABLE, REFUSED, make

try:
    import polars
except ImportError:  # pragma: no cover
    polars = None
try:
    import pyarrow as pa
except ImportError:  # pragma: no cover
    pa = None

CONTAINERS = ["pandas", "pandas", "pandas", "odd index", "object array", "rows", "float array"]
CONTAINERS += ["polars"] * (polars is not None) + ["arrow"] * (pa is not None)
NO_TABLES = [
    "dict",
    "list of dicts",
    "structured",
    "series",
    "no columns",
    "ragged",
    "three dimensions",
    "None",
]
NAMES = {
    "plain": lambda k: f"c{k}",
    "unicode": lambda k: f"größe {k} <b>",
    "numbers": lambda k: k,
    "clash": lambda k: "c" + "__missing" * k,
    "tuples": lambda k: ("a", k),
    "mixed": lambda k: k if k % 2 else f"c{k}",
    "equal": lambda k: "same",
    "empty": lambda k: " " * k,
}
TARGETS = [
    "number",
    "integer",
    "skewed",
    "huge",
    "tiny",
    "constant",
    "two",
    "text number",
    "classes",
    "truth",
    "labels",
]
TARGETS += ["many classes", "rare class", "object labels", "categorical"]
BAD_TARGETS = ["gap", "infinity", "one class", "short", "dates", "dicts", "words for numbers", "None"]
WEIGHTS = ["none", "none", "none", "ones", "one number", "whole", "parts"]
BAD_WEIGHTS = ["text", "negative", "gap", "short", "two columns", "all zero"]


@dataclass(frozen=True)
class TableCase:
    """Everything that makes a table, a target and weights."""

    seed: int
    rows: int
    columns: tuple[tuple[str, float], ...]
    container: str = "pandas"
    names: str = "plain"
    target: str = "number"
    weights: str = "none"
    twin_rows: bool = False
    twin_column: bool = False

    @property
    def classifies(self):
        return TARGETS.index(self.target) >= 8 if self.target in TARGETS else self.target == "one class"

    @property
    def must_refuse(self):
        """The reason why no fit may accept it, or None."""
        ugly = [kind for kind, _ in self.columns if kind in REFUSED]
        reasons = [f"column of {kind}" for kind in ugly]
        reasons += [f"X: {self.container}"] * (self.container in NO_TABLES)
        reasons += [f"y: {self.target}"] * (self.target in BAD_TARGETS)
        reasons += [f"weights: {self.weights}"] * (self.weights in BAD_WEIGHTS)
        reasons += ["equal names"] * (self.names == "equal" and len(self.columns) > 1 and self.container == "pandas")
        return reasons[0] if reasons else None


def table_case(choose):
    """Make a case from choices: mostly a table that can be read; in about a quarter of cases one thing that cannot."""
    columns = [
        (choose.one(sorted(READABLE)), choose.one([0.0, 0.0, 0.0, 0.2, 0.95])) for _ in range(choose.whole(1, 5))
    ]
    case = {
        "seed": choose.whole(0, 2**32 - 1),
        "rows": choose.whole(20, 80),
        "container": choose.one(CONTAINERS),
        "names": choose.one(["plain"] * 4 + [name for name in NAMES if name != "equal"]),
        "target": choose.one(TARGETS),
        "weights": choose.one(WEIGHTS),
        "twin_rows": choose.one([False, False, False, True]),
        "twin_column": choose.one([False, False, False, True]),
    }
    trouble = choose.one([None] * 12 + ["column", "container", "target", "weights", "names"])
    if trouble == "column":
        columns.append((choose.one(sorted(REFUSED)), 0.0))
    elif trouble == "container":
        case["container"] = choose.one(NO_TABLES)
    elif trouble == "target":
        case["target"] = choose.one(BAD_TARGETS)
    elif trouble == "weights":
        case["weights"] = choose.one(BAD_WEIGHTS)
    elif trouble == "names":
        case["names"] = "equal"
    return TableCase(columns=tuple(columns), **case)


table_cases = strategy(table_case)
"""The hypothesis strategy of tables."""


@dataclass(frozen=True)
class MadeTable:
    """The arguments of a fit; ``frame`` is the table before it went into its container.

    ``present`` are the numbers of the rows of positive weight: a row of weight 0 may hold a value of a kind that no
    other row has, and a model says so when it is asked for a prediction.
    """

    frame: pd.DataFrame
    X: object
    y: object
    weights: object
    container: str
    present: np.ndarray


def build(case):
    """Return the table, target and weights of a case."""
    rng = np.random.default_rng(case.seed)
    n = case.rows
    parts = [make(kind, rng, n, gaps) for kind, gaps in case.columns]
    if case.twin_column:
        parts.append(parts[0].copy())
    frame = pd.concat(parts, axis=1, ignore_index=True)
    frame.columns = pd.Index([NAMES[case.names](k) for k in range(len(parts))], tupleize_cols=False)
    y, weights = _target(case.target, rng, n, frame), _weights(case.weights, rng, n)
    if case.weights == "whole" and case.must_refuse is not None:
        weights = np.maximum(weights, 1.0)  # a row of weight 0 is absent: what must be refused has to be present
    if case.twin_rows and case.target not in BAD_TARGETS and case.weights not in BAD_WEIGHTS:
        twice = np.r_[np.arange(n), rng.integers(0, n, n // 3)]
        frame = frame.iloc[twice].reset_index(drop=True)
        y = y.iloc[twice].reset_index(drop=True) if hasattr(y, "iloc") else np.asarray(y)[twice]
        weights = weights[twice] if isinstance(weights, np.ndarray) else weights
    container = case.container
    try:
        X = contained(frame, container, rng)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the container cannot hold such a column, polars by an error that is no Exception
        X, container = frame, "pandas"
    counts = isinstance(weights, np.ndarray) and weights.shape == (len(frame),)
    present = np.flatnonzero(weights) if counts else np.arange(len(frame))
    return MadeTable(frame, X, y, weights, container, present)


def contained(frame, container, rng=None):
    """Put a frame into a container."""
    if container == "odd index":
        return frame.set_axis(np.zeros(len(frame)), axis=0)
    if container == "object array":
        return frame.astype(object).to_numpy(dtype=object)
    if container == "rows":
        return [list(row) for row in frame.astype(object).itertuples(index=False, name=None)]
    if container == "float array":
        return frame.to_numpy(dtype=np.float64)
    if container == "polars":
        return polars.DataFrame({str(name): frame.iloc[:, j].tolist() for j, name in enumerate(frame.columns)})
    if container == "arrow":
        return pa.Table.from_pandas(frame.rename(columns=str))
    made = {
        "dict": lambda: {str(name): frame.iloc[:, j].tolist() for j, name in enumerate(frame.columns)},
        "list of dicts": lambda: frame.rename(columns=str).to_dict("records"),
        "structured": lambda: np.zeros(len(frame), dtype=[("a", float), ("b", "U3")]),
        "series": lambda: pd.Series(np.arange(len(frame)) * 1.0),
        "no columns": lambda: frame.iloc[:, :0],
        "ragged": lambda: [[1.0] * (1 + k % 2) for k in range(len(frame))],
        "three dimensions": lambda: np.zeros((len(frame), 2, 2)),
        "None": lambda: None,
    }
    return made[container]() if container in made else frame


def _target(kind, rng, n, frame):
    base = rng.normal(size=n)
    first = frame.iloc[:, 0]
    if first.dtype == np.float64 and np.isfinite(first).all() and 0 < np.ptp(first.to_numpy()) < 1e100:
        base = base * 0.1 + (first.to_numpy() - first.mean()) / first.std()
    bins = np.digitize(base, np.quantile(base, [1 / 3, 2 / 3]))
    return {
        "number": lambda: base,
        "integer": lambda: np.rint(base * 10).astype(int),
        "skewed": lambda: np.exp(3 * base),
        "huge": lambda: 1e200 * base,
        "tiny": lambda: 1e-200 * base,
        "constant": lambda: np.full(n, 2.5),
        "two": lambda: np.column_stack([base, -base]),
        "text number": lambda: pd.Series([f"{value:.3f}" for value in base]),
        "classes": lambda: bins,
        "truth": lambda: base > np.median(base),
        "labels": lambda: np.array(["no", "=1+1", "größe"])[bins],
        "many classes": lambda: np.arange(n) // 2,
        "rare class": lambda: np.where(np.arange(n) == n // 2, "rare", "common"),
        "object labels": lambda: np.array(["b", "a", "c"], dtype=object)[bins],
        "categorical": lambda: pd.Series(pd.Categorical(np.array(["x", "y", "z"])[bins])),
        "gap": lambda: np.where(np.arange(n) == 3, np.nan, base),
        "infinity": lambda: np.where(np.arange(n) == 3, np.inf, base),
        "one class": lambda: np.zeros(n, dtype=int),
        "short": lambda: base[:-1],
        "dates": lambda: np.datetime64("2020-01-01") + np.arange(n),
        "dicts": lambda: [{"a": 1}] * n,
        "words for numbers": lambda: ["a", "b"] * (n // 2) + ["c"] * (n % 2),
        "None": lambda: None,
    }[kind]()


def _weights(kind, rng, n):
    return {
        "none": lambda: None,
        "ones": lambda: np.ones(n),
        "one number": lambda: 2.0,
        "whole": lambda: np.r_[1.0, 2.0, 0.0, rng.integers(0, 4, n - 3)],
        "parts": lambda: rng.uniform(0.1, 2.0, n),
        "text": lambda: ["a"] * n,
        "negative": lambda: np.r_[-1.0, np.ones(n - 1)],
        "gap": lambda: np.r_[np.nan, np.ones(n - 1)],
        "short": lambda: np.ones(n - 1),
        "two columns": lambda: np.ones((n, 2)),
        "all zero": lambda: np.zeros(n),
    }[kind]()
