"""Forecast and measured peak memory of fits with default options, each in a process of its own.

    python benchmarks/forecast.py --out benchmarks/results/forecast.json
    python benchmarks/forecast.py 'wide*'          # some of the fits, by name
    python benchmarks/forecast.py --runs 1 --add --out …  # one more run of each, besides those in the record
    python benchmarks/forecast.py --runs 0 --add --out …  # the present forecasts beside the peaks of the record

A process imports everything and fits a small table of each kind; every measured fit is then a fork of it. The peak of a
run is the growth of the resident memory from the moment at which the table exists and freed blocks are returned
(``VmHWM``, Linux only). Models are fitted side by side, so that peaks differ from run to run: a fit is run several
times, each in a process of its own, and the forecast is compared with the highest peak.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.core import format_bytes
from gramian.core.atomic import atomic_write
from gramian.core.freed_memory import return_freed_memory
from gramian.core.hardware import threads
from gramian.kernels import KernelOperator, Laplace, Lp, gradient_moments
from gramian.rfm.options import FitOptions
from gramian.rfm.training.fit import make_task_and_plan
from gramian.rfm.training.plan import Plan
from gramian.solvers import Workspace
from gramian.solvers.packed import PackedMatrix

MEASURABLE = Path("/proc/self/clear_refs").exists()


def _case(kind: str, n: int, d: int, **options: Any) -> dict[str, Any]:
    return {"kind": kind, "n": n, "d": d, "options": options}


CASES = {
    **{f"numbers {n} x {d}": _case("numbers", n, d) for n in (300, 1000, 2000, 4000, 10_000) for d in (5, 50)},
    "numbers 2000 x 300": _case("numbers", 2000, 300),
    "numbers 20000 x 20": _case("numbers", 20_000, 20),
    **{f"fast {n} x 20": _case("numbers", n, 20, preset="fast") for n in (1000, 4000, 10_000)},
    **{f"float64 {n} x 20": _case("numbers", n, 20, dtype="float64") for n in (1000, 2000, 4000)},
    **{f"{solver} {n} x 20": _case("numbers", n, 20, solver=solver)
       for solver in ("direct", "cg", "nystrom", "eigenpro") for n in (3000, 8000)},
    "tree 40000 x 20": _case("numbers", 40_000, 20, solver="tree", preset="fast"),
    "nystrom 20000 x 30": _case("numbers", 20_000, 30, solver="nystrom", preset="fast"),
    **{f"{k} classes {n} x 20": _case(f"{k} classes", n, 20) for k in (2, 3, 10) for n in (1000, 3000)},
    "10 classes 10000 x 20": _case("10 classes", 10_000, 20),
    "100 classes 3000 x 20": _case("100 classes", 3000, 20),
    "5 targets 2000 x 20": _case("5 targets", 2000, 20),
    "long tails 2000 x 20": _case("long tails", 2000, 20),
    "categories 3000 x 10": _case("categories", 3000, 10),
    "equal rows 6000 x 5": _case("equal rows", 6000, 5),
    **{f"wide {n} x {d}": _case("numbers", n, d) for n, d in ((100, 500), (100, 5000), (300, 3000), (600, 2000))},
    **{f"wide fast {n} x {d}": _case("numbers", n, d, preset="fast") for n, d in ((100, 20_000), (600, 5000))},
    "wide 3 classes 200 x 2000": _case("3 classes", 200, 2000),
    "bagging 2000 x 20": _case("numbers", 2000, 20, bagging=True),
    "budget 130MB 4000 x 50": _case("numbers", 4000, 50, max_memory="130MB"),
    "budget 60MB 2000 x 20": _case("numbers", 2000, 20, max_memory="60MB"),
    "budget 400MB 20000 x 20": _case("numbers", 20_000, 20, max_memory="400MB", preset="fast"),
}  # fmt: skip
"""Name of a fit → kind of table, rows, columns and options of the estimator."""


def table(kind: str, n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Return a made table of a kind with its target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * rng.normal(size=n)
    count, _, what = kind.partition(" ")
    if what == "classes":
        return X, np.searchsorted(np.quantile(signal, np.arange(1, int(count)) / int(count)), signal)
    if what == "targets":
        return X, np.stack([signal + X[:, k] for k in range(int(count))], 1)
    if kind == "long tails":
        return np.exp(2 * X), signal
    if kind == "categories":
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
        for j in range(0, d, 2):
            frame[f"x{j}"] = np.char.add("level ", np.digitize(X[:, j], [-1, 0, 1]).astype(str))
        return frame, signal
    if kind == "equal rows":
        return np.round(X), signal
    return X, signal


def estimator(kind: str, options: dict[str, Any]) -> Any:
    """Return the unfitted estimator of a kind of table."""
    return (RFMClassifier if "classes" in kind else RFMRegressor)(**options)


def measure(case: dict[str, Any]) -> dict[str, Any]:
    """Fit in a fork of this process; return its peak in bytes and its seconds."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            answer = json.dumps(_fit(case))
        except BaseException as error:  # the parent raises it
            answer = json.dumps({"error": f"{type(error).__name__}: {error}"})
        with os.fdopen(write, "w") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status or not answer:
        raise RuntimeError(f"the process of {case} ended with status {status}")
    result: dict[str, Any] = json.loads(answer)
    if "error" in result:
        raise RuntimeError(f"{case}: {result['error']}")
    return result


