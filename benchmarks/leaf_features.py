"""Trees whose leaves share one M beside trees whose leaves learn their own: test error and processor time.

    python benchmarks/leaf_features.py run [--table covertype:40000:4000:fast ...] [--ways shared auto leaf]
    python benchmarks/leaf_features.py table

A table is a name, training rows, rows in a leaf, and a preset. Real tables are covertype and the larger ones of the
halves for choosing of the Grinsztajn suites; ``switch`` and ``synthetic`` are made. Each fit runs in a process of its
own with one thread (set OMP_NUM_THREADS=1), and each result is written as it comes; one that is there already is not
run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

OUT = Path(__file__).parent / "results" / "leaf_features.json"
TABLES = (
    "covertype:100000:8000:fast",
    "covertype:40000:4000:fast",
    "grinsztajn-clf-choosing/Diabetes130US:40000:4000:fast",
    "grinsztajn-reg-choosing/california:15480:2000:fast",
    "grinsztajn-reg-choosing/houses:15480:2000:fast",
    "grinsztajn-reg-choosing/Bike_Sharing_Demand:13000:2000:fast",
    "synthetic:40000:4000:fast",
    "switch:12000:2000:fast",
)
WAYS = ("shared", "auto", "leaf")
TEST_ROWS = 10_000


def read(name: str, rows: int):
    """Rows and targets of a table, of which the first in a random order are for tests, and whether it has classes."""
    import numpy as np

    from gramian import datasets
    from gramian.bench.tasks import CLASSIFICATION, SUITES

    rng = np.random.default_rng(0)
    n = rows + TEST_ROWS
    if name == "covertype":
        data = datasets.covertype()
        return np.asarray(data.X, dtype=np.float32), np.asarray(data.y), True
    if name == "switch":  # column 1 matters where column 0 is positive, column 2 elsewhere
        X = rng.normal(size=(n, 8))
        return X, np.where(X[:, 0] > 0, np.sin(3 * X[:, 1]), np.sin(3 * X[:, 2])) + 0.1 * rng.normal(size=n), False
    if name == "synthetic":  # the same five directions everywhere
        U = np.linalg.qr(rng.normal(size=(50, 5)))[0]
        X = rng.normal(size=(n, 50)).astype(np.float32)
        Z = X @ U
        return X, np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.5 * Z[:, 3] ** 2 + 0.1 * rng.normal(size=n), False
    suite, _, name = name.partition("/")
    if not suite.endswith("-choosing"):
        raise ValueError(f"{suite!r} is not a half for choosing: the others are looked at once, at the end")
    kind, data = SUITES[suite].read(name, None)
    return np.asarray(data.X), np.asarray(data.y), kind == CLASSIFICATION


def child(table: str, way: str) -> None:
    """One fit, told as JSON on the last line."""
    import warnings

    import numpy as np

    from gramian import RFMClassifier, RFMRegressor
    from gramian.rfm import TreePartition

    warnings.simplefilter("ignore")
    name, rows, leaf_rows, preset = table.split(":")
    X, y, classes = read(name, int(rows))
    order = np.random.default_rng(0).permutation(len(X))
    count = min(TEST_ROWS, len(X) // 4)
    test, train = order[:count], order[count : count + int(rows)]
    solver = TreePartition(leaf_rows=int(leaf_rows), features=way)
    begin = time.process_time()
    model = (RFMClassifier if classes else RFMRegressor)(preset=preset, solver=solver).fit(X[train], y[train])
    seconds = time.process_time() - begin
    predicted = model.predict(X[test])
    told = {"rows": len(train), "columns": X.shape[1], "seconds": seconds, "classes": classes}
    if classes:
        told["error"] = float(np.mean(predicted != y[test]))
    else:
        told["error"] = float(np.mean((predicted - y[test]) ** 2) / np.var(y[test]))
    last = model.rounds_[model.best_round_]
    own = len({id(leaf.metric) for leaf in model.machine_.leaves}) > 1
    told |= {"round": last.index, "status": last.status, "own": own, "leaves": len(model.machine_.leaves)}
    print(json.dumps(told | {"tree_seconds": last.seconds}))


def run(tables: list[str], ways: list[str]) -> None:
    """Run what is not recorded yet, and write each result down as it comes."""
    for table in tables:
        for way in ways:
            results = json.loads(OUT.read_text()) if OUT.exists() else []
            if any((old["table"], old["features"]) == (table, way) for old in results):
                continue
            command = [sys.executable, __file__, "child", table, way]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{table} with features={way!r} failed: {done.stderr.strip().splitlines()[-1]}")
            results.append({"table": table, "features": way} | json.loads(done.stdout.strip().splitlines()[-1]))
            OUT.write_text(json.dumps(results, indent=1) + "\n")
            print(results[-1], flush=True)


def markdown(results: list[dict]) -> str:
    """The recorded runs as a table: errors and processor time, those of other features relative to shared ones."""
    heads = ("table", "rows × columns", "leaves", "error, shared M", "own M", "auto", "selected", "time, shared M")
    lines = [f"| {' | '.join(heads)} | own M | auto |", "|---" * (len(heads) + 2) + "|"]
    for table in dict.fromkeys(run["table"] for run in results):
        runs = {run["features"]: run for run in results if run["table"] == table}
        if not {"shared", "auto"} <= set(runs):
            continue
        shared, auto = runs["shared"], runs["auto"]
        leaf = runs.get("leaf")
        name = table.split(":")[0].split("/")[-1]
        selected = "no features learned" if not shared["round"] else "own" if auto["own"] else "shared"
        errors = [f"{run['error'] / shared['error']:.3f}" if run else "–" for run in (leaf, auto)]
        times = [f"{run['seconds'] / shared['seconds']:.2f}" if run else "–" for run in (leaf, auto)]
        cells = [
            name,
            f"{shared['rows']:,} × {shared['columns']}",
            str(shared["leaves"]),
            f"{shared['error']:.4f}",
            *errors,
            selected,
            f"{shared['seconds']:.0f} s",
            *times,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "child"])
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--table", nargs="+", default=list(TABLES), help="name:rows:leaf_rows:preset")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    args = parser.parse_args()
    if args.what == "child":
        child(*args.rest)
    elif args.what == "table":
        print(markdown(json.loads(OUT.read_text())))
    else:
        run(args.table, args.ways)


if __name__ == "__main__":
    main()
