"""A classification network on MNIST, watched while it trains: UC-NFA and C-NFA over training, then the full
report.

    GRAMIAN_DATA=/folder python benchmarks/nets_mnist.py [output folder] [training rows] [epochs]

Writes report.html, report.png, layer.png, training.png into the output folder and prints the report.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from gramian.nets import Monitor, compare, inspect
from gramian.report import plot_history, plot_layer, plot_report


def mnist(part: str, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    folder = Path(os.environ["GRAMIAN_DATA"]) / "mnist"
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:rows]
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)[:rows]
    return torch.from_numpy(X / np.float32(255)), torch.from_numpy(y.astype(np.int64))


def network(width: int = 256) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Linear(784, width), nn.ReLU(inplace=True), nn.Linear(width, width), nn.ReLU(inplace=True),
            nn.Linear(width, width), nn.ReLU(inplace=True), nn.Linear(width, 10),
        )  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "mnist-report")
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    folder.mkdir(parents=True, exist_ok=True)
    X, y = mnist("train", rows)
    X_test, y_test = mnist("t10k", 10000)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    batch = 128
    steps = epochs * (rows // batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    monitor = Monitor(model, (X[:1000], y[:1000]), "cross_entropy", every=max(steps // 25, 1), optimizer=optimizer)
    before = inspect(model, (X[:1000], y[:1000]), "cross_entropy", weight_decay=optimizer)
    rng = torch.Generator().manual_seed(0)
    inside = 0.0
    start = time.perf_counter()
    for _ in range(epochs):
        for rows_of in torch.randperm(rows, generator=rng)[: rows // batch * batch].split(batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(X[rows_of]), y[rows_of]).backward()
            tick = time.perf_counter()
            monitor.step()
            inside += time.perf_counter() - tick
            optimizer.step()
            schedule.step()
    monitor.measure()
    total = time.perf_counter() - start
    with torch.no_grad():
        train = (model(X).argmax(1) == y).float().mean()
        test = (model(X_test).argmax(1) == y_test).float().mean()
    print(
        f"train accuracy {train:.4f}, test accuracy {test:.4f}, {total:.0f} s, of which {inside:.0f} s in the monitor"
    )
    # On all training rows: FACT speaks about the very loss that was trained.
    report = inspect(model, (X, y), "cross_entropy", weight_decay=optimizer, initial=monitor.initial)
    print(report)
    print(compare(before, report))
    history = monitor.to_pandas()
    shown = [f"{layer}/{name}" for layer in report.layers for name in ("nfa_cos", "c_nfa_cos", "vcs_pearson")]
    print(history[[name for name in shown if name in history]].iloc[::6].round(3).T.to_string())
    style = "<meta charset='utf-8'><body style='margin:24px;background:#fff'>"
    (folder / "report.html").write_text(style + report._repr_html_(), encoding="utf-8")
    plot_report(report).savefig(folder / "report.png", dpi=110)
    plot_layer(report, report.layers[0]).savefig(folder / "layer.png", dpi=110)
    plot_layer(report, report.layers[1]).savefig(folder / "layer1.png", dpi=110)
    plot_history(monitor).savefig(folder / "training.png", dpi=110)


if __name__ == "__main__":
    main()
