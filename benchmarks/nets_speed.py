"""All feature matrices of a 5-layer MLP (width 1024, 10 outputs) on MNIST rows: gramian beside torch.func
Jacobians.

    GRAMIAN_DATA=/folder python benchmarks/nets_speed.py [rows]

Four ways to the same AGOP, PTK, eNFA and FACT of every layer:
  gramian      one backward pass per output for all layers at once, streamed
  func, suffix vmap(jacrev) of the rest of the network at each layer: the shortest code one would write
  func, loop   the same, one sample at a time (on a tenth of the rows, its time multiplied by ten)
  func, probes vmap(jacrev) with respect to zero probes at every pre-activation, all layers in one call
The results are compared, and the memory of gramian is measured at 2,000 and 20,000 rows in processes of
their own.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.func import grad, jacrev, vmap

from gramian.nets import inspect

LAM = 1e-4


def mnist(rows: int, scale: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    folder = Path(os.environ["GRAMIAN_DATA"]) / "mnist"
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)[:rows]
    with gzip.open(folder / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)[:rows]
    return torch.from_numpy(X / np.float32(255) if scale else X.copy()), torch.from_numpy(y.astype(np.int64))


def network() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = [784, 1024, 1024, 1024, 1024, 10]
        parts: list[nn.Module] = []
        for a, b in itertools.pairwise(sizes):
            parts += [nn.Linear(a, b), nn.ReLU()]
        return nn.Sequential(*parts[:-1])


def by_gramian(model: nn.Sequential, X: torch.Tensor, y: torch.Tensor) -> dict[str, dict[str, torch.Tensor]]:
    # No target linearity or neural collapse: the peers do not compute it either.
    report = inspect(model, (X, y), "cross_entropy", weight_decay=LAM, batch_size=250, geometry=False)
    return {name: {key: torch.from_numpy(report.matrix(name, key)) for key in ("agop", "ptk", "enfa", "fact")}
            for name in report.layers}  # fmt: skip


def stream(model: nn.Sequential, X: torch.Tensor, y: torch.Tensor, rows: int) -> None:
    """Batches made one at a time from bytes, as a loader would."""
    batches = ((x.float() / 255, t) for x, t in zip(X[:rows].split(250), y[:rows].split(250), strict=True))
    inspect(model, batches, "cross_entropy", weight_decay=LAM, outputs=4, geometry=False)


def outer(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    return (A.flatten(0, -2).mT @ B.flatten(0, -2)).double()


def by_suffix(
    model: nn.Sequential, X: torch.Tensor, y: torch.Tensor, chunk: int, each=vmap
) -> dict[str, dict[str, torch.Tensor]]:
    """At every linear layer: per-sample Jacobians of the rest of the network with respect to its input and
    output."""
    total: dict[str, dict[str, torch.Tensor]] = {}
    n = len(X)
    for x, t in zip(X.split(chunk), y.split(chunk), strict=True):
        h = x
        for j, module in enumerate(model):
            if isinstance(module, nn.Linear):
                rest, after = model[j:], model[j + 1 :]
                z = module(h).detach()
                loss = lambda v, s, rest=rest: nn.functional.cross_entropy(rest(v[None]), s[None])  # noqa: E731
                J = each(jacrev(lambda v, rest=rest: rest(v)))(h)
                Jz = each(jacrev(lambda v, after=after: after(v)))(z)
                V = each(grad(loss))(h, t)
                found = {"agop": outer(J, J) / n, "ptk": outer(Jz, Jz) / n, "enfa": outer(V, V) / n,
                         "fact": -outer(V, h) / (n * LAM)}  # fmt: skip
                into = total.setdefault(str(j), {})
                for key, value in found.items():
                    into[key] = into[key] + value if key in into else value
            h = module(h).detach()
    return total


def by_probes(model: nn.Sequential, X: torch.Tensor, y: torch.Tensor, chunk: int) -> dict[str, dict[str, torch.Tensor]]:
    """Per-sample Jacobians with respect to every pre-activation in one jacrev; inputs' follow by W."""
    linear = [(str(j), module) for j, module in enumerate(model) if isinstance(module, nn.Linear)]

    def forward(probes: list[torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        inputs, left = [], list(probes)
        for module in model:
            if isinstance(module, nn.Linear):
                inputs.append(x)
                x = module(x) + left.pop(0)
            else:
                x = module(x)
        return x, inputs

    def loss(probes: list[torch.Tensor], x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(forward(probes, x)[0][None], t[None])

    total: dict[str, dict[str, torch.Tensor]] = {}
    zeros = [torch.zeros(module.out_features) for _, module in linear]
    n = len(X)
    for x, t in zip(X.split(chunk), y.split(chunk), strict=True):
        Jz, H = vmap(jacrev(forward, has_aux=True), in_dims=(None, 0))(zeros, x)
        Vz = vmap(grad(loss), in_dims=(None, 0, 0))(zeros, x, t)
        for (name, module), J, h, v in zip(linear, Jz, H, Vz, strict=True):
            W = module.weight.detach()
            K, V = outer(J, J) / n, v @ W
            found = {
                "agop": W.mT.double() @ K @ W.double(),
                "ptk": K,
                "enfa": outer(V, V) / n,
                "fact": -outer(V, h) / (n * LAM),
            }
            into = total.setdefault(name, {})
            for key, value in found.items():
                into[key] = into[key] + value if key in into else value
    return total


def one_by_one(function):
    """What vmap does, as a loop over samples."""
    return lambda *inputs: torch.stack([function(*sample) for sample in zip(*inputs, strict=True)])


def by_loop(model: nn.Sequential, X: torch.Tensor, y: torch.Tensor, chunk: int) -> dict[str, dict[str, torch.Tensor]]:
    """The same Jacobians one sample at a time; their products are still taken over the whole chunk."""
    return by_suffix(model, X, y, chunk, each=one_by_one)


def clock(function, *args):
    start = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - start, result


def peak_mib() -> float:
    """Largest resident size of this process so far (unlike getrusage, not inherited from the parent)."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def memory_of(rows: int) -> dict[str, float]:
    code = subprocess.run([sys.executable, __file__, "--memory", str(rows)], capture_output=True, text=True, check=True)
    return json.loads(code.stdout.splitlines()[-1])


def main() -> None:
    if sys.argv[1:2] == ["--memory"]:
        rows = int(sys.argv[2])
        X, y = mnist(60000, scale=False)
        model = network()
        stream(model, X, y, 500)  # libraries and buffers are in place
        before = peak_mib()
        seconds, _ = clock(stream, model, X, y, rows)
        print(json.dumps({"rows": rows, "seconds": round(seconds, 1), "peak_grows_by_mib": round(peak_mib() - before)}))
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    X, y = mnist(rows)
    model = network()
    for p in model.parameters():
        p.requires_grad_(True)
    by_gramian(model, X[:250], y[:250])  # warm up
    runs = {
        "gramian": (by_gramian, ()),
        "func, probes": (by_probes, (250,)),
        "func, suffix": (by_suffix, (250,)),
        "func, loop": (by_loop, (200,)),
    }
    times: dict[str, float] = {}
    results = {}
    for turn in range(3):
        for name, (function, extra) in runs.items():
            loop = name == "func, loop"
            if turn and loop:
                continue
            part = slice(rows // 10 if loop else rows)
            with torch.enable_grad() if name in ("gramian", "func, probes") else torch.no_grad():
                seconds, results[name] = clock(function, model, X[part], y[part], *extra)
            times[name] = min(times.get(name, float("inf")), seconds * (10 if loop else 1))
    for name, seconds in times.items():
        worst = 0.0
        for layer, found in results["gramian"].items():
            for key, M in found.items():
                worst = max(worst, float((results[name][layer][key].detach() - M).norm() / M.norm()))
        note = "" if name == "func, loop" else f"   differs by {worst:.1e}"
        print(f"{name:14s} {seconds:8.2f} s   {seconds / times['gramian']:6.1f} ×{note}")
    print(f"threads {torch.get_num_threads()}, rows {rows}")
    for count in (2000, 20000) if "--no-memory" not in sys.argv else ():
        print(memory_of(count))


if __name__ == "__main__":
    main()
