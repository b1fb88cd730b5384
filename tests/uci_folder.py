"""A synthetic data folder in the layout of the UCI sets."""

import json
from pathlib import Path

import numpy as np


def write_uci_folder(home: Path) -> Path:
    """Write two sets in the layout of uci121, the sign of a column and three bands of one; return the folder."""
    rng = np.random.default_rng(0)
    arrays, entries = {}, []
    for name, n, cuts in (("bands", 60, [-0.5, 0.5]), ("sign", 40, [0.0])):
        X = rng.normal(size=(n, 3))
        order = rng.permutation(n)
        arrays |= {f"{name}/X": X, f"{name}/y": np.digitize(X[:, 0], cuts)}
        arrays |= {f"{name}/fold0": order[: n // 2], f"{name}/fold1": order[n // 2 :]}
        for i in range(4):
            part = rng.permutation(n)
            arrays |= {f"{name}/kfold{2 * i}": part[: 3 * n // 4], f"{name}/kfold{2 * i + 1}": part[3 * n // 4 :]}
        entries.append({"name": name, "n1": n, "n2": 0, "ok": True})
    (home / "uci121").mkdir(parents=True)
    np.savez(home / "uci121/uci121.npz", **arrays)
    (home / "uci121/manifest.json").write_text(json.dumps(entries))
    return home
