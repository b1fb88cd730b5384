"""RFM fits beside xRFM's `RFM`: same kernel, bandwidth, ridge, rounds, data and validation rows.

Every fit runs in a process of its own, ours and the peer's in turn, so peak memory is that fit's and a busy machine
disturbs both alike. Both have fitted 200 rows before: pages of libraries that come with the first call (some 20 MB)
are no part of either. Ours choose their solver themselves: beyond 4,000 rows iterations, to the residual that a direct
solve is held to in the round that is kept, with the AGOP averaged over 2,000 random rows. The machine's own bound is
the time the arithmetic of the direct algorithm takes at the rates of matrix products, Cholesky factorisation and
elementwise functions measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

D, ROUNDS, BANDWIDTH, RIDGE = 50, 5, 10.0, 1e-3
AGOP_ROWS = 2000
"""Training rows our AGOP is averaged over, drawn at random; all of them up to as many rows."""
_FIRST_ROWS = 200
"""Rows of a fit before the one that is measured."""
TASKS = {"one output": 1, "ten classes": 10}


def make_data(task: str, n: int):
    """Train, validation and test rows of a smooth function of five directions; or ten classes made from it."""
    import numpy as np

    rng = np.random.default_rng(n)
    U = np.linalg.qr(rng.normal(size=(D, 5)))[0]
    centers = rng.normal(size=(10, 5)) * 1.2
    parts = []
    for rows in (n, 1000, 5000):
        X = rng.normal(size=(rows, D)).astype(np.float32)
        Z = X @ U
        if task == "one output":
            y = np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.5 * Z[:, 3] ** 2 + 0.1 * rng.normal(size=rows)
        else:
            distance = ((Z[:, None, :] - centers[None]) ** 2).sum(axis=2)
            y = (distance + 0.5 * rng.gumbel(size=distance.shape)).argmin(axis=1)
        parts.append((X, y))
    return parts


def memory(field: str) -> int:
    """``VmRSS`` (now) or ``VmHWM`` (peak) of this process in bytes, as Linux tells."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def fit_ours(task: str, train, val, test):
    from gramian import RFMClassifier, RFMRegressor
    from gramian.features import Agop
    from gramian.kernels import Laplace

    # The target as it is: another scale would be another model.
    estimator = partial(RFMRegressor, target_transform=None) if task == "one output" else RFMClassifier
    model = estimator(
        kernel=Laplace(BANDWIDTH),
        update=Agop(max_rows=AGOP_ROWS),
        n_rounds=ROUNDS,
        ridge=RIDGE,
        standardize=False,
        dtype="float32",
    )
    begin = time.perf_counter()
    model.fit(*train, eval_set=val)
    return time.perf_counter() - begin, scored(task, model.predict(test[0]), test[1])


def fit_peer(task: str, train, val, test):
    import numpy as np
    import opt_einsum  # noqa: F401  # without it the peer builds an array of outputs × n × n
    import torch
    from xrfm import RFM

    def targets(y):
        if task == "one output":
            return torch.tensor((y - train[1].mean()) / train[1].std(), dtype=torch.float32)[:, None]
        return torch.nn.functional.one_hot(torch.tensor(y), 10).float()

    X, Xv, Xt = (torch.from_numpy(part[0]) for part in (train, val, test))
    y, yv = targets(train[1]), targets(val[1])
    model = RFM(
        "laplace",
        iters=ROUNDS,
        bandwidth=BANDWIDTH,
        device="cpu",
        verbose=False,
        tuning_metric="mse",  # both choose their round by the squared error on the validation rows
    )
    begin = time.perf_counter()
    model.fit((X, y), (Xv, yv), reg=RIDGE, verbose=False, early_stop_rfm=False, total_points_to_sample=len(X))
    seconds = time.perf_counter() - begin
    out = np.asarray(model.predict(Xt))
    if task == "one output":
        return seconds, scored(task, out.ravel() * train[1].std() + train[1].mean(), test[1])
    return seconds, scored(task, out.argmax(axis=1) if out.ndim == 2 and out.shape[1] > 1 else out.ravel(), test[1])


