"""After fits on 10,000 diamonds: how long an explanation takes, how large the file is, and that it predicts the same.

The raw frame with the default estimator, and one machine each of two kernels. The default model is saved, loaded in a
fresh process, and its predictions there are compared bit for bit.

GRAMIAN_DATA=... python benchmarks/explain_speed.py [rows]
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from gramian import RFMRegressor
from gramian.datasets import diamonds

REPEATS = 50
FRESH = """
import sys, numpy as np, gramian
from gramian.datasets import diamonds
rows = np.load(sys.argv[2])
np.save(sys.argv[3], gramian.load(sys.argv[1]).predict(diamonds().X.iloc[rows]))
"""


def main(n: int) -> None:
    data = diamonds()
    X, y = data.X, data.y
    order = np.random.default_rng(0).permutation(len(y))
    train, new = order[:n], order[n : n + REPEATS]
    models = {
        "default": RFMRegressor(),
        "laplace": RFMRegressor(kernel="laplace", update="agop", n_rounds=1, select_round="last", ridge=1e-2),
        "lp": RFMRegressor(kernel="lp", update="agop-diagonal", n_rounds=1, select_round="last", ridge=1e-2),
    }
    for name, model in models.items():
        begin = time.perf_counter()
        model.fit(X.iloc[train], y[train])
        machines = len(model.ensemble_.machines)
        print(f"{name}: fitted in {time.perf_counter() - begin:.1f} s, {machines} machines, {model.target_transform_}")
        model.explain(X.iloc[[new[0]]])
        for method in ("path", "gradient"):
            wall, work, found = [], [], []
            for i in new:
                row, started, busy = X.iloc[[i]], time.perf_counter(), time.process_time()
                found.append(model.explain(row, method=method))
                wall.append(time.perf_counter() - started)
                work.append(time.process_time() - busy)
            gap = [abs(e.gap) / np.abs(e.contributions).sum() for e in found]
            print(
                f"{name:8} {method:8} wall {1e3 * np.median(wall):5.1f} ms, "
                f"processor {1e3 * np.median(work):5.1f} ms, "
                f"nodes at most {max(e.nodes for e in found)}, gap at most {max(gap):.1e} of all contributions"
            )
    same_elsewhere(models["default"], X, new)


def same_elsewhere(model: RFMRegressor, X, rows: np.ndarray) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, at, out = (Path(folder) / name for name in ("model.gramian", "rows.npy", "predictions.npy"))
        model.save(path)
        np.save(at, rows)
        subprocess.run([sys.executable, "-c", FRESH, str(path), str(at), str(out)], check=True)
        same = bool((np.load(out) == model.predict(X.iloc[rows])).all())
        print(f"saved: {path.stat().st_size / 1e6:.1f} MB; the same bits in a fresh process: {same}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
