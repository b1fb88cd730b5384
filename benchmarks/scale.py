"""Many rows on one machine: covertype beside LightGBM and xRFM, growth of time with rows, and what the choices cost.

Every fit runs in a process of its own, one after the other; peak memory is that of the whole process. Each result is
written as it comes, and one that is there already is not run again.

    python benchmarks/scale.py covertype --rows 500000 --who gramian lightgbm xrfm
    python benchmarks/scale.py synthetic --rows 20000 100000 300000 1000000
    python benchmarks/scale.py covertype --rows 32000 --label "M from 8,000 rows" --feature-rows 8000
    python benchmarks/scale.py table
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

OUT = Path(__file__).parent / "results" / "scale.json"
TEST_ROWS = 50_000
D = 50


def covertype(rows: int):
    """Training and test rows of covertype, drawn at random; seven classes."""
    import numpy as np

    from gramian import datasets

    data = datasets.covertype()
    X, y = np.asarray(data.X, dtype=np.float32), np.asarray(data.y)
    order = np.random.default_rng(0).permutation(len(X))
    test, train = order[:TEST_ROWS], order[TEST_ROWS : TEST_ROWS + rows]
    return X[train], y[train], X[test], y[test]


def synthetic(rows: int):
    """A smooth function of five directions of fifty columns, with noise; the test rows are the same for all sizes."""
    import numpy as np

    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(D, 5)))[0]

    def draw(n, rng):
        X = rng.normal(size=(n, D)).astype(np.float32)
        Z = X @ U
        return X, np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.5 * Z[:, 3] ** 2 + 0.1 * rng.normal(size=n)

    test = draw(10_000, np.random.default_rng(1))
    return *draw(rows, np.random.default_rng(2)), *test


def fit_gramian(task: str, options: dict, X, y):
    from gramian import RFMClassifier, RFMRegressor
    from gramian.rfm.options import SOLVERS
    from gramian.rfm.training import plan

    options = dict(options)
    if isinstance(options.get("solver"), dict):  # {"nystrom": {"centers": 2000}}
        ((name, settings),) = options["solver"].items()
        options["solver"] = SOLVERS[name].with_params(**settings)
    plan.PART_ROWS = options.pop("feature_rows", plan.PART_ROWS)
    return (RFMClassifier if task == "covertype" else RFMRegressor)(**options).fit(X, y)


def fit_lightgbm(task: str, options: dict, X, y):
    import lightgbm

    return (lightgbm.LGBMClassifier if task == "covertype" else lightgbm.LGBMRegressor)(verbose=-1, n_jobs=2).fit(X, y)


class Xrfm:
    """xRFM with its defaults, on standardised columns, a tenth of the rows as the validation set it demands."""

    def __init__(self, options: dict, X, y) -> None:
        import numpy as np
        import opt_einsum  # noqa: F401  # without it the peer builds an array of outputs × n × n
        from xrfm import xRFM

        self.center, self.scale = X.mean(axis=0), np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        Z, cut, y = self.scaled(X), len(X) // 10, np.asarray(y, dtype=np.int64)
        y = y - y.min()  # labels must start from 0
        own = {name: value for name, value in options.items() if name != "seconds"}
        self.model = xRFM(device="cpu", time_limit_s=options["seconds"], random_state=0, n_threads=2, **own)
        self.model.fit(Z[cut:], y[cut:], Z[:cut], y[:cut])

    def scaled(self, X):
        return ((X - self.center) / self.scale).astype("float32")

    def score(self, X, y) -> float:
        import numpy as np

        out = np.asarray(self.model.predict(self.scaled(X)))
        labels = out.argmax(axis=1) if out.ndim == 2 and out.shape[1] > 1 else out.ravel()
        return float((labels == y - y.min()).mean())


def child(task: str, who: str, rows: int, options: dict) -> None:
    """One fit, told as JSON on the last line."""
    import warnings

    warnings.simplefilter("ignore")
    X, y, X_test, y_test = (covertype if task == "covertype" else synthetic)(rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    begin = time.perf_counter()
    if who == "xrfm":
        model = Xrfm(options, X, y)
    else:
        model = (fit_gramian if who == "gramian" else fit_lightgbm)(task, options, X, y)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    begin = time.perf_counter()
    score = model.score(X_test, y_test)
    told = {"seconds": seconds, "score": float(score), "peak_bytes": peak, "bytes_before": before}
    told |= {"predict_seconds": time.perf_counter() - begin, "test_rows": len(X_test)}
    if who == "gramian":
        last = model.rounds_[model.best_round_]
        told |= {"status": last.status, "round": last.index, "rows_kept": model.machine_.n, "bandwidth": last.bandwidth}
        told |= {"ridge": last.ridge, "kernel": type(model.kernel_).__name__, "last_solve_seconds": last.seconds}
    print(json.dumps(told))


def run(task: str, who: str, rows: int, options: dict, label: str = "", limit: float | None = None) -> None:
    """Run a fit in a process of its own and write down how it went."""
    results = json.loads(OUT.read_text()) if OUT.exists() else []
    key = {"task": task, "who": who, "rows": rows, "label": label}
    if any(all(old[k] == v for k, v in key.items()) for old in results):
        return
    command = [sys.executable, __file__, "child", task, who, str(rows), json.dumps(options)]
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        lines = done.stdout.strip().splitlines()
        told = json.loads(lines[-1]) if done.returncode == 0 and lines else {"failed": _last_line(done)}
    except subprocess.TimeoutExpired:
        told = {"failed": f"not done after {time.perf_counter() - begin:.0f} s"}
    threads = os.environ.get("OMP_NUM_THREADS", "all")
    results.append(key | {"options": options, "threads": threads} | told)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(results, indent=1) + "\n")
    print(results[-1], flush=True)


def _last_line(done: subprocess.CompletedProcess) -> str:
    lines = done.stderr.strip().splitlines()
    return f"exit code {done.returncode}: {lines[-1] if lines else 'no message'}"


def exponent(points: list[tuple[int, float]]) -> float:
    """Slope of log seconds over log rows, by least squares.

    >>> round(exponent([(1000, 2.0), (2000, 4.0), (4000, 8.0)]), 6)
    1.0
    """
    logs = [(math.log(n), math.log(s)) for n, s in points]
    n_mean, s_mean = (sum(column) / len(logs) for column in zip(*logs, strict=True))
    return sum((n - n_mean) * (s - s_mean) for n, s in logs) / sum((n - n_mean) ** 2 for n, _ in logs)


def table() -> str:
    """The recorded runs as Markdown."""
    results = json.loads(OUT.read_text())
    lines = ["| task | rows | who | score | seconds | peak | how |", "|---|---|---|---|---|---|---|"]
    for r in sorted(results, key=lambda r: (r["task"], r["rows"], r["who"], r["label"])):
        name = f"{r['who']} {r['label']}".strip()
        if "failed" in r:
            lines.append(f"| {r['task']} | {r['rows']:,} | {name} | – | – | – | {r['failed']} |")
            continue
        peak = f"{r['peak_bytes'] / 2**30:.1f} GiB"
        numbers = f"{r['score']:.4f} | {r['seconds']:.0f} | {peak}"
        lines.append(f"| {r['task']} | {r['rows']:,} | {name} | {numbers} | {r.get('status', '')} |")
    large = [r for r in results if r["task"] == "synthetic" and r["rows"] >= 100_000 and not r["label"]]
    points = [(r["rows"], r["seconds"]) for r in large if r["who"] == "gramian" and "seconds" in r]
    if len(points) > 2:  # two say nothing about a power
        lines += ["", f"Seconds grow with rows to the power {exponent(points):.2f}, from 100,000 rows on."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["covertype", "synthetic", "table", "child"])
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000])
    parser.add_argument("--who", nargs="+", default=["gramian"], choices=["gramian", "lightgbm", "xrfm"])
    parser.add_argument("--options", default="{}", help='JSON: its arguments; ours: {"solver": {"nystrom": {...}}}')
    parser.add_argument("--feature-rows", type=int, help="rows of the last round that learns features")
    parser.add_argument("--label", default="", help="a name for these options")
    parser.add_argument("--seconds", type=float, default=900, help="for xRFM; killed after four times as much")
    args = parser.parse_args()
    if args.what == "child":
        task, who, rows, options = args.rest
        child(task, who, int(rows), json.loads(options))
    elif args.what == "table":
        print(table())
    else:
        for rows in args.rows:
            for who in args.who:
                options = json.loads(args.options) | ({"seconds": args.seconds} if who == "xrfm" else {})
                if who == "gramian" and args.feature_rows is not None:
                    options["feature_rows"] = args.feature_rows
                limit = 4 * args.seconds if who == "xrfm" else None
                run(args.what, who, rows, options, args.label, limit)


if __name__ == "__main__":
    main()
