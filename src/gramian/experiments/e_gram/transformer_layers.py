"""Fig. 11: target linearity at every layer of a transformer, drawn at random, pre-trained and fine-tuned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from gramian.experiments import Claim, Null, Result, at_least, experiment, negative, positive, unavailable
from gramian.experiments.e_gram.text_models import NAMES, load_text_model, redrawn
from gramian.experiments.e_gram.text_tasks import TASKS, labelled_texts, linearity_by_layer, tune
from gramian.experiments.e_gram.trends import kendall, learned_hump
from gramian.report import style

_TASK_NAMES = {"sst2": "SST-2", "pos": "parts of speech", "ner": "named entities"}
_MODELS = ("minilm", "smollm2")
_STAND_IN = "a stand-in for BERT-base: another model"
_IN_PLACE = {"minilm": "all-MiniLM in place of BERT-base", "smollm2": "SmolLM2 in place of BERT-base"}
_SENTENCES = "6,920 sentences of SST-2 in place of GLUE's 67,349 phrases"


@dataclass(frozen=True)
class TransformerLayers:
    """A model, a task, the number of sentences that are measured, and the number of principal components.

    ``epochs`` of fine-tuning use ``tuned`` sentences (None for all), which include the measured ones.
    """

    model: str
    task: str
    examples: int = 2000
    components: int = 256
    epochs: int = 0
    tuned: int | None = None
    rate: float = 2e-5
    batch: int = 32


def _compare_tasks(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return numbers of every profile, and how much more than sentiment tags gain by pre-training and when they peak.

    For ``hump`` see :func:`learned_hump`, for the fine-tuned profiles :func:`compare_epochs`.
    """
    found: dict[str, float] = {}
    numbers = {key: value for record in records for key, value in record["numbers"].items()}
    for record in records:
        states, spec = record["arrays"], record["spec"]
        prefix = f"{spec['model']}/{spec['task']}"
        if spec["task"] in ("pos", "ner"):
            found[f"{prefix}/hump"] = learned_hump(states["pretrained"], states["random"])
        found |= {f"{prefix}/tuned/{key}": value for key, value in compare_epochs(states).items()}
    for model in _MODELS:
        if {f"{model}/{task}/gap" for task in TASKS} <= set(numbers):
            sentiment = numbers[f"{model}/sst2/gap"]
            found[f"{model}/pos/gap over sst2"] = numbers[f"{model}/pos/gap"] - sentiment
            found[f"{model}/ner/gap over sst2"] = numbers[f"{model}/ner/gap"] - sentiment
            layers = {r["spec"]["task"]: r["arrays"] for r in records if r["spec"]["model"] == model}
            ahead = {
                state: peak(layers["sst2"][state]) - peak(layers["pos"][state]) for state in ("pretrained", "random")
            }
            found[f"{model}/earlier"] = ahead["pretrained"] - ahead["random"]
    return found


