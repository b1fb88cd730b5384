"""Fits on machines with addresses of their own: bytes sent, and time against machines and bandwidth.

    python benchmarks/three_machines.py --out benchmarks/results/three_machines.json

The machines are network namespaces of this computer (Linux, as an administrator): they share its cores, so that the
time shows the cost of the network and not the gain of more processors.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gramian import RFMRegressor
from gramian.core import format_bytes
from gramian.core.atomic import atomic_write
from gramian.kernels import Laplace
from gramian.solvers import Nystrom
from machines import Machines, why_not

ROWS, COLUMNS, CENTERS = 100_000, 20, 500
CASES: tuple[dict[str, Any], ...] = (
    {"count": 1},
    {"count": 2},
    {"count": 3},
    {"count": 3, "mbit": 1000},
    {"count": 3, "mbit": 100},
    {"count": 3, "mbit": 10},
)


def table(rows: int) -> tuple[Any, Any]:
    """Return a made table with its target."""
    X = np.random.default_rng(0).normal(size=(rows, COLUMNS))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def model(**options: Any) -> RFMRegressor:
    """Return the model, with everything given: every fit does the same work."""
    numbers = {"kernel": Laplace(5.0), "ridge": 0.01, "n_rounds": 2, "n_threads": 1}
    return RFMRegressor(solver=Nystrom(centers=CENTERS), **numbers, **options)


def measure(rows: int, **network: Any) -> dict[str, Any]:
    """Fit on machines; return seconds and the bytes that scheduler and workers sent and received."""
    X, y = table(rows)
    with Machines(**network) as machines, machines.client.as_current():
        model().fit(*table(5000))  # code is loaded and compiled now
        before, start = machines.traffic(), time.perf_counter()
        fitted = model().fit(X, y)
        seconds = time.perf_counter() - start
        sent = [
            (now.sent - old.sent, now.received - old.received)
            for now, old in zip(machines.traffic(), before, strict=True)
        ]
    scheduler, *workers = sent
    return {
        "machines": network["count"],
        "mbit": network.get("mbit"),
        "rows": rows,
        "columns": COLUMNS,
        "seconds": round(seconds, 2),
        "scheduler received": scheduler[1],
        "scheduler sent": scheduler[0],
        "workers received": sum(received for _, received in workers),
        "workers sent": sum(away for away, _ in workers),
        "bits": fitted.predict(X[:200]).tobytes().hex()[:32],
    }


def markdown(record: dict[str, Any]) -> str:
    """Return the record as a table."""
    headings = ("machines", "bandwidth", "seconds", "to the scheduler", "to the workers", "from the workers")
    lines = [f"| {' | '.join(headings)} |", "|---|---|---|---|---|---|"]
    for fit in record["fits"]:
        if not fit["machines"]:
            lines.append(f"| none, no cluster | | {fit['seconds']:.1f} | | | |")
            continue
        bandwidth = f"{fit['mbit']:,} Mbit/s" if fit["mbit"] else "not limited"
        sent = [format_bytes(fit[name]) for name in ("scheduler received", "workers received", "workers sent")]
        lines.append(f"| {fit['machines']} | {bandwidth} | {fit['seconds']:.1f} | {' | '.join(sent)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure all cases, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if reason := why_not():
        raise SystemExit(reason)
    X, y = table(arguments.rows)
    model(cluster=None).fit(*table(5000))
    start = time.perf_counter()
    model(cluster=None).fit(X, y)
    fits = [
        {"machines": 0, "rows": arguments.rows, "columns": COLUMNS, "seconds": round(time.perf_counter() - start, 2)}
    ]
    print(fits[0], flush=True)
    for case in CASES:
        fits.append(measure(arguments.rows, **case))
        print(fits[-1], flush=True)
    if arguments.out:
        versions = {"torch": torch.__version__, "distributed": distributed.__version__}
        facts = {"python": platform.python_version(), "cores": os.cpu_count(), "centers": CENTERS, **versions}
        atomic_write(arguments.out, json.dumps({"machine": facts, "fits": fits}, indent=1) + "\n")


if __name__ == "__main__":
    main()