def scored(task: str, out, truth) -> float:
    """R² or accuracy by the same lines for both: a library of metrics would count as memory of whoever loads it."""
    if task == "one output":
        return 1 - ((out - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
    return float((out == truth).mean())


def child(who: str, task: str, n: int) -> None:
    train, val, test = make_data(task, n)
    fit = fit_ours if who == "gramian" else fit_peer
    first = train[0][:_FIRST_ROWS], train[1][:_FIRST_ROWS]
    fit(task, first, first, first)
    reset_peak()  # what importing took for a moment is not the fit's
    before = memory("VmRSS")
    seconds, score = fit(task, train, val, test)
    print(json.dumps({"seconds": seconds, "score": float(score), "peak_bytes": memory("VmHWM") - before}))


def machine_rates() -> dict[str, float]:
    """Operations per second of this machine, now: products and Cholesky in float32, sqrt+exp per element."""
    import torch

    from gramian.solvers.cholesky import CholeskyFactor

    def best(action, repeats=5):
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            action()
            times.append(time.perf_counter() - begin)
        return min(times)

    A = torch.randn(4096, 4096, generator=torch.Generator().manual_seed(0))
    gemm = 2 * 4096**3 / best(lambda: A @ A)
    n = 6000
    K = torch.eye(n) + 0.5 / n
    own = n**3 / 3 / best(lambda: CholeskyFactor(K.clone()).factorize(1.0), 3)
    torchs = n**3 / 3 / best(lambda: torch.linalg.cholesky(K), 3)
    tile = torch.rand(512, 512)
    elements = tile.numel() / best(lambda: tile.clone().sqrt_().exp_(), 50)
    return {"gemm": gemm, "cholesky": max(own, torchs), "elements": elements}


def bound_seconds(rates: dict[str, float], n: int, outputs: int) -> float:
    """The exact algorithm's arithmetic, each symmetric quantity computed once."""
    distances = n * n * D / rates["gemm"] + n * n / 2 / rates["elements"]
    solve = n**3 / 3 / rates["cholesky"]
    gradients = distances + 2 * n * n * D * outputs / rates["gemm"]
    return (ROUNDS + 1) * (distances + solve) + ROUNDS * gradients


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", help="python of an environment with xrfm and opt_einsum")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 5000, 10_000, 20_000])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--repeats", type=int, default=3, help="runs below 10,000 rows; one from there on")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="print a recorded run as a table and stop")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.table:
        print(markdown(json.loads(args.table.read_text())))
        return
    if args.child:
        child(args.child[0], args.child[1], int(args.child[2]))
        return
    pythons = {"gramian": sys.executable} | ({"xrfm": args.peer_python} if args.peer_python else {})
    rows = json.loads(args.out.read_text()) if args.out and args.out.exists() else []
    for n in args.sizes:
        for task, outputs in TASKS.items():
            if task not in args.tasks:
                continue
            runs: dict[str, list[dict]] = {who: [] for who in pythons}
            rates = machine_rates()
            for _ in range(args.repeats if n < 10_000 else 1):
                for who, python in pythons.items():
                    command = [python, __file__, "--child", who, task, str(n)]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    runs[who].append(json.loads(done.stdout.strip().splitlines()[-1]))
            row = {"n": n, "task": task, "bound_seconds": bound_seconds(rates, n, outputs), "rates": rates}
            for who, results in runs.items():
                row[who] = {
                    "seconds": min(r["seconds"] for r in results),
                    "score": results[0]["score"],
                    "peak_mb": max(r["peak_bytes"] for r in results) / 1e6,
                }
            # Each row is a comparison of its own; one that is measured again takes the place of the older.
            rows = [old for old in rows if (old["n"], old["task"]) != (n, task)] + [row]
            rows.sort(key=lambda row: (row["n"], list(TASKS).index(row["task"])))
            print(describe(row), flush=True)
            if args.out:
                args.out.parent.mkdir(parents=True, exist_ok=True)
                args.out.write_text(json.dumps(rows, indent=1))


def markdown(rows: list[dict]) -> str:
    """The table of docs/peers.md."""
    lines = [
        "| task | rows | gramian | of the machine's bound | xRFM | times faster | memory | test score, ours / theirs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, peer = row["gramian"], row["xrfm"]
        lines.append(
            f"| {row['task']} | {row['n']:,} | {ours['seconds']:.2f} s | {ours['seconds'] / row['bound_seconds']:.2f}× "
            f"| {peer['seconds']:.2f} s | {peer['seconds'] / ours['seconds']:.1f}× "
            f"| {ours['peak_mb']:.0f} of {peer['peak_mb']:.0f} MB | {ours['score']:.4f} / {peer['score']:.4f} |"
        )
    return "\n".join(lines)


def describe(row: dict) -> str:
    ours, peer = row["gramian"], row.get("xrfm")
    text = f"{row['task']:11} n={row['n']:6}  gramian {ours['seconds']:7.2f} s"
    text += f" = {ours['seconds'] / row['bound_seconds']:.2f} bounds  score {ours['score']:.4f}"
    text += f"  peak {ours['peak_mb']:.0f} MB"
    if peer:
        text += f"  |  xRFM {peer['seconds']:7.2f} s = {peer['seconds'] / ours['seconds']:.1f}×"
        text += f"  score {peer['score']:.4f}  peak {peer['peak_mb']:.0f} MB = {peer['peak_mb'] / ours['peak_mb']:.1f}×"
    return text


if __name__ == "__main__":
    main()