def compare_epochs(states: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the lead of the last layer after epoch 1, and whether epochs 2 and 3 add less than half of its rise.

    ``last`` is the last layer minus the best other one. ``saturated`` is negative if the last layer rises in epoch 1
    and by less than half as much in the other two: the larger of ``(e₃ − e₁) − (e₁ − e₀)/2`` and ``−(e₁ − e₀)``.

    >>> found = compare_epochs({"pretrained": [0.5, 0.4], "epoch 1": [0.5, 0.8], "epoch 3": [0.5, 0.9]})
    >>> round(found["last"], 6), round(found["saturated"], 6)
    (0.3, -0.1)
    """
    if "epoch 1" not in states:
        return {}
    before, first = states["pretrained"], states["epoch 1"]
    found = {"last": first[-1] - max(first[:-1])}
    if "epoch 3" in states:
        rise = first[-1] - before[-1]
        found["saturated"] = max(states["epoch 3"][-1] - first[-1] - rise / 2, -rise)
    return found


def peak(values: Sequence[float]) -> float:
    """Return the place of the largest value between 0, the first layer, and 1, the last.

    >>> peak([0.2, 0.5, 0.4])
    0.5
    """
    return float(np.argmax(values) / (len(values) - 1))


def summarise_layers(states: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the numbers of one model and task from its linearity by layer in each state.

    ``lead`` is the lowest lead of the pre-trained over the random model, ``gap`` the mean, ``peak`` that of the
    pre-trained model (:func:`peak`), and ``order`` Kendall's correlation with the layer.

    >>> states = {"random": [0.1, 0.1, 0.1], "pretrained": [0.2, 0.5, 0.4]}
    >>> summarise_layers(states)["peak"]
    0.5
    """
    random, known = np.array(states["random"]), np.array(states["pretrained"])
    layers = np.arange(len(known))
    found = {
        "lead": float((known - random).min()),
        "gap": float((known - random).mean()),
        "peak": peak(states["pretrained"]),
        "order": kendall(layers, known),
        "last": float(known[-1]),
    }
    if "epoch 1" in states:
        first = np.array(states["epoch 1"])
        found |= {
            "tuned/rise": float(first[-1] - known[-1]),
            "tuned/order": kendall(layers, first),
            "tuned/above": float((first - known).min()),
        }
    return found


def _model_claims(model: str) -> Iterator[Claim]:
    name = NAMES[model]
    sentences = f"{_IN_PLACE[model]}; {_SENTENCES}"
    for task in TASKS:
        yield positive(
            f"{model}/{task}/lead",
            f"“well above the randomly initialized baseline at every layer”; {_STAND_IN}",
            label=f"{name}, {_TASK_NAMES[task]}: lowest lead of the pre-trained over the random model, any layer",
            setting=sentences if task == "sst2" else "",
        )
    for task in ("pos", "ner"):
        yield positive(
            f"{model}/{task}/gap over sst2",
            f"the gap “is largest for POS and NER …, moderate for sentiment”; {_STAND_IN}",
            label=f"{name}: mean lead of the pre-trained model, {_TASK_NAMES[task]} minus SST-2",
            setting=sentences,
        )
    yield at_least(
        f"{model}/sst2/order",
        0.6,
        f"“TL for semantic tasks (sentiment) climbs monotonically toward the top of the network”; {_STAND_IN}",
        slack=0.2,
        label=f"{name}, SST-2, pre-trained: order over layers",
        setting=sentences,
        null=Null(0.0, "no order"),
    )
    for task in ("pos", "ner"):
        yield positive(
            f"{model}/{task}/hump",
            f"“peaks in the early-to-middle layers”: layers 3 (POS) and 7 (NER) of 0 to 11 in the figure; {_STAND_IN}",
            label=f"{name}, {_TASK_NAMES[task]}: highest TL between 15 and 65 % of the depth minus the higher of the "
            "first and the last layer; the smaller of this for the pre-trained model and of its excess over "
            "the random one",
        )
    yield positive(
        f"{model}/earlier",
        f"syntactic information “concentrated low and semantic information high”; {_STAND_IN}",
        label=f"{name}: layer of the peak, SST-2 minus parts of speech, pre-trained minus random",
        setting=sentences,
    )


_SMALL_TUNING = "fine-tuning with rate 1e-4 in place of 2e-5"


def _tuning_claims() -> Iterator[Claim]:
    for task in TASKS:
        label = f"{NAMES['minilm']}, {_TASK_NAMES[task]}"
        setting = f"{_IN_PLACE['minilm']}; {_SENTENCES}" if task == "sst2" else ""
        yield positive(
            f"minilm/{task}/tuned/rise",
            f"“fine-tuning then converts this structure into a near-monotone TL profile”; {_STAND_IN}",
            label=f"{label}: last layer after one epoch of fine-tuning minus before",
            setting=setting,
            small_setting=_SMALL_TUNING,
        )
        yield positive(
            f"minilm/{task}/tuned/last",
            f"“the final layer carries the most target linear information”; {_STAND_IN}",
            label=f"{label}: last layer minus the best other one after one epoch of fine-tuning",
            scales=("paper",),
            setting=setting,
        )
        yield positive(
            f"minilm/{task}/tuned/above",
            f"“with the pre-trained curve serving as a lower envelope”; {_STAND_IN}",
            label=f"{label}: lowest lead of the tuned over the pre-trained model after one epoch, any layer",
            setting=setting,
            small_setting=_SMALL_TUNING,
        )
        yield at_least(
            f"minilm/{task}/tuned/order",
            0.8,
            "“after a single epoch, all four tasks exhibit the same near-monotone increasing TL profile”: one reversed "
            f"pair of 15; an epoch at small has too few steps; {_STAND_IN}",
            slack=0.2,
            label=f"{label}: order over layers after one epoch",
            setting=setting,
            scales=("paper",),
            null=Null(0.0, "no order"),
        )
        yield negative(
            f"minilm/{task}/tuned/saturated",
            f"“saturates within a single epoch and barely improves thereafter”: less than half as much; {_STAND_IN}",
            label=f"{label}: rise of the last layer in epochs 2 and 3 minus half of that in epoch 1, where epoch 1 "
            "raises it",
            setting=setting,
            scales=("paper",),
        )
    for key, label in (("bert", "BERT-base on SST-2, POS and NER"), ("mnli", "BERT-base on MNLI")):
        yield unavailable(key, "the weights of BERT-base and the corpus MNLI cannot be fetched", label=label)


def _draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    models = list(dict.fromkeys(record["spec"]["model"] for record in records))
    tasks = [task for task in TASKS if any(record["spec"]["task"] == task for record in records)]
    figure.set_size_inches(2.7 * len(tasks) + 1.5, 2.6 * len(models))
    axes = figure.subplots(len(models), len(tasks), squeeze=False)
    colours = dict(zip(("random", "pretrained", "epoch 1", "epoch 2", "epoch 3"), _COLOURS, strict=True))
    for row, model in enumerate(models):
        for column, task in enumerate(tasks):
            ax = axes[row, column]
            chosen = [r["arrays"] for r in records if r["spec"]["model"] == model and r["spec"]["task"] == task]
            for state, colour in colours.items():
                if chosen and state in chosen[0]:
                    values = np.array([arrays[state] for arrays in chosen])
                    ax.plot(np.arange(1, values.shape[1] + 1), values.mean(0), "o-", color=colour, label=state,
                            markersize=3)  # fmt: skip
            ax.set(ylim=(0, 1.02), title=f"{NAMES[model]}, {_TASK_NAMES[task]}")
            style.declutter(ax, "y")
    for ax in axes[-1]:
        ax.set_xlabel("layer")
    for ax in axes[:, 0]:
        ax.set_ylabel("target linearity")
    axes[0, -1].legend(loc="center left", bbox_to_anchor=(1, 0.5))


_COLOURS = (style.GREY, style.INK, style.SKY, style.BLUE, style.ORANGE)


def _cost(spec: TransformerLayers) -> float:
    """Estimate the seconds from 2 operations per weight and token to measure, and 6 to train, of 20 tokens."""
    weights = {"made": 1e4, "minilm": 1.1e7, "smollm2": 1.1e8}[spec.model]
    measured = (2 + spec.epochs) * 2 * spec.examples
    tuned = 6 * spec.epochs * (spec.tuned or (6920 if spec.task == "sst2" else 14041))
    return 20 * weights * (measured + tuned) / 2e10


_TUNING: dict[str, Any] = {"epochs": 1, "rate": 1e-4, "batch": 16}


@experiment(
    "e/fig11",
    "E",
    "Target linearity at every layer of a transformer: random, pre-trained and fine-tuned (all-MiniLM)",
    specs={
        "smoke": tuple(TransformerLayers("made", task, 40, 8, epochs=1, tuned=40, batch=16) for task in TASKS[:2]),
        "small": (
            TransformerLayers("minilm", "sst2", 200, 26, tuned=200, **_TUNING),
            *(TransformerLayers("minilm", task, 80, 128, tuned=80, **_TUNING) for task in ("pos", "ner")),
        ),
        "paper": tuple(TransformerLayers("minilm", task, epochs=3) for task in TASKS),
    },
    seeds={"small": 5, "paper": 3},
    claims=[*_model_claims("minilm"), *_tuning_claims()],
    setting=_IN_PLACE["minilm"],
    draw=_draw,
    derive=_compare_tasks,
    cost=_cost,
)
def transformer_layers(spec: TransformerLayers, seed: int) -> Result:
    """Measure a random, a pre-trained and, after each epoch, a fine-tuned model on the same sentences."""
    return _result(spec, seed)


@experiment(
    "e/fig11-second",
    "E",
    "Target linearity at every layer of a second, larger transformer: random and pre-trained (SmolLM2)",
    specs={
        "smoke": (TransformerLayers("made", "ner", 40, 8),),
        "small": (
            TransformerLayers("smollm2", "sst2", 150, 19),
            *(TransformerLayers("smollm2", task, 60, 128) for task in ("pos", "ner")),
        ),
        "paper": tuple(TransformerLayers("smollm2", task) for task in TASKS),
    },
    seeds={"small": 5, "paper": 3},
    claims=[*_model_claims("smollm2")],
    setting=_IN_PLACE["smollm2"],
    draw=_draw,
    derive=_compare_tasks,
    cost=_cost,
)
def second_transformer(spec: TransformerLayers, seed: int) -> Result:
    """Measure a random and a pre-trained model on the same sentences."""
    return _result(spec, seed)


def _result(spec: TransformerLayers, seed: int) -> Result:
    rng = torch.Generator().manual_seed(seed)
    texts = labelled_texts(spec.task, made=spec.model == "made")
    text_model = load_text_model(spec.model)
    order = torch.randperm(len(texts.words), generator=rng).tolist()
    measured = texts.part(order[: spec.examples])
    states = {
        "random": linearity_by_layer(text_model, redrawn(text_model.model, rng), measured, spec.components),
        "pretrained": linearity_by_layer(text_model, text_model.model, measured, spec.components),
    }
    if spec.epochs:
        tuned = tune(
            text_model,
            deepcopy(text_model.model),
            texts.part(order[: spec.tuned]),
            epochs=spec.epochs,
            rate=spec.rate,
            batch=spec.batch,
            rng=rng,
            measured=measured,
            components=spec.components,
        )
        states |= {f"epoch {at}": layers for at, layers in enumerate(tuned, 1)}
    prefix = f"{spec.model}/{spec.task}"
    return Result({f"{prefix}/{key}": value for key, value in summarise_layers(states).items()}, states)
