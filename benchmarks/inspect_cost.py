"""Cost of inspecting transformers: passes, table, and memory; processor time on one thread.

    python benchmarks/inspect_cost.py --out benchmarks/results/inspect_cost.json    # all parts, each in its own process
    python benchmarks/inspect_cost.py passes                                        # one part, in this process

``passes``: a 12-layer transformer (width 256, 32 samples of 32 tokens, 10 outputs, cross entropy, weight decay). The
unit is one forward and backward pass of the loss. ``gpt2`` and ``gpt2-parts``: a network of the size of GPT-2 small
(12 layers, width 768, 50,257 tokens, head tied to the embedding) with 2 texts of 16 tokens, the loss of the next token
and 2 random projections, all layers at once and 4 at a time. Memory is the peak of the process above its size with the
model; "numbers of the table" is the time for the numbers that the table shows, which are computed layer by layer in the
second case.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gramian.nets import InspectOptions, inspect, metrics, part
from gramian.nets.metrics import measure
from gramian.nets.record import LayerRecord, Numbers

PARTS = ("passes", "gpt2", "gpt2-parts")
AT_A_TIME = 4
BACKWARD = 11  # one for each output, and one of the loss


class Classifier(nn.Module):
    def __init__(self, layers: int = 12, width: int = 256, outputs: int = 10):
        super().__init__()
        block = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(x).mean(1))


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        q, k, v = (
            part.view(n, length, self.heads, -1).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).split(width, 2)
        )
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, length, width)
        x = x + self.c_proj(attended)
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    """The layers of GPT-2 small, with its tied head."""

    def __init__(self, layers: int = 12, width: int = 768, vocabulary: int = 50257, length: int = 1024):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 12) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none").mean(1)


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def megabytes(field: str) -> float:
    """A size of this process, VmRSS (now) or VmHWM (the peak)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def passes() -> dict[str, float]:
    torch.manual_seed(0)
    model, X, y = Classifier(), torch.randn(32, 32, 256), torch.randint(0, 10, (32,))

    def unit() -> None:
        model.zero_grad()
        F.cross_entropy(model(X), y).backward()

    unit()
    one = sorted(seconds(unit) for _ in range(5))[2]
    inspect(model, (X[:2], y[:2]), "cross_entropy", weight_decay=1e-3).sections()
    start = time.process_time()
    report = inspect(model, (X, y), "cross_entropy", weight_decay=1e-3)
    measured = time.process_time() - start
    one = (one + sorted(seconds(unit) for _ in range(5))[2]) / 2
    table = seconds(lambda: str(report))
    everything = seconds(report.loaded_rows)
    return {
        "one pass (s)": one,
        "inspect (passes)": measured / one,
        "inspect per backward pass": measured / one / BACKWARD,
        "table beyond inspect (passes)": table / one,
        "all other columns (passes)": everything / one,
    }


def gpt2(at_a_time: int | None) -> dict[str, float]:
    torch.manual_seed(0)
    model, tokens = GPT(), torch.randint(0, 50257, (2, 16))
    before, numbers = megabytes("VmRSS"), [0.0]

    def timed(record: LayerRecord, names: Iterable[str]) -> Numbers:
        start = time.process_time()
        found = measure(record, names)
        numbers[0] += time.process_time() - start
        return found

    part.measure = metrics.measure = timed
    options = InspectOptions(layers_at_a_time=at_a_time)
    start = time.process_time()
    report = inspect(model, (tokens, tokens), next_token_loss, weight_decay=1e-2, outputs=2, options=options)
    measured = time.process_time() - start
    peak = megabytes("VmHWM")
    table = seconds(lambda: str(report))
    return {
        "model (MB)": before,
        "inspect and table (s)": measured + table,
        "of it numbers of the table (s)": numbers[0],
        "peak of inspect above the model (MB)": peak - before,
        "peak with the table (MB)": megabytes("VmHWM") - before,
        "layers": len(report.layers),
    }


def markdown(record: dict[str, dict[str, float]]) -> str:
    """The table of a saved run, as docs/networks.md shows it."""
    found, parts = record["passes"], record["gpt2-parts"]
    size = f"GPT-2 size, {AT_A_TIME} layers at a time"
    rows = [
        (
            f"transformer: `inspect` ({BACKWARD} backward passes)",
            f"{found['inspect (passes)']:.1f} passes, {found['inspect per backward pass']:.1f} for each backward pass",
        ),
        (
            "transformer: the table of its layers, beyond `inspect`",
            f"{found['table beyond inspect (passes)']:.1f} passes",
        ),
        (
            "transformer: all columns that the table does not show",
            f"{found['all other columns (passes)']:.1f} passes",
        ),
        (
            f"{size}: `inspect` with the table of {parts['layers']:.0f} layers",
            f"{parts['inspect and table (s)']:.0f} s, of which {parts['of it numbers of the table (s)']:.0f} s for the "
            "numbers of the table",
        ),
        (f"{size}: peak memory above the model", f"{parts['peak with the table (MB)'] / 1024:.1f} GB"),
    ]
    return "\n".join(["| case | cost |", "|---|---|", *(f"| {case} | {cost} |" for case, cost in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=PARTS)
    parser.add_argument("--out", type=Path, help="the file of the record of all parts")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if asked.part:
        found = passes() if asked.part == "passes" else gpt2(AT_A_TIME if asked.part == "gpt2-parts" else None)
        print(json.dumps({asked.part: {name: round(value, 2) for name, value in found.items()}}))
        return
    record: dict[str, dict[str, float]] = {}
    for part_of_run in PARTS:
        command, one_thread = [sys.executable, __file__, part_of_run], os.environ | {"OMP_NUM_THREADS": "1"}
        run = subprocess.run(command, env=one_thread, check=True, stdout=subprocess.PIPE, text=True)
        print(run.stdout, end="", flush=True)
        record |= json.loads(run.stdout)
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=1) + "\n")
    print(markdown(record))


if __name__ == "__main__":
    main()
