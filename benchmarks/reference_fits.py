"""Record what some forty fits give, and compare two records bit by bit.

Run before and after a change that must not move a number, with one thread so that sums have one order::

    OMP_NUM_THREADS=1 python benchmarks/reference_fits.py record before.npz
    OMP_NUM_THREADS=1 python benchmarks/reference_fits.py record after.npz
    python benchmarks/reference_fits.py compare before.npz after.npz

Each fit leaves its predictions, probabilities or intervals, importances, chosen kernel, round, ridge and the scores of
its rounds. Only public names are used, so that the script runs on older commits too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gramian
from gramian import RFMClassifier, RFMRegressor

Case = Callable[[], dict[str, Any]]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


# ---- data --------------------------------------------------------------------------------------------------------


def smooth(n: int, d: int = 5, outputs: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.1 * rng.normal(size=n)
    if outputs > 1:
        y = np.column_stack([y, *(X[:, k % d] ** 2 + 0.1 * rng.normal(size=n) for k in range(1, outputs))])
    return X, y


def labels(n: int, d: int = 5, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = smooth(n, d, seed=seed)
    return X, np.searchsorted(np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]), y)


def mixed(n: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    import pandas as pd

    rng = np.random.default_rng(seed)
    age = rng.normal(40, 12, size=n)
    city = rng.choice(["Bonn", "Rome", "Oslo", "Lima"], size=n)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, size=n), unit="D")
    income = np.where(rng.random(n) < 0.15, np.nan, rng.lognormal(3, 1, size=n))
    frame = pd.DataFrame({"age": age, "city": city, "when": when, "income": income, "member": rng.random(n) < 0.4})
    y = 0.1 * age + (city == "Rome") * 2.0 + np.nan_to_num(np.log(income)) + 0.2 * rng.normal(size=n)
    return frame, y


# ---- what a fit leaves behind ------------------------------------------------------------------------------------


def result(model: Any, X: Any, importances: bool = True) -> dict[str, Any]:
    kept = model.rounds_[model.best_round_]
    out: dict[str, Any] = {
        "predict": model.predict(X),
        "kernel": repr(model.kernel_),
        "round": model.best_round_,
        "ridge": model.ridge_,
        "bandwidth": kept.bandwidth,
        "scores": np.array([record.score for record in model.rounds_]),
        "loo": np.array([record.loo for record in model.rounds_]),
        "feature_matrix": model.feature_matrix_,
        "support": model.support_,
        "rows": model.row_index_,
    }
    if hasattr(model, "classes_"):
        out |= {"proba": model.predict_proba(X), "sets": model.predict_set(X), "losses": str(model.held_out_losses_)}
    else:
        out["interval"] = model.predict_interval(X)
    if importances:
        out["importances"] = model.feature_importances_
    return out


def regression(n: int = 300, d: int = 5, outputs: int = 1, fit: dict[str, Any] | None = None, **options: Any) -> Any:
    X, y = smooth(n, d, outputs)
    return result(RFMRegressor(**options).fit(X, y, **(fit or {})), smooth(64, d, seed=1)[0])


def classification(n: int = 300, classes: int = 2, **options: Any) -> dict[str, Any]:
    X, y = labels(n, classes=classes)
    return result(RFMClassifier(**options).fit(X, y), smooth(64, seed=1)[0])


# ---- small tables ------------------------------------------------------------------------------------------------

for name, options in {
    "default": {},
    "fast": {"preset": "fast"},
    "best": {"preset": "best", "n_rounds": 2},
    "gaussian": {"kernel": "gaussian"},
    "ntk": {"kernel": "ntk", "n_rounds": 1},
    "matern_fixed": {"kernel": "matern", "ridge": 0.1, "update": "agop"},
    "fact": {"update": "fact", "kernel": "laplace"},
    "fact_geometric": {"update": "fact-geometric", "kernel": "gaussian"},
    "agop_sqrt_last": {"update": "agop-sqrt", "kernel": "laplace", "select_round": "last"},
    "ridge_per_row": {"ridge": 1e-3, "ridge_scaling": "n", "preset": "fast"},
    "no_rounds": {"n_rounds": 0},
    "bagging": {"preset": "fast", "bagging": True},
    "plain_columns": {"standardize": False, "fit_intercept": False, "preset": "fast"},
    "float32": {"dtype": "float32", "preset": "fast"},
    "two_jobs": {"n_jobs": 2, "preset": "fast"},
    "seed": {"random_state": 7, "preset": "fast"},
    "no_transform": {"target_transform": None, "preset": "fast"},
    "direct": {"solver": "direct", "preset": "fast"},
    "cg": {"solver": "cg", "preset": "fast"},
    "nystrom": {"solver": "nystrom", "preset": "fast"},
    "eigenpro": {"solver": "eigenpro", "preset": "fast"},
}.items():
    CASES[f"small_{name}"] = lambda options=options: regression(**options)
    if name in ("default", "fast", "best", "cg", "nystrom"):
        plain = {key: value for key, value in options.items() if key != "target_transform"}
        CASES[f"labels_{name}"] = lambda options=plain: classification(**options)


@case
def five_rows() -> dict[str, Any]:
    return regression(n=5)


@case
def wide() -> dict[str, Any]:
    return regression(n=40, d=60, preset="fast")


@case
def three_outputs() -> dict[str, Any]:
    return regression(outputs=3, preset="fast")


@case
def four_classes() -> dict[str, Any]:
    return classification(classes=4)


@case
def skewed_target() -> dict[str, Any]:
    X, y = smooth(300)
    return result(RFMRegressor(preset="fast").fit(X, np.exp(2 * y)), smooth(64, seed=1)[0])


@case
def weights_and_repeats() -> dict[str, Any]:
    X, y = smooth(200)
    w = np.random.default_rng(3).integers(0, 4, size=250).astype(float)
    X, y = np.vstack([X, X[:50]]), np.concatenate([y, y[:50]])
    return result(RFMRegressor(preset="fast").fit(X, y, sample_weight=w), smooth(64, seed=1)[0])


@case
def balanced_classes() -> dict[str, Any]:
    X, y = smooth(300)
    model = RFMClassifier(preset="fast", class_weight="balanced").fit(X, np.where(y > 1.2, "rare", "usual"))
    return result(model, smooth(64, seed=1)[0])


@case
def mixed_frame() -> dict[str, Any]:
    X, y = mixed(300)
    return result(RFMRegressor(preset="fast").fit(X, y), mixed(64, seed=1)[0])


@case
def evaluation_set() -> dict[str, Any]:
    return regression(fit={"eval_set": smooth(100, seed=2)})


@case
def evaluation_set_labels() -> dict[str, Any]:
    X, y = labels(300, classes=3)
    return result(RFMClassifier(preset="fast").fit(X, y, eval_set=labels(90, classes=3, seed=2)), X[:64])


def _threshold() -> str:
    return "threshold" if "threshold" in RFMRegressor().get_params() else "feature_threshold"


@case
def feature_threshold() -> dict[str, Any]:
    return regression(d=8, preset="fast", **{_threshold(): 0.05})


@case
def feature_threshold_round_0() -> dict[str, Any]:
    return regression(d=8, n_rounds=0, **{_threshold(): 0.05})


# ---- more rows ---------------------------------------------------------------------------------------------------


@case
def three_folds() -> dict[str, Any]:
    return regression(n=2300, preset="fast")


@case
def one_split() -> dict[str, Any]:
    return regression(n=5200, preset="fast")


@case
def one_split_default_labels() -> dict[str, Any]:
    return classification(n=4600, classes=3, n_rounds=1)


@case
def one_split_evaluation_set() -> dict[str, Any]:
    return regression(n=4500, preset="fast", fit={"eval_set": smooth(500, seed=2)})


@case
def tree() -> dict[str, Any]:
    X, y = smooth(3000)
    model = RFMRegressor(preset="fast", solver="tree").set_params(solver__leaf_rows=600).fit(X, y)
    return result(model, smooth(64, seed=1)[0])


@case
def tree_labels_per_row() -> dict[str, Any]:
    X, y = labels(3000, classes=3)
    model = RFMClassifier(preset="fast", solver="tree", ridge=1e-4, ridge_scaling="n")
    return result(model.set_params(solver__leaf_rows=700).fit(X, y), smooth(64, seed=1)[0])


@case
def tree_threshold_evaluation_set() -> dict[str, Any]:
    X, y = smooth(3000, d=8)
    model = RFMRegressor(preset="fast", solver="tree", **{_threshold(): 0.05}).set_params(solver__leaf_rows=800)
    return result(model.fit(X, y, eval_set=smooth(300, d=8, seed=2)), smooth(64, d=8, seed=1)[0])


@case
def nystrom_centers() -> dict[str, Any]:
    X, y = smooth(3000)
    model = RFMRegressor(preset="fast", solver="nystrom").set_params(solver__centers=400).fit(X, y)
    return result(model, smooth(64, seed=1)[0])


@case
def large_in_memory() -> dict[str, Any]:
    X, y = smooth(31_000)
    model = RFMRegressor(kernel="laplace", update="agop", n_rounds=2, solver="nystrom")
    model = model.set_params(solver__centers=700).fit(X, y)
    return result(model, smooth(64, seed=1)[0], importances=False)


@case
def streamed() -> dict[str, Any]:
    X, y = smooth(31_000, d=60)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        # A table of 60 MB (with the copies a fit in memory makes) does not fit, so its rows are read in blocks.
        model = RFMRegressor(n_rounds=0, kernel="laplace", solver="nystrom", max_memory="59MB")
        model.set_params(solver__centers=500).fit(np.load(path, mmap_mode="r"), y)
        return result(model, smooth(64, d=60, seed=1)[0], importances=False)


# ---- checkpoints, compression, snapshots -------------------------------------------------------------------------


@case
def resumed() -> dict[str, Any]:
    X, y = smooth(300)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"kernel": "laplace", "checkpoint": folder}
        RFMRegressor(time_limit=1e-9, **options).fit(X, y)
        return result(RFMRegressor(**options).fit(X, y), smooth(64, seed=1)[0])


@case
def compressed() -> dict[str, Any]:
    X, y = smooth(300)
    small = RFMRegressor(preset="fast").fit(X, y).compressed(60)
    return result(small, smooth(64, seed=1)[0]) | {"compression": str(small.compression_)}


@case
def saved_and_loaded() -> dict[str, Any]:
    X, y = labels(200, classes=3)
    with tempfile.TemporaryDirectory() as folder:
        RFMClassifier(preset="fast").fit(X, y).save(Path(folder) / "m.gramian")
        return result(gramian.load(Path(folder) / "m.gramian"), smooth(64, seed=1)[0])


@case
def explained() -> dict[str, Any]:
    X, y = smooth(200)
    model = RFMRegressor(preset="fast").fit(X, y)
    why = model.explain(X[:1])
    why = why[0] if isinstance(why, list | tuple) else why
    return {
        "frame": str(why.to_pandas()) if hasattr(why, "to_pandas") else str(why),
        "directions": model.directions(2).loadings,
        "interactions": model.interactions(3).strength,
        "gradients": model.gradients(X[:5]),
        "transform": model.transform(X[:5]),
        "agop": model.agop_,
        "permutation": str(model.permutation_importances(X, y)) if hasattr(model, "permutation_importances") else "",
    }


# ---- record, compare ---------------------------------------------------------------------------------------------


def record(path: str, only: list[str]) -> None:
    values: dict[str, Any] = {}
    for name, run in CASES.items():
        if only and name not in only:
            continue
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = run()
        except Exception:
            print(f"{name}: failed\n{traceback.format_exc(limit=-4)}", flush=True)
            continue
        values |= {f"{name}/{key}": np.asarray(value) for key, value in found.items()}
        print(f"{name}: {time.perf_counter() - begin:.1f} s", flush=True)
    np.savez(path, **values)


def compare(before: str, after: str) -> int:
    old, new = np.load(before), np.load(after)
    different = 0
    for key in sorted({*old.files, *new.files}):
        if key not in old.files or key not in new.files:
            print(f"{key}: only in {before if key in old.files else after}")
            different += 1
        elif old[key].dtype.kind in "US" or old[key].dtype.kind == "b":
            if not np.array_equal(old[key], new[key]):
                print(f"{key}:\n  {old[key]}\n  {new[key]}")
                different += 1
        elif not np.array_equal(old[key], new[key], equal_nan=True):
            shapes = old[key].shape == new[key].shape
            gap = np.nanmax(np.abs(old[key] - new[key])) if shapes else f"{old[key].shape} and {new[key].shape}"
            print(f"{key}: differs by {gap}")
            different += 1
    cases = {key.split("/")[0] for key in old.files}
    print(f"{len(cases)} fits, {len(old.files)} values, {different} differ")
    return different


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record")
    one.add_argument("path")
    one.add_argument("only", nargs="*")
    two = commands.add_parser("compare")
    two.add_argument("before")
    two.add_argument("after")
    arguments = parser.parse_args()
    if arguments.command == "record":
        if os.environ.get("OMP_NUM_THREADS") != "1":
            print("set OMP_NUM_THREADS=1: sums by several threads have no fixed order", file=sys.stderr)
        record(arguments.path, arguments.only)
    else:
        sys.exit(bool(compare(arguments.before, arguments.after)))
