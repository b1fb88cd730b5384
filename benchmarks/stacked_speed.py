"""Speed of many small networks trained in a stack and one by one: paper C's networks, torch.optim beside ours.

``python benchmarks/stacked_speed.py [--out FILE]`` measures in one thread; seconds are of the processor, so that other
work on the machine counts little.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn

from gramian.experiments.c_deep_nfa.setting import PAPER_EPOCHS, PAPER_RATE, StackTraining, data, network, rule
from gramian.experiments.stacked import train

NETWORKS = 8
STEPS = {"gdm": 30, "sgdm": 128, "adam": 128}


def one_by_one(training, X, Y, steps):
    """The plain loop over one network, seconds per step."""
    depth = training.depth
    layers = [nn.Linear(20 if l == 0 else 64, 64, bias=l == depth - 1) for l in range(depth)]
    module = nn.Sequential(*layers, nn.ReLU(), nn.Linear(64, 1)).to(X.dtype)
    decayed = [p for p in module.parameters() if p.dim() == 2]
    other = [p for p in module.parameters() if p.dim() == 1]
    groups = [{"params": decayed, "weight_decay": 1e-3}, {"params": other, "weight_decay": 0.0}]
    rate = PAPER_RATE[training.optimiser]
    if training.optimiser == "adam":
        optimiser = torch.optim.Adam(groups, lr=rate)
    else:
        optimiser = torch.optim.SGD(groups, lr=rate, momentum=0.9)
    criterion = nn.MSELoss()
    size = len(X) if training.optimiser == "gdm" else 64

    def run(count):
        for step in range(count):
            rows = slice((step * size) % len(X), (step * size) % len(X) + size)
            optimiser.zero_grad()
            criterion(module(X[rows]), Y[0, rows]).backward()
            optimiser.step()

    run(10)
    return clock(lambda: run(steps)) / steps


def stacked(training, X, Y, steps):
    """Seconds per step and network."""
    stack, move = network(training, 0, X.dtype), rule(training)
    batch = None if training.optimiser == "gdm" else 64
    epochs = steps if batch is None else steps // (len(X) // batch)

    def run(count):
        train(stack, X, Y, move, epochs=count, batch=batch, rng=torch.Generator().manual_seed(0))

    run(1)
    return clock(lambda: run(epochs)) / steps / len(stack)


def clock(work, repeats=3):
    """The least processor time of some repeats."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "stacked_speed.json")
    out = parser.parse_args().out
    torch.set_num_threads(1)
    rows = []
    for dtype in (torch.float32, torch.float64):
        for optimiser, steps in STEPS.items():
            for depth in (2, 5):
                training = StackTraining(5, optimiser, depth, PAPER_RATE[optimiser], 1, noises=(0.0, 1.0))
                X, Y = (T.to(dtype) for T in data(training, 0))
                alone, ours = one_by_one(training, X, Y, steps), stacked(training, X, Y, steps)
                row = {
                    "dtype": str(dtype).removeprefix("torch."),
                    "optimiser": optimiser,
                    "linear layers": depth,
                    "networks": NETWORKS,
                    "microseconds per step, one by one": round(1e6 * alone, 1),
                    "microseconds per step and network, stacked": round(1e6 * ours, 1),
                    "gain": round(alone / ours, 2),
                    "seconds per training of the paper, stacked": round(
                        ours * PAPER_EPOCHS * (1 if optimiser == "gdm" else 32), 1
                    ),
                }
                rows.append(row)
                print(row)
    out.parent.mkdir(exist_ok=True, parents=True)
    out.write_text(json.dumps({"torch": torch.__version__, "threads": 1, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
