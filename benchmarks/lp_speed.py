"""How much slower the ℓp kernels are than the Euclidean Laplace kernel: values, products, gradients and AGOP moments.

    python benchmarks/lp_speed.py [rows] [columns]

Each time is the best of a few; the table shows milliseconds and the ratio to the Laplace kernel in the same run, at the
same number of threads (OMP_NUM_THREADS). Processor time is measured, so that a busy machine disturbs less.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

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


def main() -> None:
    n, d = (int(a) for a in (*sys.argv[1:], *("3000", "30")[len(sys.argv) - 1 :]))
    rng = torch.Generator().manual_seed(0)
    print(f"{n} rows, {d} columns, {torch.get_num_threads()} threads")
    for dtype in (torch.float32, torch.float64):
        X = torch.randn(n, d, generator=rng, dtype=dtype)
        base: dict[str, float] = {}
        for name, kernel in KERNELS.items():
            times = {task: best(run, repeats=5) for task, run in tasks(kernel, X, rng).items()}
            base = base or times
            if base is times:
                print(f"\n{str(dtype)[6:]:16}" + "".join(f"{task:>20}" for task in times))
            print(
                f"{name:16}" + "".join(f"{ms:11.0f} ({ms / base[task]:5.1f}×)" for task, ms in times.items()),
                flush=True,
            )


if __name__ == "__main__":
    main()
