"""Kills, interrupts and a full disk in the middle of fits: what is left afterwards, with denominators.

    python benchmarks/interruptions.py --out benchmarks/results/interruptions.json

Every trial is a process of its own. A full disk is a limit on the size of files (``RLIMIT_FSIZE``), which gives an
error in the same place; Linux and macOS.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from gramian.core.atomic import atomic_write

COMMON = """
import hashlib, os, resource, signal, sys, warnings
import numpy as np
from gramian import RFMClassifier, RFMRegressor, load
folder, task = sys.argv[1], sys.argv[2]
X = np.random.default_rng(0).normal(size=(600, 6))
y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
if task == "classes":
    y = (y > 0).astype(int)
estimator = RFMClassifier if task == "classes" else RFMRegressor
def bits(model):
    values = model.predict_proba(X) if task == "classes" else model.predict(X)
    return hashlib.sha256(values.tobytes()).hexdigest()
warnings.simplefilter("ignore")
"""
FIT = "\nprint('ready', flush=True)\nprint(bits(estimator(checkpoint=folder).fit(X, y)), flush=True)\n"
REFIT = """
model = estimator(preset="fast").fit(X[:80], y[:80])
before = bits(model)
print("ready", flush=True)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
# A mixture of the old and the new model would not predict the rows that it was fitted to.
good = model.score(X, y) > 0.8
print("old model" if bits(model) == before else "model of the refit" if good else "mixture", flush=True)
"""
FULL = """
model = estimator(preset="fast").fit(X[:80], y[:80])
path = os.path.join(folder, "model.gramian")
model.save(path)
before = bits(model)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
if sys.argv[3] == "save":
    try:
        estimator(preset="fast").fit(X, y).save(path)
        print("saved", flush=True)
    except OSError:
        rest = sorted(os.listdir(folder))
        print("old file whole" if rest == ["model.gramian"] and bits(load(path)) == before else "damaged", flush=True)
else:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        expected = bits(estimator(preset="fast").fit(X, y))
        done = bits(estimator(preset="fast", checkpoint=folder).fit(X, y))
    said = any("checkpoint" in str(one.message) for one in found)
    print("fit goes on with a warning" if said and done == expected else "other", flush=True)
"""


def start(code: str, *words: str) -> subprocess.Popen[str]:
    """Start a process and wait until its fit begins, where the code says so."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", COMMON + code, *words]
    # A shell that runs this script in the background has SIGINT ignored; the trial must not inherit that.
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )  # fmt: skip


def answer(process: subprocess.Popen[str]) -> str:
    """Return the last line of a process; empty if it was killed."""
    out = process.communicate()[0].split()
    return " ".join(word for word in out if word != "ready")


def ended_midway(code: str, task: str, how: signal.Signals, delay: float, folder: str) -> tuple[str, bool]:
    """Send a signal some seconds after the fit begins; return what the process printed, and whether it had ended."""
    process = start(code, folder, task)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    over = process.poll() is not None
    process.send_signal(how)
    return answer(process), over


def kills(trials: int, rng: random.Random) -> Counter[str]:
    """Kill fits that have a checkpoint, start them again, and compare the bits with those of an undisturbed fit."""
    found: Counter[str] = Counter()
    for task in ("numbers", "classes"):
        with tempfile.TemporaryDirectory() as folder:
            process = start(FIT, folder, task)
            assert process.stdout is not None
            process.stdout.readline()
            begin = time.perf_counter()
            expected = answer(process)
            seconds = time.perf_counter() - begin
        for _ in range(trials // 2):
            with tempfile.TemporaryDirectory() as folder:
                _, over = ended_midway(FIT, task, signal.SIGKILL, rng.uniform(0, 0.6 * seconds), folder)
                same = answer(start(FIT, folder, task)) == expected
                found["ended before the kill" if over else "same bits" if same else "other bits"] += 1
    return found


def interrupts(trials: int, rng: random.Random) -> Counter[str]:
    """Interrupt the refit of a fitted estimator, as Ctrl-C does."""
    found: Counter[str] = Counter()
    for i in range(trials):
        with tempfile.TemporaryDirectory() as folder:
            task = ("numbers", "classes")[i % 2]
            found[ended_midway(REFIT, task, signal.SIGINT, rng.uniform(0, 1.0), folder)[0] or "ended"] += 1
    return found


def full_disks(trials: int) -> Counter[str]:
    """Save a model and a checkpoint where no file may grow beyond 4 kB."""
    found: Counter[str] = Counter()
    for i in range(trials):
        for what in ("save", "checkpoint"):
            with tempfile.TemporaryDirectory() as folder:
                found[f"{what}: {answer(start(FULL, folder, ('numbers', 'classes')[i % 2], what))}"] += 1
    return found


def markdown(record: dict[str, Any]) -> str:
    """Return the record as a table."""
    lines = ["| | trials | outcome |", "|---|---|---|"]
    for name, found in record["trials"].items():
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
        lines.append(f"| {name} | {sum(found.values())} | {outcomes} |")
    return "\n".join(lines)


def main() -> None:
    """Run all trials, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rng = random.Random(0)
    record = {
        "trials": {
            "kill −9 with a checkpoint, then the same fit again": kills(arguments.trials, rng),
            "Ctrl-C in the refit of a fitted estimator": interrupts(arguments.trials, rng),
            "no space for files": full_disks(arguments.trials // 4),
        }
    }
    print(markdown(record))
    if arguments.out:
        atomic_write(arguments.out, json.dumps(record, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
