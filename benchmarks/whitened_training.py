"""Gram-whitened training beside SGD, AdamW and Muon on CIFAR-10: loss, test accuracy and seconds.

``python benchmarks/whitened_training.py run [--out FILE]`` trains (about ten minutes in one thread; a run that was
interrupted continues), ``... table`` prints the tables of the record, ``... figure`` draws it. Seconds are of the
processor, so that other work on the machine counts little.

Each method's learning rate is the best of five on validation rows (one seed); the final runs have other seeds and are
measured on test rows. All methods train the same networks on the same batches, with a cosine schedule.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path
from statistics import mean, stdev

import torch
import torch.nn.functional as F
from torch import nn

from gramian.core.atomic import atomic_write
from gramian.datasets import cifar10
from gramian.optim import GramWhitened, MatrixForm, matrix_forms

OUT = Path(__file__).parent / "results/whitened_training.json"
FIGURE = Path(__file__).parents[1] / "docs/img/whitened_training.png"
ROWS = {"train": 8000, "validation": 2000, "test": 10000}
LOSS_ROWS = 2000  # training rows on which the loss is measured after every epoch
BATCH = 128
EPOCHS = 5
TUNING_SEED = 100
SEEDS = (0, 1, 2)
SGD_RATES, ADAM_RATES = (0.003, 0.01, 0.03, 0.1, 0.3), (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


class Convolution(nn.Module):
    """A convolution with stride 2 that stores its weight as a matrix, since torch's Muon takes nothing else."""

    def __init__(self, inputs, outputs):
        super().__init__()
        start = nn.Conv2d(inputs, outputs, 3)
        self.weight, self.bias = nn.Parameter(start.weight.detach().flatten(1)), start.bias

    def forward(self, x):
        weight = self.weight.view(len(self.weight), x.shape[1], 3, 3)
        return F.conv2d(x, weight, self.bias, stride=2, padding=1)


def mlp():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(3072, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )


def cnn():
    return nn.Sequential(
        Convolution(3, 32), nn.ReLU(), Convolution(32, 64), nn.ReLU(), Convolution(64, 64), nn.ReLU(), nn.Flatten(),
        nn.Linear(1024, 10),
    )  # fmt: skip


MODELS = {"MLP": mlp, "CNN": cnn}


def hidden_and_rest(model):
    """The weights that for_model whitens, and all other parameters."""
    forms = matrix_forms(model)
    groups = [], []
    for name, parameter in model.named_parameters():
        groups[not isinstance(forms[name], MatrixForm)].append(parameter)
    return groups


def sgd(model, rate):
    return [torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)]


def adamw(model, rate):
    return [torch.optim.AdamW(model.parameters(), lr=rate)]


def muon(model, rate):
    """Muon for the hidden weights and AdamW for all others, with updates of one size, so that one rate serves both."""
    hidden, rest = hidden_and_rest(model)
    return [torch.optim.Muon(hidden, lr=rate, adjust_lr_fn="match_rms_adamw"), torch.optim.AdamW(rest, lr=rate)]


def whitened_sgd(model, rate):
    return [GramWhitened.for_model(model, partial(torch.optim.SGD, lr=rate, momentum=0.9))]


def whitened_adamw(model, rate):
    return [GramWhitened.for_model(model, partial(torch.optim.AdamW, lr=rate))]


METHODS = {
    "SGD": (sgd, SGD_RATES),
    "Gram-whitened SGD": (whitened_sgd, SGD_RATES),
    "AdamW": (adamw, ADAM_RATES),
    "Gram-whitened AdamW": (whitened_adamw, ADAM_RATES),
    "Muon": (muon, ADAM_RATES),
}
WHITENED = {"Gram-whitened SGD": "SGD", "Gram-whitened AdamW": "AdamW"}


