"""All feature matrices of a 5-layer MLP (width 1024, 10 outputs) on MNIST rows: gramian beside torch.func
Jacobians.

    GRAMIAN_DATA=/folder python benchmarks/nets_speed.py [--rows 2000] [--out benchmarks/results/nets_speed.json]

Five ways to the same AGOP, PTK, eNFA and FACT of every layer; READINGS says what each is. The two slow ones run on a
tenth of the rows and their time is multiplied by ten. The results are compared, and the memory of gramian is measured
at 2,000 and 20,000 rows in processes of their own. ``--out`` saves the run; docs/networks.md quotes it by
:func:`markdown`. Ratios are of processor time, which a machine busy with other work distorts less than the clock.
"""

from __future__ import annotations

import argparse
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
from torch.func import functional_call, grad, jacrev, vmap

from gramian.nets import InspectOptions, inspect

LAM = 1e-4
NO_GEOMETRY = InspectOptions(geometry=False)  # the peers compute no target linearity or neural collapse either
TENTH = ("parameters", "loop")  # readings too slow for all rows

# In float32 the readings agree to 1e-6, but for one unit whose pre-activation is 5e-10: summed in another order it has
# the other sign, and its ReLU the other slope (3e-4 in one matrix of "suffix").
READINGS = {
    "gramian": "`inspect`: one backward pass per output for all layers at once, streamed",
    "probes": "`vmap(jacrev)` for zero probes added at every pre-activation, all layers in one call",
    "suffix": "`vmap(jacrev)` of the rest of the network, at the input and output of each layer",
    "parameters": "`vmap(jacrev(functional_call))` for all parameters, as PyTorch's tutorials take Jacobians",
    "loop": "`jacrev` of the rest of the network, one sample at a time",
}


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
    report = inspect(model, (X, y), "cross_entropy", weight_decay=LAM, batch_size=250, options=NO_GEOMETRY)
    return {name: {key: torch.from_numpy(report.matrix(name, key)) for key in ("agop", "ptk", "enfa", "fact")}
            for name in report.layers}  # fmt: skip


def stream(model: nn.Sequential, X: torch.Tensor, y: torch.Tensor, rows: int) -> None:
    """Batches made one at a time from bytes, as a loader would."""
    batches = ((x.float() / 255, t) for x, t in zip(X[:rows].split(250), y[:rows].split(250), strict=True))
    inspect(model, batches, "cross_entropy", weight_decay=LAM, outputs=4, options=NO_GEOMETRY)


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


def by_parameters(
    model: nn.Sequential, X: torch.Tensor, y: torch.Tensor, chunk: int
) -> dict[str, dict[str, torch.Tensor]]:
    """Per-sample Jacobians for all parameters (10 × 4 million numbers a sample); that for a bias is ∂f/∂z, and the rest
    follows by W."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    output = lambda p, x: functional_call(model, p, (x[None],))[0]  # noqa: E731
    loss = lambda p, x, t: nn.functional.cross_entropy(output(p, x)[None], t[None])  # noqa: E731
    total: dict[str, dict[str, torch.Tensor]] = {}
    n = len(X)
    for x, t in zip(X.split(chunk), y.split(chunk), strict=True):
        J = vmap(jacrev(output), in_dims=(None, 0))(parameters, x)
        V = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, t)
        for name in (str(j) for j, module in enumerate(model) if isinstance(module, nn.Linear)):
            into = total.setdefault(name, {})
            Jz, Vz = J[f"{name}.bias"], V[f"{name}.bias"]
            found = {
                "ptk": outer(Jz, Jz),
                "benfa": outer(Vz, Vz),
                "gradient": V[f"{name}.weight"].sum(0).double(),
            }
            for key, value in found.items():
                into[key] = into[key] + value if key in into else value
    for name, into in total.items():
        W = parameters[f"{name}.weight"].double()
        into["ptk"] /= n
        into["agop"] = W.mT @ into["ptk"] @ W
        into["enfa"] = W.mT @ into.pop("benfa") @ W / n
        into["fact"] = -(W.mT @ into.pop("gradient")) / (n * LAM)
    return total


def one_by_one(function):
    """The same as vmap, as a loop over samples."""
    return lambda *inputs: torch.stack([function(*sample) for sample in zip(*inputs, strict=True)])


def by_loop(model: nn.Sequential, X: torch.Tensor, y: torch.Tensor, chunk: int) -> dict[str, dict[str, torch.Tensor]]:
    """The same Jacobians one sample at a time; their products are still taken over the whole chunk."""
    return by_suffix(model, X, y, chunk, each=one_by_one)


def clock(function, *args):
    """Seconds on the clock, seconds of processor time, and the result."""
    start, cpu = time.perf_counter(), time.process_time()
    result = function(*args)
    return time.perf_counter() - start, time.process_time() - cpu, result


def peak_mib() -> float:
    """Largest resident size of this process so far (unlike getrusage, not inherited from the parent)."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def memory_of(rows: int) -> dict[str, float]:
    code = subprocess.run([sys.executable, __file__, "--memory", str(rows)], capture_output=True, text=True, check=True)
    return json.loads(code.stdout.splitlines()[-1])