def _fit(case: dict[str, Any]) -> dict[str, Any]:
    small, target = table(case["kind"], 120, 6)
    estimator(case["kind"], {}).fit(small, target)  # threads do not survive a fork
    X, y = table(case["kind"], case["n"], case["d"])
    model = estimator(case["kind"], case["options"])
    return_freed_memory()  # blocks that the small fit has left would hide a part of the growth
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from now on
    before, start = _peak(), time.perf_counter()
    model.fit(X, y)
    seconds, peak = time.perf_counter() - start, _peak() - before
    return {"peak": peak, "seconds": round(seconds, 2)} | facts(model.plan_, case)


def _peak() -> int:
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def facts(plan: Plan, case: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a plan that the record contains."""
    return {
        "forecast": plan.memory.process,
        "budget": plan.max_bytes if "max_memory" in case["options"] else None,
        "solver": type(plan.solver).__name__,
        "workers": plan.workers,
    }


def plan_of(case: dict[str, Any]) -> Plan:
    """Return the plan of a fit without the fit."""
    model = estimator(case["kind"], case["options"])
    prepared = model.prepare(*table(case["kind"], case["n"], case["d"]))
    return make_task_and_plan(FitOptions.resolve(model.get_params(deep=False)), prepared)[1]


def warm_up() -> None:
    """Fit a small table of each kind, and compile loops, so that code and libraries are in memory."""
    with threads(1):  # a fork of a process that has computed in two threads would wait for the second one
        for dtype in (torch.float32, torch.float64):
            sums = KernelOperator(Lp(20.0), torch.randn(700, 300, dtype=dtype))
            sums.dense()
            gradient_moments(sums, torch.ones(700, 1, dtype=dtype))
        products = PackedMatrix(KernelOperator(Laplace(3.0), torch.randn(7000, 2)), Workspace())
        for dtype in (torch.float32, torch.float64):
            products.matmul(torch.ones(2, 7000, dtype=dtype))
    for kind in ("numbers", "3 classes", "long tails", "categories"):
        for solver in ("direct", "cg", "nystrom", "eigenpro"):
            X, y = table(kind, 700, 6)
            estimator(kind, {"solver": solver, "preset": "fast", "n_jobs": 1}).fit(X, y)


def markdown(record: dict[str, Any]) -> str:
    """Return the record as a table, and a sentence that sums it up."""
    lines = ["| fit | solver | forecast | runs | measured, highest | ratio |", "|---|---|---|---|---|---|"]
    ratios = []
    for name, fit in record["fits"].items():
        ratios.append(fit["forecast"] / fit["measured"])
        sizes = f"{format_bytes(fit['forecast'])} | {len(fit['peaks'])} | {format_bytes(fit['measured'])}"
        lines.append(f"| {name} | {fit['solver']} | {sizes} | {ratios[-1]:.2f} |")
    below, above = sum(ratio < 1 for ratio in ratios), sum(ratio > 2 for ratio in ratios)
    spread = f"The ratio is between {min(ratios):.2f} and {max(ratios):.2f}, with a median of {median(ratios):.2f}"
    counts = f"{below} of {len(ratios)} forecasts are below the highest peak, and {above} above twice that"
    limited = [fit for fit in record["fits"].values() if fit["budget"] is not None]
    within = sum(fit["measured"] <= fit["budget"] for fit in limited)
    budgets = f"Of {len(limited)} fits with `max_memory`, {within} grew the process by less than that."
    return "\n".join([*lines, "", f"{spread}: {counts}. {budgets}"])


def main() -> None:
    """Measure the fits that the command line names, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--runs", type=int, default=3, help="runs of each fit")
    parser.add_argument("--add", action="store_true", help="count the runs in the record, too")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    machine = {"torch": torch.__version__, "python": platform.python_version(), "cores": os.cpu_count()}
    before = json.loads(arguments.out.read_text())["fits"] if arguments.add else {}
    results = dict(before)
    if arguments.runs:
        warm_up()
    for name, case in CASES.items():
        if not any(fnmatchcase(name, pattern) for pattern in arguments.patterns):
            continue
        known, runs = results.get(name, {}), [measure(case) for _ in range(arguments.runs)]
        peaks = [*known.get("peaks", []), *(run["peak"] for run in runs)]
        if not peaks:
            continue
        found = runs[-1] if runs else known | facts(plan_of(case), case)
        seconds = min(run["seconds"] for run in (known, *runs) if run)
        result = results[name] = {
            **{key: found[key] for key in ("forecast", "budget", "solver", "workers")},
            "measured": max(peaks),
            "peaks": peaks,
            "seconds": seconds,
            **{key: case[key] for key in ("kind", "n", "d")},
        }
        sizes = f"{format_bytes(result['forecast']):>9} {format_bytes(result['measured']):>9}"
        ratio, solver = result["forecast"] / result["measured"], result["solver"]
        print(f"{name:28} {sizes} {ratio:5.2f} {solver:18} {result['seconds']:6.1f} s", flush=True)
        if arguments.out:
            ordered = {name: results[name] for name in CASES if name in results}
            atomic_write(arguments.out, json.dumps({"machine": machine, "fits": ordered}, indent=1) + "\n")


if __name__ == "__main__":
    main()
