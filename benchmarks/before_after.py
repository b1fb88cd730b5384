"""Time and peak memory of the same fits with two versions of the source, in one run.

    git worktree add /tmp/before SOME_COMMIT
    python benchmarks/before_after.py /tmp/before/src src --repeats 3

Every fit runs in a process of its own, the two versions in turn, so that a busy machine disturbs both alike. The fits
are those of ``peer_rfm.py`` (fixed kernel, five rounds, evaluation set) and of the default estimator. The ratio is that
of the smallest times, which a busy machine disturbs least. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

FITS = {
    "default, 1,000 rows": ("default", "one output", 1000),
    "default, 10,000 rows": ("default", "one output", 10_000),
    "five rounds, 5,000 rows": ("rounds", "one output", 5000),
    "five rounds, 10,000 rows": ("rounds", "one output", 10_000),
    "five rounds, 5,000 rows, ten classes": ("rounds", "ten classes", 5000),
}


def child(kind: str, task: str, rows: int) -> None:
    from gramian import RFMClassifier, RFMRegressor
    from gramian.features import Agop
    from gramian.kernels import Laplace
    from peer_rfm import D, memory, reset_peak
    from peer_rfm import make_data as draw

    train, validation, test = draw(task, rows)
    estimator = RFMRegressor if task == "one output" else RFMClassifier
    options, fit_options = {}, {}
    if kind == "rounds":
        name = "max_rows" if "max_rows" in Agop().get_params() else "samples"  # its name in older versions
        update = Agop().with_params(**{name: 2000})
        options = {"kernel": Laplace(10.0), "update": update, "n_rounds": 5, "ridge": 1e-3, "standardize": False}
        fit_options = {"eval_set": validation}
    estimator(**options).fit(
        train[0][:200], train[1][:200], **fit_options
    )  # pages of libraries come with the first fit
    reset_peak()
    before = memory("VmRSS")
    begin = time.perf_counter()
    model = estimator(**options).fit(*train, **fit_options)
    seconds = time.perf_counter() - begin
    peak = memory("VmHWM") - before
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "score": model.score(*test), "columns": D}))


def measure(source: str, kind: str, task: str, rows: int) -> dict[str, float]:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(source).resolve()), str(Path(__file__).parent)])
    }
    command = [sys.executable, __file__, "--child", kind, task, str(rows)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?")
    parser.add_argument("after", nargs="?")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", nargs=3)
    arguments = parser.parse_args()
    if arguments.child:
        kind, task, rows = arguments.child
        child(kind, task, int(rows))
        return
    print("fit                                    before s  after s  ratio   before MB  after MB   score before  after")
    for name, fit in FITS.items():
        runs: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
        for _ in range(arguments.repeats):
            for version in runs:
                runs[version].append(measure(getattr(arguments, version), *fit))
        best = {version: min(one["seconds"] for one in found) for version, found in runs.items()}
        peak = {version: min(one["peak_bytes"] for one in found) / 1e6 for version, found in runs.items()}
        scores = {version: found[0]["score"] for version, found in runs.items()}
        ratio = best["after"] / best["before"]
        print(
            f"{name:38} {best['before']:8.2f} {best['after']:8.2f} {ratio:6.3f} {peak['before']:10.0f} "
            f"{peak['after']:9.0f} {scores['before']:14.6f} {scores['after']:.6f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