def largest_difference(found: dict, expected: dict) -> float:
    """Over layers and matrices, relative, in Frobenius norm."""
    return max(
        float((found[layer][key].detach() - M).norm() / M.norm())
        for layer, matrices in expected.items()
        for key, M in matrices.items()
    )


def time_all(rows: int, turns: int) -> list[dict]:
    X, y = mnist(rows)
    model = network()
    by_gramian(model, X[:250], y[:250])  # warm up
    runs = {
        "gramian": (by_gramian, ()),
        "probes": (by_probes, (250,)),
        "suffix": (by_suffix, (250,)),
        "parameters": (by_parameters, (8,)),
        "loop": (by_loop, (200,)),
    }
    assert runs.keys() == READINGS.keys()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    results: dict[str, dict] = {}
    for turn in range(turns):
        for name, (function, extra) in runs.items():
            if turn and name in TENTH:
                continue
            part = slice(rows // 10 if name in TENTH else rows)
            with torch.enable_grad() if name in ("gramian", "probes") else torch.no_grad():
                seconds, cpu, results[name] = clock(function, model, X[part], y[part], *extra)
            scale = 10 if name in TENTH else 1
            times[name].append((cpu * scale, seconds * scale))
    tenth = by_gramian(model, X[: rows // 10], y[: rows // 10])
    return [
        {
            "reading": name,
            "cpu_seconds": round(min(cpu for cpu, _ in times[name]), 2),
            "clock_seconds": round(min(seconds for _, seconds in times[name]), 2),
            "ratio": round(min(times[name])[0] / min(times["gramian"])[0], 1),
            "extrapolated": name in TENTH,
            "differs_by": largest_difference(results[name], tenth if name in TENTH else results["gramian"]),
        }
        for name in runs
    ]


def markdown(record: dict) -> str:
    """The table of a saved run, as docs/networks.md shows it."""
    lines = ["| way to all matrices | processor time, `inspect` = 1 |", "|---|---|"]
    for row in record["times"]:
        note = " (extrapolated from a tenth of the rows)" if row["extrapolated"] else ""
        lines.append(f"| {READINGS[row['reading']]}{note} | {row['ratio']:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3, help="the fastest of so many runs counts")
    parser.add_argument("--memory", type=int, help="measure the memory of gramian on so many rows, and nothing else")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.memory:
        X, y = mnist(60000, scale=False)
        model = network()
        stream(model, X, y, 500)  # libraries and buffers are in place
        before = peak_mib()
        seconds, _, _ = clock(stream, model, X, y, asked.memory)
        grown = round(peak_mib() - before)
        print(json.dumps({"rows": asked.memory, "seconds": round(seconds, 1), "peak_grows_by_mib": grown}))
        return
    load = [round(os.getloadavg()[0], 1)]
    times = time_all(asked.rows, asked.turns)
    load.append(round(os.getloadavg()[0], 1))
    record = {
        "rows": asked.rows,
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "load_before_and_after": load,
        "torch": torch.__version__,
        "times": times,
        "memory": [memory_of(count) for count in (2000, 20000)],
    }
    print(markdown(record))
    print(json.dumps(record, indent=1))
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
