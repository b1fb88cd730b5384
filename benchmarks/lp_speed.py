"""Speed of the ℓp kernels beside the Euclidean Laplace kernel: values, products, gradients and AGOP moments.

    python benchmarks/lp_speed.py [--rows N] [--columns D] [--out FILE]

Each time is the best of a few; the table shows milliseconds and the ratio to the Laplace kernel in the same run, at the
same number of threads (OMP_NUM_THREADS). Processor time is measured, so that a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from gramian.kernels import Kernel, KernelOperator, Laplace, Lp, gradient_moments

KERNELS: dict[str, Kernel] = {
    "Laplace": Laplace(8.0),
    "Lp(p=1)": Lp(40.0),
    "Lp(p=1, q=0.7)": Lp(40.0, exponent=0.7),
    "Lp(p=1.5)": Lp(15.0, p=1.5),
    "Lp(p=2)": Lp(8.0, p=2.0),
    "Lp(p=1.3)": Lp(20.0, p=1.3),
}


def tasks(kernel: Kernel, X: torch.Tensor, rng: torch.Generator) -> dict[str, Callable[[], object]]:
    n = X.shape[0]
    operator = KernelOperator(kernel, X)
    room = X.new_empty(n, n)
    one, ten = (torch.randn(n, c, generator=rng, dtype=X.dtype) for c in (1, 10))
    return {
        "fill": lambda: operator.fill(room),
        "matmul": lambda: operator.matmul(one),
        "moments, 1 output": lambda: gradient_moments(operator, one),
        "moments, 10": lambda: gradient_moments(operator, ten),
        "gradient": lambda: operator.gradient(X, one),
        "predict": lambda: operator.predict(X, one),
    }


def best(task: Callable[[], object], repeats: int) -> float:
    task()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def markdown(record: dict) -> str:
    """The float32 ratios as a table."""
    rows = record["ratios"]["float32"]
    lines = ["| kernel | " + " | ".join(rows["Laplace"]) + " |", "|---" * (len(rows["Laplace"]) + 1) + "|"]
    return "\n".join(lines + [f"| {name} | " + " | ".join(map(str, row.values())) + " |" for name, row in rows.items()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--out", type=Path, help="Write the ratios here, as JSON.")
    options = parser.parse_args()
    rng = torch.Generator().manual_seed(0)
    print(f"{options.rows} rows, {options.columns} columns, {torch.get_num_threads()} threads")
    ratios: dict[str, dict[str, dict[str, float]]] = {}
    for dtype in (torch.float32, torch.float64):
        X = torch.randn(options.rows, options.columns, generator=rng, dtype=dtype)
        base: dict[str, float] = {}
        for name, kernel in KERNELS.items():
            times = {task: best(run, repeats=5) for task, run in tasks(kernel, X, rng).items()}
            base = base or times
            if base is times:
                print(f"\n{str(dtype)[6:]:16}" + "".join(f"{task:>20}" for task in times))
            row = {task: round(ms / base[task], 1) for task, ms in times.items()}
            print(f"{name:16}" + "".join(f"{ms:11.0f} ({row[task]:5.1f}×)" for task, ms in times.items()), flush=True)
            ratios.setdefault(str(dtype)[6:], {})[name] = row
    if options.out is not None:
        sizes = {"rows": options.rows, "columns": options.columns, "threads": torch.get_num_threads()}
        options.out.write_text(json.dumps(sizes | {"ratios": ratios}, indent=1) + "\n")


if __name__ == "__main__":
    main()
