"""Time and test error of the default estimator beside CatBoost's default, at 1,000, 4,000 and 10,000 training rows.

    GRAMIAN_DATA=... python benchmarks/default_speed.py run --out benchmarks/results/default_speed.json
    python benchmarks/default_speed.py show benchmarks/results/default_speed.json

Six regression and six classification tables of Grinsztajn et al. (2022), all of the half on which rules are chosen.
Both methods are fitted in one process, in turn, with all threads; first fits that load libraries are not counted. A
table with fewer training rows than asked for is used whole. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (1000, 4000, 10_000)
TABLES = {
    "grinsztajn-reg": ("Bike_Sharing_Demand", "california", "cpu_act", "houses", "sulfur", "wine_quality"),
    "grinsztajn-clf": (
        "Diabetes130US",
        "bank-marketing",
        "california",
        "default-of-credit-card-clients",
        "heloc",
        "jannis",
    ),
}
TEST_ROWS = 5000


def learners(kind: str) -> dict[str, Any]:
    import catboost

    from gramian import RFMClassifier, RFMRegressor

    ours = RFMRegressor if kind == "regression" else RFMClassifier
    theirs = catboost.CatBoostRegressor if kind == "regression" else catboost.CatBoostClassifier
    return {
        "CatBoost": theirs(random_seed=0, verbose=False, allow_writing_files=False),
        "gramian": ours(random_state=0),
        "gramian, fast": ours(random_state=0, preset="fast"),
    }


def error(kind: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Root mean squared error over the standard deviation of the target, or log loss."""
    if kind == "regression":
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / y.std())
    p = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.log(np.clip(p, 1e-6, 1)).mean())


def run(out: Path) -> None:
    from gramian.bench.tasks import SUITES

    # The first calls of some sizes load or compile code; they are not counted.
    rng = np.random.default_rng(0)
    for size in SIZES[:2]:
        X = rng.normal(size=(size, 6))
        for model in learners("regression").values():
            model.fit(X, X[:, 0] * X[:, 1])
    records: list[dict[str, Any]] = json.loads(out.read_text())["fits"] if out.exists() else []
    done = {(r["suite"], r["table"], r["asked"]) for r in records}
    for size in SIZES:
        for suite, tables in TABLES.items():
            for table in tables:
                if (suite, table, size) in done:
                    continue
                task = SUITES[suite].task(table, 0)
                (X, y), (X_test, y_test) = task.train, task.test
                order = np.random.default_rng(0).permutation(len(X))[:size]
                X, y = np.asarray(X)[order], y[order]
                X_test, y_test = np.asarray(X_test)[:TEST_ROWS], y_test[:TEST_ROWS]
                for name, model in learners(task.kind).items():
                    wall, processor = time.perf_counter(), time.process_time()
                    model.fit(X, y)
                    wall, processor = time.perf_counter() - wall, time.process_time() - processor
                    begin = time.perf_counter()
                    found = error(task.kind, model, X_test, y_test)
                    records.append(
                        {
                            "suite": suite,
                            "table": table,
                            "asked": size,
                            "rows": len(X),
                            "columns": X.shape[1],
                            "method": name,
                            "seconds": round(wall, 3),
                            "processor_seconds": round(processor, 3),
                            "predict_seconds": round(time.perf_counter() - begin, 3),
                            "error": round(found, 5),
                        }
                    )
                    print(f"{table} {len(X)} {name}: {wall:.2f} s, error {found:.4f}", flush=True)
                out.write_text(json.dumps({"cores": os.cpu_count(), "fits": records}, indent=1) + "\n")


def markdown(saved: dict[str, Any]) -> str:
    """The medians over tables of time and error relative to CatBoost, as a table in Markdown."""
    records = saved["fits"]
    at = {(r["asked"], r["suite"], r["table"], r["method"]): r for r in records}
    lines = [
        "| training rows | tables | seconds / CatBoost's | the same, fast preset | error / CatBoost's "
        "| seconds of a prediction of 5,000 rows (CatBoost's) |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for size in SIZES:
        cells = [key for key in at if key[0] == size and key[3] == "CatBoost"]

        def ratios(method: str, what: str, cells: list[tuple[Any, ...]] = cells) -> np.ndarray:
            return np.array([at[*key[:3], method][what] / at[key][what] for key in cells])

        if not cells:
            continue
        default, fast = ratios("gramian", "seconds"), ratios("gramian, fast", "seconds")
        loss = ratios("gramian", "error")
        ours, theirs = (
            np.median([at[*key[:3], method]["predict_seconds"] for key in cells]) for method in ("gramian", "CatBoost")
        )
        lines.append(
            f"| {size:,} | {len(cells)} | {np.median(default):.2f} ({default.min():.2f}–{default.max():.2f}) "
            f"| {np.median(fast):.2f} | {np.exp(np.log(loss).mean()):.3f} | {ours:.2f} ({theirs:.3f}) |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run").add_argument("--out", type=Path, required=True)
    commands.add_parser("show").add_argument("path", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.out)
    else:
        print(markdown(json.loads(given.path.read_text())))
