"""Coverage of intervals and prediction sets on small tables: 40 data sets of 60 to 400 rows, nominal 90 %.

python benchmarks/interval_coverage.py            # runs, and writes benchmarks/results/interval_coverage.json
python benchmarks/interval_coverage.py --show     # prints the tables of the last run

Half of the sets are regressions and half classifications; the real ones are rows of larger public tables, found through
GRAMIAN_DATA. A data set has a number of training rows, which are drawn a few times, and at most 1,500 other rows on
which coverage is measured. The coverage of a set is the mean over its draws: with 60 training rows the coverage of one
draw of an exact conformal interval has itself a standard deviation of 4 points.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian import RFMClassifier, RFMRegressor
from gramian.bench.tasks import take
from gramian.datasets import Dataset, grinsztajn, uci

RESULTS = Path(__file__).parent / "results" / "interval_coverage.json"
COVERAGE, DRAWS, NEW = 0.9, 5, 1500
SIZES = (60, 80, 100, 120, 160, 200, 250, 300, 350, 400)
Array = NDArray[Any]
Maker = Callable[[np.random.Generator, int], tuple[Array, Array]]

REAL_REGRESSIONS = (
    "wine_quality", "cpu_act", "sulfur", "Brazilian_houses", "Ailerons", "MiamiHousing2016", "pol", "elevators",
    "Bike_Sharing_Demand", "california", "house_sales", "diamonds",
)  # fmt: skip
REAL_CLASSES = (
    ("uci", "abalone"), ("uci", "contrac"), ("uci", "magic"), ("uci", "page-blocks"), ("uci", "pendigits"),
    ("uci", "ringnorm"), ("uci", "spambase"), ("uci", "statlog-image"), ("uci", "titanic"), ("clf_num", "heloc"),
    ("clf_num", "eye_movements"), ("clf_num_60pct", "electricity"),
)  # fmt: skip


def linear(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.normal(size=(n, 5))
    return X, X @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=n)


def friedman(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.random(size=(n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=n)


def uneven_noise(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + np.exp(X[:, 1]) * rng.normal(size=n)


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.normal(size=(n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + rng.standard_t(2, size=n)


def product(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.normal(size=(n, 20))
    return X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n)


def skewed(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.normal(size=(n, 4))
    return X, np.exp(X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n))


def noise(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    return rng.normal(size=(n, 8)), rng.normal(size=n)


def steps(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    X = rng.random(size=(n, 4))
    return X, np.floor(4 * X[:, 0]) + (X[:, 1] > 0.5) + 0.2 * rng.normal(size=n)


MADE: tuple[Maker, ...] = (linear, friedman, uneven_noise, heavy_tails, product, skewed, noise, steps)


def labels_of(make: Maker, number: int) -> Maker:
    """Return a classification of a made regression: y cut into two to four classes at its quantiles."""

    def made(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        X, y = make(rng, n)
        return X, np.digitize(y, np.quantile(y, np.arange(1, number) / number))

    return made


def sources() -> list[tuple[str, str, Callable[[np.random.Generator, int], tuple[Any, Array, Any, Array]]]]:
    """Return kind, name and a function from a generator and n to training rows, targets, new rows and targets."""

    def of_table(data: Dataset) -> Callable[[np.random.Generator, int], tuple[Any, Array, Any, Array]]:
        def draw(rng: np.random.Generator, n: int) -> tuple[Any, Array, Any, Array]:
            order = rng.permutation(len(data.y))
            old, new = order[:n], order[n : n + NEW]
            known = np.isin(data.y[new], data.y[old]) if data.y.dtype.kind != "f" else np.ones(len(new), dtype=bool)
            return take(data.X, old), data.y[old], take(data.X, new[known]), data.y[new[known]]

        return draw

    def of_maker(make: Maker) -> Callable[[np.random.Generator, int], tuple[Any, Array, Any, Array]]:
        def draw(rng: np.random.Generator, n: int) -> tuple[Any, Array, Any, Array]:
            X, y = make(rng, n + NEW)
            return X[:n], y[:n], X[n:], y[n:]

        return draw

    found = [("regression", name, of_table(grinsztajn(name, "reg_num"))) for name in REAL_REGRESSIONS]
    found += [("regression", make.__name__, of_maker(make)) for make in MADE]
    for folder, name in REAL_CLASSES:
        data = uci(name) if folder == "uci" else grinsztajn(name, folder)
        found.append(("classification", name, of_table(data)))
    for i, make in enumerate(MADE):
        found.append(("classification", f"{make.__name__} in {2 + i % 3}", of_maker(labels_of(make, 2 + i % 3))))
    return found


def measure(kind: str, rows: tuple[Any, Array, Any, Array]) -> tuple[float, float]:
    """Fit the default; return the share of new rows covered, and the mean size of intervals or sets.

    The size of an interval is in standard deviations of the training targets, that of a set in classes.
    """
    X, y, new, truth = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "regression":
            low, high = RFMRegressor().fit(X, y).predict_interval(new, COVERAGE).T
            return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low) / y.std())
        model = RFMClassifier().fit(X, y)
        sets = model.predict_set(new, COVERAGE)
        at = np.searchsorted(model.classes_, truth)
        return float(sets[np.arange(len(truth)), at].mean()), float(sets.sum(axis=1).mean())


def run() -> list[dict[str, Any]]:
    found = []
    for number, (kind, name, draw) in enumerate(sources()):
        n = SIZES[number % len(SIZES)]
        begin = time.perf_counter()
        each = [measure(kind, draw(np.random.default_rng([number, i]), n)) for i in range(DRAWS)]
        shares = [share for share, _ in each]
        found.append(
            {
                "kind": kind,
                "name": name,
                "rows": n,
                "coverage": float(np.mean(shares)),
                "draws": shares,
                "size": float(np.mean([size for _, size in each])),
                "seconds": time.perf_counter() - begin,
            }
        )
        last = found[-1]
        sys.stderr.write(f"{name:24} {n:4} {last['coverage']:.1%} {last['seconds']:6.1f} s\n")
    return found


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the table of both kinds: mean coverage over sets, smallest and largest of a set, largest gap."""
    sizes, draws = [row["rows"] for row in rows], {len(row["draws"]) for row in rows}
    span = f"{min(sizes)} to {max(sizes)} training rows, drawn {min(draws)} times"
    lines = [
        f"Nominal {100 * COVERAGE:.0f} %; each table has {span}, and its coverage is the mean over the draws.",
        "",
    ]
    lines += ["| | sets | mean | smallest | largest | largest gap | rows of it |", "|---|---|---|---|---|---|---|"]
    for kind, what in (("regression", "intervals"), ("classification", "prediction sets")):
        own = [row for row in rows if row["kind"] == kind]
        shares = [row["coverage"] for row in own]
        worst = max(own, key=lambda row: abs(row["coverage"] - COVERAGE))
        lines.append(
            f"| {what} | {len(own)} | {np.mean(shares):.1%} | {min(shares):.1%} | {max(shares):.1%} | "
            f"{100 * abs(worst['coverage'] - COVERAGE):.1f} points | {worst['rows']} |"
        )
    return "\n".join(lines)


def details(rows: list[dict[str, Any]]) -> str:
    """Return one line per data set."""
    lines = ["| data set | kind | rows | coverage | draws | size |", "|---|---|---|---|---|---|"]
    for row in rows:
        draws = ", ".join(f"{share:.1%}" for share in row["draws"])
        lines.append(
            f"| {row['name']} | {row['kind']} | {row['rows']} | {row['coverage']:.1%} | {draws} | {row['size']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    if "--show" not in sys.argv:
        RESULTS.write_text(json.dumps(run(), indent=1) + "\n", encoding="utf-8")
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    sys.stdout.write(summary(rows) + "\n\n" + details(rows) + "\n")


if __name__ == "__main__":
    main()