def load():
    """Rows by use: training and validation rows are disjoint, drawn once; test rows are the whole test set."""
    train, test = cifar10("train"), cifar10("test")
    order = torch.randperm(len(train.X), generator=torch.Generator().manual_seed(0))
    chosen = order[: ROWS["train"]], order[ROWS["train"] : ROWS["train"] + ROWS["validation"]]
    parts = {"train": (train, chosen[0]), "validation": (train, chosen[1]), "test": (test, torch.arange(len(test.X)))}
    data = {
        key: (torch.from_numpy(part.X)[rows].view(-1, 32, 32, 3).permute(0, 3, 1, 2), torch.from_numpy(part.y)[rows])
        for key, (part, rows) in parts.items()
    }
    middle = data["train"][0].mean((0, 2, 3), keepdim=True)
    spread = data["train"][0].std((0, 2, 3), keepdim=True)
    return {key: (((X - middle) / spread).contiguous(), y) for key, (X, y) in data.items()}


@torch.no_grad()
def evaluate(model, X, y):
    outputs = torch.cat([model(x) for x in X.split(1000)])
    return float(F.cross_entropy(outputs, y)), float((outputs.argmax(1) == y).float().mean())


def train(name, method, rate, seed, data):
    """One run: losses after every epoch, accuracies at the end, seconds of all steps and of the optimiser in them."""
    torch.manual_seed(seed)
    model = MODELS[name]()
    start = {key: value.detach().clone() for key, value in model.named_parameters()}
    optimizers = METHODS[method][0](model, rate)
    X, y = data["train"]
    steps = EPOCHS * (len(X) // BATCH)
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps) for optimizer in optimizers]
    seconds = stepping = 0.0
    losses = [evaluate(model, X[:LOSS_ROWS], y[:LOSS_ROWS])[0]]
    for _ in range(EPOCHS):
        begin = time.process_time()
        for rows in torch.randperm(len(X))[: len(X) // BATCH * BATCH].split(BATCH):
            loss = F.cross_entropy(model(X[rows]), y[rows])
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            before = time.process_time()
            for optimizer, schedule in zip(optimizers, schedules, strict=True):
                optimizer.step()
                schedule.step()
            stepping += time.process_time() - before
        seconds += time.process_time() - begin
        losses.append(evaluate(model, X[:LOSS_ROWS], y[:LOSS_ROWS])[0])
    hidden = [key for key, form in matrix_forms(model).items() if isinstance(form, MatrixForm)]
    now = {key: value.detach() for key, value in model.named_parameters()}
    return {
        "model": name, "method": method, "rate": rate, "seed": seed, "losses": losses,
        "validation": evaluate(model, *data["validation"])[1], "test": evaluate(model, *data["test"])[1],
        "seconds": seconds, "optimizer_seconds": stepping,
        "moved": mean(float((now[key] - start[key]).norm() / start[key].norm()) for key in hidden),
    }  # fmt: skip


def guarded(*arguments):
    """A run that diverges has no loss and no accuracy."""
    try:
        return train(*arguments)
    except FloatingPointError:
        name, method, rate, seed, _ = arguments
        return {"model": name, "method": method, "rate": rate, "seed": seed, "validation": 0.0, "diverged": True}


def find(record, stage, **wanted):
    return [run for run in record[stage] if all(run[key] == value for key, value in wanted.items())]


def best_rate(record, model, method):
    return max(find(record, "tuning", model=model, method=method), key=lambda run: run["validation"])["rate"]


def run(out):
    """Train what the record does not have yet, and save after every run."""
    torch.set_num_threads(1)
    settings = {
        "rows": ROWS, "loss_rows": LOSS_ROWS, "batch": BATCH, "epochs": EPOCHS, "seeds": len(SEEDS),
        "torch": torch.__version__.split("+")[0],
    }  # fmt: skip
    record = json.loads(out.read_text()) if out.exists() else {"settings": settings, "tuning": [], "final": []}
    if record["settings"] != settings:
        raise SystemExit(f"{out} was recorded with other settings: remove it, or name another file")
    data = load()

    def add(stage, model, method, rate, seed):
        if find(record, stage, model=model, method=method, rate=rate, seed=seed):
            return
        record[stage].append(guarded(model, method, rate, seed, data))
        atomic_write(out, json.dumps(record, indent=1) + "\n")
        print(stage, *(record[stage][-1].get(key) for key in ("model", "method", "rate", "validation", "seconds")))

    for model in MODELS:
        for method, (_, rates) in METHODS.items():
            for rate in rates:
                add("tuning", model, method, rate, TUNING_SEED)
            best = best_rate(record, model, method)
            record["final"] = [
                run
                for run in record["final"]
                if (run["model"], run["method"]) != (model, method) or run["rate"] == best
            ]
            for seed in SEEDS:
                add("final", model, method, best, seed)


def finals(record, model, method):
    return find(record, "final", model=model, method=method)


def points(runs):
    """Test accuracies in per cent."""
    return [100 * run["test"] for run in runs]


def error_of(values):
    """Standard error of a mean."""
    return stdev(values) / len(values) ** 0.5


def on_edge(record, model, method):
    rates = [run["rate"] for run in find(record, "tuning", model=model, method=method)]
    return best_rate(record, model, method) in (min(rates), max(rates))


def table(record, model):
    """One row per method, means over the final seeds."""
    lines = [
        f"**{model}**",
        "",
        "| method | rate | training loss | test accuracy, % | seconds | of these in `step` | weights moved by |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for method in METHODS:
        runs = finals(record, model, method)
        rate = f"{best_rate(record, model, method):g}{'*' if on_edge(record, model, method) else ''}"
        loss = mean(run["losses"][-1] for run in runs)
        seconds, share = mean(run["seconds"] for run in runs), mean(run["optimizer_seconds"] for run in runs)
        accuracy = f"{mean(points(runs)):.1f} ± {error_of(points(runs)):.1f}"
        moved = mean(run["moved"] for run in runs)
        lines.append(
            f"| {method} | {rate} | {loss:.3f} | {accuracy} | {seconds:.1f} | {share:.1f} | {100 * moved:.0f} % |"
        )
    return "\n".join(lines)


def comparison(record, model, whitened):
    """A sentence: accuracy and seconds of a whitened method beside its base's."""
    base = WHITENED[whitened]
    ours, theirs = finals(record, model, whitened), finals(record, model, base)
    difference = mean(points(ours)) - mean(points(theirs))
    spread = (error_of(points(ours)) ** 2 + error_of(points(theirs)) ** 2) ** 0.5
    cost = mean(run["seconds"] for run in ours) / mean(run["seconds"] for run in theirs)
    return (
        f"- {model}: {whitened} has {difference:+.1f} ± {spread:.1f} points of test accuracy beside {base}, "
        f"at {cost:.1f} times its seconds."
    )


def best_of(record, model, methods):
    return max(methods, key=lambda method: mean(points(finals(record, model, method))))


def better(record, model):
    """True if the best whitened method has more test accuracy than the best other one, by two standard errors."""
    ours = points(finals(record, model, best_of(record, model, WHITENED)))
    theirs = points(finals(record, model, best_of(record, model, METHODS.keys() - WHITENED.keys())))
    return mean(ours) - mean(theirs) > 2 * (error_of(ours) ** 2 + error_of(theirs) ** 2) ** 0.5


def answer(record):
    """The answer of the record to the paper's question, which it asks of SGD."""
    pairs = [(finals(record, model, "Gram-whitened SGD"), finals(record, model, "SGD")) for model in MODELS]
    differences = [
        f"{mean(points(ours)) - mean(points(theirs)):+.1f} ({model})"
        for model, (ours, theirs) in zip(MODELS, pairs, strict=True)
    ]
    leaders = [f"{best_of(record, model, METHODS)} ({model})" for model in MODELS]
    return (
        "The Gram matrix paper (E) asks whether SGD still works when the part of its step that leaves the Gram matrix "
        f"unchanged is removed. Here the difference is {' and '.join(differences)} points of test accuracy. The method "
        f"with the highest test accuracy is {' and '.join(leaders)}."
    )


def verdict(record):
    """The advice of the record on using it to train, in one paragraph."""
    ahead = [model for model in MODELS if better(record, model)]
    if not ahead:
        return (
            "**An instrument, not a recommended optimiser.** In no network is the best Gram-whitened method better "
            "than the best of the others by two standard errors of test accuracy, and its step costs more than its "
            "base's. Use it to ask whether the Gram matrix carries the learning signal; train with other methods."
        )
    return (
        "The best Gram-whitened method has more test accuracy than the best of the others, by more than two standard "
        f"errors, on: {', '.join(ahead)}. These are small networks trained for {record['settings']['epochs']} epochs; "
        "on anything larger it has not been measured."
    )


def conditions(record):
    settings = record["settings"]
    rows = settings["rows"]
    rates = min(len(find(record, "tuning", model=model, method=method)) for model in MODELS for method in METHODS)
    return (
        f"CIFAR-10: {rows['train']:,} training rows, {settings['epochs']} epochs in batches of {settings['batch']}, "
        f"cosine schedule; torch {settings['torch']}, one thread, seconds of the processor for all steps. Each "
        f"method's rate is the best of {rates} on {rows['validation']:,} validation rows (one seed); then "
        f"{settings['seeds']} other seeds, measured on {rows['test']:,} test rows: mean ± standard error. The training "
        f"loss is that of {settings['loss_rows']:,} training rows. The last column is the distance of the hidden "
        "weights from their start, relative to the start. A rate with * is at an end of its grid."
    )


def tuning_table(record, model):
    """Validation accuracy at every rate, from the lowest of a method's grid to the highest."""
    count = max(len(rates) for _, rates in METHODS.values())
    lines = [f"| {model}, method | {' | '.join(f'rate {i + 1}' for i in range(count))} |", "|---|" + "---:|" * count]
    for method in METHODS:
        runs = sorted(find(record, "tuning", model=model, method=method), key=lambda run: run["rate"])
        cells = ["diverged" if run.get("diverged") else f"{100 * run['validation']:.1f}" for run in runs]
        lines.append(f"| {method}, {runs[0]['rate']:g} to {runs[-1]['rate']:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def markdown(record):
    """The page's part that has numbers: the verdict, conditions, tables, comparisons and the tuning."""
    compared = [comparison(record, model, whitened) for model in MODELS for whitened in WHITENED]
    return "\n\n".join([
        verdict(record), answer(record), conditions(record), *(table(record, model) for model in MODELS),
        "\n".join(compared),
        "Validation accuracy in per cent at the learning rates of the grid, each about three times the one before:",
        *(tuning_table(record, model) for model in MODELS),
    ])  # fmt: skip


def figure(record, path):
    """Training loss over epochs and over seconds, one column per network; a line per method, the mean over seeds."""
    from gramian.report.style import BLUE, GREEN, ORANGE, Picture, declutter

    colours = {"SGD": BLUE, "AdamW": ORANGE, "Muon": GREEN}
    picture = Picture(figsize=(9, 6), layout="constrained")
    axes = picture.subplots(2, len(MODELS))
    for column, model in enumerate(MODELS):
        for method in METHODS:
            runs = finals(record, model, method)
            losses = [mean(values) for values in zip(*(run["losses"] for run in runs), strict=True)]
            seconds = mean(run["seconds"] for run in runs)
            epochs = range(len(losses))
            style = {
                "color": colours[WHITENED.get(method, method)], "linestyle": "--" if method in WHITENED else "-",
                "marker": "o", "markersize": 3, "label": method,
            }  # fmt: skip
            axes[0, column].plot(epochs, losses, **style)
            axes[1, column].plot([seconds * epoch / (len(losses) - 1) for epoch in epochs], losses, **style)
        axes[0, column].set(title=model, xlabel="epoch")
        axes[1, column].set(xlabel="processor seconds")
    for ax in axes.flat:
        declutter(ax, "y")
        ax.set_ylabel("training loss")
    axes[0, 0].legend(frameon=False, fontsize=8)
    picture.savefig(path, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run", "table", "figure"])
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    if arguments.action == "run":
        run(arguments.out)
    elif arguments.action == "table":
        print(markdown(json.loads(arguments.out.read_text(encoding="utf-8"))))
    else:
        figure(json.loads(arguments.out.read_text(encoding="utf-8")), FIGURE)
