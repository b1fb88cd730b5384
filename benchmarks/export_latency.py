"""One row and a thousand rows by the estimator, the exported NumPy predictor and the ONNX graph; sizes of the files.

python benchmarks/export_latency.py            # runs, and writes benchmarks/results/export_latency.json
python benchmarks/export_latency.py --show     # prints the tables of the last run

Times are processor time of one thread, the shortest of several calls, so that a busy computer changes them little; on a
quiet one they are what a clock on the wall shows. Set OMP_NUM_THREADS=1. Needs ``gramian[onnx]`` and pandas.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd

from gramian import RFMClassifier, RFMRegressor
from gramian.predictor import load

RESULTS = Path(__file__).parent / "results" / "export_latency.json"
COLUMNS, NEW = 20, 1000
LIMITS = (None, 35e-6, 30e-6, 25e-6)


def seconds(work: Callable[[], Any], repeats: int) -> float:
    work()
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return min(taken)


def numbers(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Twenty numbers, of which three matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS))
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.1 * rng.normal(size=n)


def mixed(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Eight numbers with gaps and four categories, and three classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 8)), columns=[f"number {j}" for j in range(8)])
    X = X.mask(rng.random(X.shape) < 0.05)
    for j, levels in enumerate((2, 4, 8, 16)):
        X[f"category {j}"] = np.array([f"level {i}" for i in range(levels)])[rng.integers(0, levels, n)]
    score = X["number 0"].fillna(0) + 2 * (X["category 0"] == "level 0") + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, [0.3, 1.5])


def cases() -> dict[str, tuple[Any, Any]]:
    """Fitted models, each with 1,000 new rows."""
    found: dict[str, tuple[Any, Any]] = {}
    for n in (300, 1000, 3000):
        found[f"{n:,} rows, {COLUMNS} numbers"] = RFMRegressor().fit(*numbers(n)), numbers(NEW, 1)[0]
    found["1,000 rows, 8 numbers with gaps and 4 categories, 3 classes"] = (
        RFMClassifier().fit(*mixed(1000)),
        mixed(NEW, 1)[0],
    )
    large = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, select_round="last", ridge=1e-3)
    found[f"10,000 rows, {COLUMNS} numbers (one Laplace kernel)"] = large.fit(*numbers(10_000)), numbers(NEW, 1)[0]
    return found


def graph_inputs(session: onnxruntime.InferenceSession, X: Any) -> dict[str, np.ndarray]:
    if not hasattr(X, "columns"):
        return {"X": X}
    text = {each.name: "string" in each.type for each in session.get_inputs()}
    return {name: X[name].to_numpy(object if text[name] else float)[:, None] for name in text}


def measure(name: str, model: Any, X: Any, folder: Path) -> dict[str, Any]:
    files = {"npz": folder / "m.npz", "npz, float32": folder / "small.npz", "onnx": folder / "m.onnx"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, path in files.items():
            model.export(path, dtype="float32" if "float32" in what else "auto")
    predictor = load(files["npz"])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(files["onnx"]), options, providers=["CPUExecutionProvider"])
    one = X.iloc[:1] if hasattr(X, "iloc") else X[:1]
    row = one.to_dict("records") if hasattr(one, "to_dict") else one
    inputs, first = graph_inputs(session, X), graph_inputs(session, one)
    differences = np.abs(predictor.outputs(X) - model.model_.outputs(X)) / model.model_.outputs(X).std(axis=0)
    return {
        "name": name,
        "centers": max(part.points.shape[1] for part in predictor.sums),
        "models": len(predictor.sums),
        "bytes": {what: path.stat().st_size for what, path in files.items()},
        "one_row": {
            "estimator": seconds(lambda: model.predict(one), 20),
            "numpy": seconds(lambda: predictor.predict(row), 100),
            "onnx": seconds(lambda: session.run(None, first), 100),
        },
        "thousand_rows": {
            "estimator": seconds(lambda: model.predict(X), 3),
            "numpy": seconds(lambda: predictor.predict(X), 3),
            "onnx": seconds(lambda: session.run(None, inputs), 3),
        },
        "largest_difference": float(differences.max()),
    }


def limits(model: Any) -> list[dict[str, Any]]:
    """R² on new rows of models that are compressed to a latency."""
    X, y = numbers(3000, 1)
    rows = []
    for limit in LIMITS:
        small = model.compressed(max_latency=60.0 if limit is None else limit, X=X)
        record = small.compression_
        rows.append(
            {
                "limit": limit,
                "centers": record.n_centers,
                "latency": record.latency,
                "r2": small.score(X, y),
                "typical_change": record.typical_change,
            }
        )
    return rows


def markdown(results: dict[str, Any]) -> dict[str, str]:
    """The tables of the documents, from the record of a run."""
    head = "| model | centres × models | one row: estimator | NumPy | ONNX | 1,000 rows: estimator | NumPy | ONNX |"
    latency = [head, "|---|---|---|---|---|---|---|---|"]
    size = ["| model | .npz | .npz, float32 | .onnx | largest difference |", "|---|---|---|---|---|"]
    for case in results["cases"]:
        times = [f"{case['one_row'][way] * 1e3:.2f} ms" for way in ("estimator", "numpy", "onnx")]
        times += [f"{case['thousand_rows'][way] * 1e3:.0f} ms" for way in ("estimator", "numpy", "onnx")]
        latency.append(f"| {case['name']} | {case['centers']:,} × {case['models']} | " + " | ".join(times) + " |")
        sizes = [f"{case['bytes'][what] / 1e3:,.0f} kB" for what in ("npz", "npz, float32", "onnx")]
        size.append(f"| {case['name']} | " + " | ".join(sizes) + f" | {case['largest_difference']:.0e} |")
    small = ["| `max_latency` | centres | one row | R² on new rows | typical change |", "|---|---|---|---|---|"]
    for row in results["limits"]:
        limit = "none" if row["limit"] is None else f"{row['limit'] * 1e3:.3f} ms"
        small.append(
            f"| {limit} | {row['centers']:,} | {row['latency'] * 1e3:.3f} ms | {row['r2']:.3f} | "
            f"{row['typical_change']:.3f} |"
        )
    return {"latency": "\n".join(latency), "size": "\n".join(size), "limits": "\n".join(small)}


def main() -> None:
    if "--show" not in sys.argv:
        found = cases()
        with tempfile.TemporaryDirectory() as folder:
            measured = [measure(name, *case, Path(folder)) for name, case in found.items()]
        compressed = limits(found[f"3,000 rows, {COLUMNS} numbers"][0])
        machine = {"python": platform.python_version(), "numpy": np.__version__, "onnxruntime": onnxruntime.__version__}
        record = {"versions": machine, "cases": measured, "limits": compressed}
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    for table in markdown(json.loads(RESULTS.read_text())).values():
        print(table, end="\n\n")


if __name__ == "__main__":
    main()
