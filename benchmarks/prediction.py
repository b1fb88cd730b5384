"""Prediction: blocks side by side against all threads on one block, low-rank M, and models on fewer centres.

python benchmarks/prediction.py            # runs, and writes benchmarks/results/prediction.json
python benchmarks/prediction.py --show     # prints the tables of the last run
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gramian import RFMRegressor
from gramian.core import threads
from gramian.core.tiles import ROWS
from gramian.kernels import KernelOperator, Laplace, as_metric

RESULTS = Path(__file__).parent / "results" / "prediction.json"
N, D, NEW, REPEATS = 10_000, 50, 2048, 5


def seconds(work: Callable[[], Any]) -> float:
    work()
    taken = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def speed() -> list[dict[str, Any]]:
    """Times of one prediction; a block of 128 rows handed over alone is computed by all threads together."""
    rng = torch.Generator().manual_seed(0)
    X, new = torch.randn(N, D, generator=rng), torch.randn(NEW, D, generator=rng)
    coef = torch.randn(N, 1, generator=rng, dtype=torch.float64)
    rows = []
    for rank in (D, 5):
        factor = torch.randn(D, rank, generator=rng, dtype=torch.float64)
        operator = KernelOperator(Laplace(10.0), X, as_metric(factor @ factor.mT))
        ways = {
            "1 thread": (1, lambda op=operator: op.predict(new, coef)),
            "2 threads on one block": (2, lambda op=operator: [op.predict(b, coef) for b in new.split(ROWS)]),
            "2 threads, a block each": (2, lambda op=operator: op.predict(new, coef)),
        }
        for way, (count, work) in ways.items():
            with threads(count):
                rows.append({"rank": rank, "way": way, "seconds": seconds(work)})
    return rows


def compression() -> list[dict[str, Any]]:
    """R² on fresh rows, and what a compressed model says of itself."""
    rng = np.random.default_rng(0)

    def f(X: np.ndarray) -> np.ndarray:
        return X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])

    X, fresh = rng.normal(size=(3000, 10)), rng.normal(size=(3000, 10))
    y = f(X) + 0.1 * rng.normal(size=len(X))
    rows = []
    for kernel in ("laplace", "gaussian"):
        model = RFMRegressor(kernel=kernel, update="agop", n_rounds=2, select_round="last").fit(X, y)
        for count in (3000, 1000, 300, 100, 30):
            small = model if count == len(X) else model.compressed(count, fresh)
            record = getattr(small, "compression_", None)
            rows.append(
                {
                    "kernel": kernel,
                    "asked": count,
                    "centers": count if record is None else record.n_centers,
                    "r2": small.score(fresh, f(fresh)),
                    "function_error": 0.0 if record is None else record.function_error,
                    "typical_change": 0.0 if record is None else record.typical_change,
                    "seconds": seconds(lambda model=small: model.predict(fresh)),
                }
            )
    return rows


def markdown(results: dict[str, Any]) -> dict[str, str]:
    """The tables of the documents, from the record of a run."""
    fast = ["| M | " + " | ".join(row["way"] for row in results["speed"][:3]) + " |", "|---|---|---|---|"]
    for rank in (D, 5):
        times = [row["seconds"] for row in results["speed"] if row["rank"] == rank]
        fast.append(f"| rank {rank} of {D} | " + " | ".join(f"{t:.2f} s" for t in times) + " |")
    small = ["| kernel | centres | R² | typical change | function error | time |", "|---|---|---|---|---|---|"]
    for row in results["compression"]:
        whole = next(r for r in results["compression"] if r["kernel"] == row["kernel"])
        small.append(
            f"| {row['kernel']} | {row['centers']:,} | {row['r2']:.4f} | {row['typical_change']:.4f} | "
            f"{row['function_error']:.3f} | {row['seconds'] / whole['seconds']:.2f} |"
        )
    return {"speed": "\n".join(fast), "compression": "\n".join(small)}


def main() -> None:
    if "--show" not in sys.argv:
        RESULTS.write_text(json.dumps({"speed": speed(), "compression": compression()}, indent=1) + "\n")
    for table in markdown(json.loads(RESULTS.read_text())).values():
        print(table, end="\n\n")


if __name__ == "__main__":
    main()
