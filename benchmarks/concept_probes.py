"""Concepts in the hidden states of a language model: recursive feature machines beside linear probes, layer by layer.

    pip install "gramian[hf]"
    GRAMIAN_DATA=/folder python benchmarks/concept_probes.py --model FOLDER --conll FOLDER [--states FOLDER]

FOLDER of the model holds a checkpoint of Hugging Face or a .gguf file (SmolLM2-135M-Instruct in the recorded run), that
of CoNLL-2003 train.txt and test.txt. Hidden states are collected once, into --states, and read from there later. All
settings are selected on folds of the training texts; test texts are scored once. `concept_texts.py` says what each
concept is made of. For grades, "auc" is the share of pairs in the right order.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import torch

from concept_texts import TASKS, Places, Task
from gramian.concepts import Activations, Concept, ProbeOptions, collect
from gramian.concepts.fitting import LayerWork, fit_layers, make_concept
from gramian.concepts.layer_machine import fit_layer
from gramian.concepts.probe import select
from gramian.concepts.row_space import RowSpace
from gramian.concepts.scores import auc, auc_interval, paired_interval
from gramian.concepts.targets import Target, make_target

METHODS = ("rfm", "logistic", "mean_difference", "pca")


def states_of(task: Task, folder: Path, model: Path) -> tuple[Activations, Activations]:
    """Hidden states of the last token of training and test texts; the model is loaded only if they are not there."""
    places = [folder / f"{task.name.replace(' ', '_')}_{part}" for part in ("train", "test")]
    if all((place / "complete.json").exists() for place in places):
        return Activations.open(places[0]), Activations.open(places[1])
    from transformers import AutoModelForCausalLM, AutoTokenizer

    files = sorted(model.glob("*.gguf"))
    options = {"gguf_file": files[0].name} if files else {}
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, **options).eval()
    tokenizer = AutoTokenizer.from_pretrained(model, **options)
    parts = (task.train, task.test)
    train, test = (
        collect(network, part[0], tokenizer=tokenizer, position="last", folder=place, batch_tokens=1024)
        for part, place in zip(parts, places, strict=True)
    )
    return train, test


def coded(concept: Concept, labels: list) -> Target:
    """Test labels in the code of the training labels."""
    if concept.kind == "graded":
        low, high = concept.scale
        Y = (torch.tensor(labels, dtype=torch.float32)[:, None] - low) / (high - low)
        return Target("graded", concept.classes, Y, low, high)
    codes = torch.tensor([concept.classes.index(label) for label in labels])
    Y = torch.eye(len(concept.classes))[codes]
    return Target("classes", concept.classes, Y[:, 1:] if Y.shape[1] == 2 else Y)


def test_scores(concept: Concept, fits: list, test: Activations) -> dict[str, list[torch.Tensor]]:
    """Scores of the test rows by method and layer."""
    found: dict[str, list[torch.Tensor]] = {method: [] for method in (*METHODS, "rfm_direction")}
    for index, layer in enumerate(concept.layers):
        hidden = test.layer(layer)
        found["rfm"].append(fits[index].outputs(hidden))
        for method in METHODS:
            vectors = torch.stack([column[index].vector for column in concept.found[method]], dim=1)
            found["rfm_direction" if method == "rfm" else method].append(hidden @ vectors)
    return found


def record_of(task: Task, train: Activations, test: Activations) -> dict:
    begin, cpu = time.perf_counter(), time.process_time()
    labels = make_target(task.train[1], "graded" if task.name == "length" else "classes")
    work = LayerWork(train, labels, labels.folds(seed=0), ProbeOptions())
    results = fit_layers(work)
    probes = time.perf_counter() - begin
    concept = make_concept(task.name, work, results)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    target = coded(concept, task.test[1])
    scores = test_scores(concept, [result.fit for result in results], test)
    layers, kind = [], target.kind
    for index, layer in enumerate(concept.layers):
        values = {method: auc(scores[method][index], target.Y, kind) for method in scores}
        best = max(METHODS[1:], key=lambda method: values[method])
        gain = paired_interval(scores["rfm"][index], scores[best][index], target.Y, kind)
        setting = concept.settings[index]
        layers.append({
            "layer": layer,
            "auc": values,
            "best_baseline": best,
            "rfm_minus_best": [gain.value, gain.low, gain.high],
            "out_of_fold": {method: concept.aucs[method][index].value for method in METHODS},
            "probe": [type(setting.kernel).__name__, setting.kernel.bandwidth_scale, setting.flatten, setting.ridge,
                      setting.round],
        })  # fmt: skip
    hidden = {name: test.layer(name) for name in concept.layers}
    p = concept.probabilities(hidden)
    top = int(np.argmax([row["auc"]["rfm"] for row in layers]))
    chosen = int(np.argmax([row["out_of_fold"]["rfm"] for row in layers]))
    detector = auc_interval(p, target.Y, kind)
    versus = paired_interval(p, scores["rfm"][top], target.Y, kind)
    gains = [row["rfm_minus_best"] for row in layers]
    summary = {
        "layers_not_below": float(np.mean([gain[0] >= 0 for gain in gains])),
        "layers_significantly_below": float(np.mean([gain[2] < 0 for gain in gains])),
        "layers_significantly_above": float(np.mean([gain[1] > 0 for gain in gains])),
        "mean_gain": float(np.mean([gain[0] for gain in gains])),
        "mean_auc": {method: float(np.mean([row["auc"][method] for row in layers])) for method in scores},
        "detector": [detector.value, detector.low, detector.high],
        "best_layer_on_test": layers[top]["auc"]["rfm"],
        "layer_chosen_on_folds": layers[chosen]["auc"]["rfm"],
        "detector_minus_best_layer_on_test": [versus.value, versus.low, versus.high],
        "detector_layers": len(concept.detector.layers),
        "seconds": seconds,
        "seconds_of_probes": probes,
        "processor_seconds": cpu,
    }
    if kind == "classes":
        both = torch.cat([1 - p, p], dim=1) if p.shape[1] == 1 else p
        truth = torch.tensor([concept.classes.index(label) for label in task.test[1]])
        missing = 1 - both[torch.arange(len(truth)), truth]
        summary["coverage_of_90_percent_sets"] = float((missing <= concept.detector.tolerance(0.9)).float().mean())
        summary["log_loss"] = float(-both[torch.arange(len(truth)), truth].clamp_min(1e-12).log().mean())
    return {"made_of": task.made_of, "classes": concept.classes, "train": len(train), "test": len(test),
            "summary": summary, "layers": layers}  # fmt: skip


def widths(rows: int = 600) -> dict[str, dict[str, float]]:
    """Processor seconds of one layer by its width: coordinates (one product X Xᵀ), folds, and the fit to all rows."""
    rng = torch.Generator().manual_seed(0)
    labels = make_target((torch.arange(rows) % 2).tolist())
    folds, options, found = labels.folds(seed=0), ProbeOptions(), {}
    for d in (64, 576, 2048, 8192):
        X = torch.randn(rows, d, generator=rng) + 0.2 * labels.Y
        marks = [time.process_time()]
        space = RowSpace.of(X)
        marks.append(time.process_time())
        selected = select(space, labels.Y, folds, options)
        marks.append(time.process_time())
        fit_layer(X, space, labels.Y, selected, options)
        marks.append(time.process_time())
        found[str(d)] = dict(zip(("coordinates", "folds", "fit"), np.diff(marks).tolist(), strict=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--conll", type=Path, required=True)
    parser.add_argument("--states", type=Path, default=Path("states"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "concept_probes.json")
    parser.add_argument("--only", nargs="*", default=[*TASKS, "widths"])
    args = parser.parse_args()
    places = Places(Path(os.environ["GRAMIAN_DATA"]), args.conll)
    record = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name in args.only:
        if name == "widths":
            record[name] = widths()
            args.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            continue
        task = TASKS[name](places)
        train, test = states_of(task, args.states, args.model)
        record[name] = record_of(task, train, test) | {"threads": torch.get_num_threads()}
        args.out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(name, json.dumps(record[name]["summary"]), flush=True)


if __name__ == "__main__":
    main()
