"""How long an explanation takes after a fit on 10,000 diamonds: wall and processor time, nodes, gap.

GRAMIAN_DATA=... python benchmarks/explain_speed.py [rows]
"""

import sys
import time

import numpy as np
import pandas as pd

from gramian import RFMRegressor
from gramian.datasets import diamonds

REPEATS = 50


def main(n: int) -> None:
    data = diamonds()
    X, y = pd.get_dummies(data.X).astype(float), np.log(data.y)
    order = np.random.default_rng(0).permutation(len(y))
    train, new = order[:n], order[n : n + REPEATS]
    print(f"{n} rows, {X.shape[1]} columns")
    for kernel, update in (("laplace", "agop"), ("lp", "agop-diagonal")):
        model = RFMRegressor(kernel=kernel, update=update, n_rounds=1, select_round="last", ridge=1e-2)
        model.fit(X.iloc[train], y[train])
        model.explain(X.iloc[new[0]])
        for method in ("path", "gradient"):
            wall, work, found = [], [], []
            for i in new:
                row, started, busy = X.iloc[[i]], time.perf_counter(), time.process_time()
                found.append(model.explain(row, method=method))
                wall.append(time.perf_counter() - started)
                work.append(time.process_time() - busy)
            gap = [abs(e.gap) / np.abs(e.contributions).sum() for e in found]
            print(
                f"{kernel:8} {method:8} wall {1e3 * np.median(wall):5.1f} ms, "
                f"processor {1e3 * np.median(work):5.1f} ms, "
                f"nodes at most {max(e.nodes for e in found)}, gap at most {max(gap):.1e} of all contributions"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
