"""Probabilities of classes: links with and without intercepts, weights of rare classes, and kernel logistic regression.

    GRAMIAN_DATA=... python benchmarks/class_links.py fit --cache folder
    python benchmarks/class_links.py compare --cache folder --out benchmarks/results/class_links.json
    python benchmarks/class_links.py show benchmarks/results/class_links.json

Only the half of the sets on which rules are chosen is read. ``fit`` saves the scores of held-out and of test rows of
each fit (default preset); ``compare`` fits every link to the held-out rows and computes the log loss of the test rows.
Tables of Grinsztajn et al. (2022) have two classes of equal size: they are used as they are, and with the second class
thinned to a share of 10 % and of 3 %.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_softmax
from scipy.stats import t

ROWS = {"grinsztajn-clf-choosing": 1000, "uci-small-choosing": 1000}
TEST_ROWS = 5000
THINNED = (0.1, 0.03)
RARE = 0.12
"""Largest share of a rare class, which also has at most half the share of equal classes."""
WEIGHT_POWERS = (0.5, 1.0)
LOGISTIC_CLASSES = 4
RIDGE_FACTORS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ridges of the logistic regression, in multiples of a quarter of the ridge of least squares."""

SHRINKAGES = (3.0, 10.0)
PRESENT = "the present rule"


class Table(NamedTuple):
    """Training and test rows with labels 0, 1, …; ``name`` is that of the set, which several tables share."""

    key: str
    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def smallest(self) -> float:
        return float(np.bincount(self.y).min() / len(self.y))

    @property
    def rare(self) -> bool:
        return self.smallest <= min(RARE, 0.5 / (self.y.max() + 1))


def thinned(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Rows of which the second class has this share: all of the first class, some of the second."""
    first, second = np.flatnonzero(y == 0), rng.permutation(np.flatnonzero(y == 1))
    kept = second[: int(len(first) * share / (1 - share))]
    return rng.permutation(np.concatenate([first, kept]))


def tables() -> Iterator[Table]:
    from gramian.bench.tasks import SUITES

    for suite, most in ROWS.items():
        for name in SUITES[suite].names(None):
            rows = len(SUITES[suite].task(name, 0).split.train)
            for split in range(3 if rows < 800 else 1):
                task = SUITES[suite].task(name, split)
                (X, y), (X_test, y_test) = task.train, task.test
                X, X_test = np.asarray(X), np.asarray(X_test)
                classes, y = np.unique(y, return_inverse=True)
                known = np.isin(y_test, classes)
                X_test, y_test = X_test[known], np.searchsorted(classes, y_test[known])
                rng = np.random.default_rng(split)
                order = rng.permutation(len(y))
                rows = order[:most]
                if len(np.unique(y[rows])) == len(classes):
                    yield Table(f"{name}-{split}", name, X[rows], y[rows], X_test[:TEST_ROWS], y_test[:TEST_ROWS])
                if suite.startswith("grinsztajn"):
                    for share in THINNED:
                        rows, test = thinned(y, share, rng), thinned(y_test, share, rng)
                        rows, test = rows[:most], test[:TEST_ROWS]
                        label = f"{name} ({share:.0%} of class 1)"
                        yield Table(f"{name}-{share}-{split}", label, X[rows], y[rows], X_test[test], y_test[test])


def scores_of(table: Table, power: float = 0.0) -> dict[str, np.ndarray]:
    """Fit the default, with weights of classes ∝ share^(−power), and return scores of held-out and of test rows."""
    from gramian import RFMClassifier

    shares = np.bincount(table.y) / len(table.y)
    weight = dict(enumerate((shares**-power / (shares ** (1 - power)).sum()).tolist())) if power else None
    begin = time.process_time()
    model = RFMClassifier(random_state=0, class_weight=weight).fit(table.X, table.y).model_
    seconds = time.process_time() - begin
    held = model.holdout
    return {
        "held": held.outputs,
        "labels": model.target.indices(held.targets),
        "weights": held.weights,
        "test": model.outputs(table.X_test),
        "test_labels": table.y_test,
        "seconds": np.array(seconds),
    }


def logistic_scores(table: Table) -> dict[str, np.ndarray]:
    """Fit the default to 3/4 of the rows, and a logistic regression with its kernels; scores of the other 1/4 and test.

    The kernel logistic regression minimises ``Σ_i w_i loss(y_i, f(x_i)) + λ/2 ‖f‖²`` by Newton's method, for each
    member of the average and each ridge; of several classes the blocks of the Hessian on its diagonal are used.
    """
    import torch
    from sklearn.model_selection import train_test_split

    from gramian import RFMClassifier

    X, X_held, y, y_held = train_test_split(table.X, table.y, random_state=0, stratify=table.y)
    begin = time.process_time()
    model = RFMClassifier(random_state=0).fit(X, y).model_
    fitted = time.process_time()
    new = [model.preprocessing.transform(rows) for rows in (X_held, table.X_test)]
    found = [[np.zeros((len(Z), max(2, y.max() + 1))) for Z in new] for _ in RIDGE_FACTORS]
    steps = 0.0
    for machine, share in zip(model.ensemble.machines, model.ensemble.shares, strict=True):
        K = machine.operator.widened().dense().double().numpy()
        eye = torch.eye(machine.n, dtype=torch.float64)
        across = [machine.operator.widened().predict(model.tensor(Z).double(), eye).numpy() for Z in new]
        coef = machine.coef.double().numpy()
        w = np.ones(len(K)) if machine.weights is None else machine.weights.double().numpy()
        noise = coef / w[:, None]
        scaler = model.target_scaler
        targets = np.eye(max(2, coef.shape[1]))[y[model.row_index]]
        codes = (2 * targets[:, 1:] - 1) if coef.shape[1] == 1 else targets
        residual = (codes - scaler.center) / scaler.scale - K @ coef
        ridge = float((residual * noise).sum() / (noise * noise).sum())
        warm = None
        before = time.process_time()
        for at, factor in reversed(list(enumerate(RIDGE_FACTORS))):
            warm = newton(K, targets, w, factor * ridge / 4, warm)
            alpha, offset = warm
            for total, part in zip(found[at], across, strict=True):
                total += share * (part @ alpha + offset)
        steps += time.process_time() - before
    return {
        "held": model.outputs(X_held),
        "labels": y_held,
        "test": model.outputs(table.X_test),
        "test_labels": table.y_test,
        "logistic_held": np.stack([pair[0] for pair in found]),
        "logistic_test": np.stack([pair[1] for pair in found]),
        "seconds": np.array([fitted - begin, steps]),
    }


def newton(
    K: np.ndarray, T: np.ndarray, w: np.ndarray, ridge: float, start: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (n, c) and offsets (c,) of a kernel logistic regression with targets T (n, c), by Newton steps."""
    shares = np.average(T, axis=0, weights=w)
    offset = np.log(np.maximum(shares, 1e-3))
    alpha = np.zeros_like(T) if start is None else start[0].copy()

    def objective(alpha: np.ndarray) -> float:
        f = K @ alpha
        return float(-(w[:, None] * T * log_softmax(f + offset, axis=1)).sum() + ridge / 2 * (alpha * f).sum())

    value = objective(alpha)
    for _ in range(8):
        F = K @ alpha
        P = np.exp(log_softmax(F + offset, axis=1))
        new = np.empty_like(alpha)
        if T.shape[1] == 2:  # scores −f, f: one system, with the curvature of the difference
            H = w * np.maximum(2 * P[:, 1] * P[:, 0], 1e-6)
            z = F[:, 1] + w * (T[:, 1] - P[:, 1]) / H
            new[:, 1] = cho_solve(cho_factor(K + np.diag(ridge / H)), z)
            new[:, 0] = -new[:, 1]
        else:
            for c in range(T.shape[1]):
                H = w * np.maximum(P[:, c] * (1 - P[:, c]), 1e-6)
                z = F[:, c] + w * (T[:, c] - P[:, c]) / H
                new[:, c] = cho_solve(cho_factor(K + np.diag(ridge / H)), z)
        step = 1.0
        while step > 0.01:
            trial = alpha + step * (new - alpha)
            at = objective(trial)
            if at <= value:
                break
            step /= 2
        else:
            break
        alpha, gain, value = trial, value - at, at
        if gain < 1e-4 * abs(value):
            break
    return alpha, offset


def fit_all(cache: Path) -> None:
    """Save the scores of all fits that are not in the folder yet."""
    cache.mkdir(parents=True, exist_ok=True)
    for table in tables():
        jobs: dict[str, Any] = {"plain": lambda table=table: scores_of(table)}
        if table.rare:
            for power in WEIGHT_POWERS:
                jobs[f"weights-{power}"] = lambda table=table, power=power: scores_of(table, power)
        if table.y.max() < LOGISTIC_CLASSES and len(table.y) > 100 and table.key.endswith("-0"):
            jobs["logistic"] = lambda table=table: logistic_scores(table)
        for kind, job in jobs.items():
            path = cache / f"{kind}@{table.key}@{table.name}.npz"
            if not path.exists():
                found = job()
                np.savez(path, **found, smallest=table.smallest, classes=table.y.max() + 1, rows=len(table.y))
                print(f"{time.process_time():.0f} s: {path.stem}, {found['seconds']}", flush=True)


Fitted = tuple[float, Callable[[np.ndarray], np.ndarray]]
"""The loss of held-out rows to which a link was fitted, and its map from scores to log probabilities."""


def present(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Fitted:
    """The rule of the package: a temperature or a power, whichever has the smaller loss."""
    from gramian.tables.links import fit_link

    link = fit_link(scores, labels, weights)
    return loss(link.log_probabilities(scores), labels, weights), link.log_probabilities


def columns(scores: np.ndarray, offset: float | None) -> np.ndarray:
    """Features G of ``p ∝ exp(a G + b)``: scores, or the logarithm of ``max(q, 0) + ε``."""
    G = np.hstack([1 - scores, 1 + scores]) / 2 if scores.shape[1] == 1 else scores
    return G if offset is None else np.log(np.maximum(G, 0) + offset)


def with_intercepts(
    scores: np.ndarray, labels: np.ndarray, weights: np.ndarray, kinds: str, shrinkage: float
) -> Fitted:
    """Fit ``p ∝ exp(a G + b)``; ``shrinkage · Σ b²/2`` is added to the total loss, and infinity means b = 0.

    ``kinds`` is "temperature", "power" or "both", of which the smaller loss decides.
    """
    from gramian.tables.links import _OFFSETS

    classes = max(2, scores.shape[1])
    total = weights.sum() ** 2 / (weights**2).sum()
    targets = np.full((len(labels), classes), 1 / (total + classes))
    targets[np.arange(len(labels)), labels] = (total + 1) / (total + classes)
    offsets = {"temperature": (None,), "power": _OFFSETS, "both": (None, *_OFFSETS)}[kinds]
    found = []
    for offset in offsets:
        bounds = (0.01, 100.0) if offset is None else (0.2, 20.0)
        found.append((*vector_scaling(columns(scores, offset), targets, weights, shrinkage / total, bounds), offset))
    _, a, b, best = min(found, key=lambda each: each[0])

    def link(new: np.ndarray) -> np.ndarray:
        return np.asarray(log_softmax(a * columns(new, best) + b, axis=1))

    return loss(link(scores), labels, weights), link


def vector_scaling(
    G: np.ndarray, targets: np.ndarray, weights: np.ndarray, shrinkage: float, bounds: tuple[float, float]
) -> tuple[float, float, np.ndarray]:
    """Least loss, factor a and intercepts b of ``p ∝ exp(a G + b)``, by Newton's method on a convex function."""
    w = weights / weights.sum()
    c = G.shape[1]
    free = np.isfinite(shrinkage)
    a, b = float(np.clip(1 / max(G.std(), 1e-9), *bounds)), np.zeros(c)

    def objective(a: float, b: np.ndarray) -> float:
        penalty = shrinkage / 2 * (b @ b) if free else 0.0
        return float(penalty - w @ (targets * log_softmax(a * G + b, axis=1)).sum(axis=1))

    value = objective(a, b)
    for _ in range(40):
        p = np.exp(log_softmax(a * G + b, axis=1))
        mean = (p * G).sum(axis=1)
        slope = np.array([w @ (mean - (targets * G).sum(axis=1))])
        H = np.array([[w @ ((p * G * G).sum(axis=1) - mean**2) + 1e-12]])
        if free:
            slope = np.concatenate([slope, w @ (p - targets) + shrinkage * b])
            cross = w @ (p * (G - mean[:, None]))
            block = np.diag(w @ p) - (p * w[:, None]).T @ p + (shrinkage + 1e-9) * np.eye(c)
            H = np.block([[H, cross[None]], [cross[:, None], block]])
        step = np.linalg.solve(H, slope)
        step = step if free else np.concatenate([step, np.zeros(c)])
        for size in 0.5 ** np.arange(14):
            trial = float(np.clip(a - size * step[0], *bounds)), b - size * step[1:]
            if (at := objective(*trial)) <= value:
                break
        else:
            break
        gain, (a, b), value = value - at, trial, at
        if gain < 1e-9:
            break
    return value, a, b


def cross_fitted(fit: Callable[..., Fitted], scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Loss of held-out rows by links that were fitted to the other four fifths of them."""
    fold = np.random.default_rng(0).permutation(len(labels)) % min(5, len(labels))
    found = np.zeros(len(labels))
    for k in range(fold.max() + 1):
        others, own = fold != k, fold == k
        _, link = fit(scores[others], labels[others], weights[others])
        found[own] = -link(scores[own])[np.arange(own.sum()), labels[own]]
    return float(np.average(found, weights=weights))


def loss(logs: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> float:
    own = logs[np.arange(len(labels)), labels]
    return float(-np.average(np.maximum(own, np.log(1e-15)), weights=weights))


def link_losses(saved: dict[str, np.ndarray]) -> dict[str, float]:
    """Log loss of the test rows by each link."""
    f, y, w = saved["held"], saved["labels"], saved["weights"]
    kinds: dict[str, Callable[..., Fitted]] = {
        PRESENT: present,
        "temperature": partial(with_intercepts, kinds="temperature", shrinkage=np.inf),
        "power": partial(with_intercepts, kinds="power", shrinkage=np.inf),
    }
    for shrinkage in SHRINKAGES:
        for kind, words in (("temperature", "temperature"), ("both", "temperature or power")):
            name = f"{words}, and intercepts, shrinkage {shrinkage:g}"
            kinds[name] = partial(with_intercepts, kinds=kind, shrinkage=shrinkage)
    fitted = {name: fit(f, y, w) for name, fit in kinds.items()}
    found = {name: loss(link(saved["test"]), saved["test_labels"]) for name, (_, link) in fitted.items()}
    rivals = [PRESENT, f"temperature or power, and intercepts, shrinkage {SHRINKAGES[-1]:g}"]
    best = min(rivals, key=lambda name: cross_fitted(kinds[name], f, y, w))
    found[f"intercepts (shrinkage {SHRINKAGES[-1]:g}) if they lower the cross-fitted loss"] = found[best]
    return found


def weight_losses(plain: dict[str, np.ndarray], weighted: dict[float, dict[str, np.ndarray]]) -> dict[str, float]:
    """Log loss of the test rows of fits with weights of classes."""
    least, link = present(plain["held"], plain["labels"], plain["weights"])
    found = {PRESENT: loss(link(plain["test"]), plain["test_labels"])}
    ranking = [(least, PRESENT)]
    for power, saved in weighted.items():
        parts = saved["held"], saved["labels"], saved["weights"]
        name = f"weights share^−{power:g}"
        found[name] = loss(present(*parts)[1](saved["test"]), saved["test_labels"])
        least, link = with_intercepts(*parts, kinds="both", shrinkage=min(SHRINKAGES))
        found[f"{name}, link with intercepts"] = loss(link(saved["test"]), saved["test_labels"])
        ranking.append((least, f"{name}, link with intercepts"))
    found["weights by the smallest held-out loss"] = found[min(ranking)[1]]
    return found


def logistic_losses(saved: dict[str, np.ndarray]) -> dict[str, float]:
    """Log loss of the test rows of kernel logistic regression, its ridge chosen on the held-out rows."""
    y, w, truth = saved["labels"], np.ones(len(saved["labels"])), saved["test_labels"]
    least, link = present(saved["held"], y, w)
    ours = link(saved["test"])
    found = {PRESENT: loss(ours, truth)}
    rivals = []
    for held, test in zip(saved["logistic_held"], saved["logistic_test"], strict=True):
        value, link = with_intercepts(scores_for(held), y, w, kinds="temperature", shrinkage=np.inf)
        rivals.append((value, link(scores_for(test))))
    value, theirs = min(rivals, key=lambda each: each[0])
    found["kernel logistic regression"] = loss(theirs, truth)
    found["kernel logistic regression if its held-out loss is smaller"] = loss(theirs if value < least else ours, truth)
    found["geometric mean of both probabilities"] = loss(log_softmax((ours + theirs) / 2, axis=1), truth)
    found["kernel logistic regression, best ridge by test rows (a bound)"] = min(loss(p, truth) for _, p in rivals)
    return found


def scores_for(logits: np.ndarray) -> np.ndarray:
    """One column for two classes, as the package has it."""
    return logits[:, 1:] - logits[:, :1] if logits.shape[1] == 2 else logits


def summarise(losses: list[tuple[str, dict[str, float]]]) -> list[dict[str, Any]]:
    """Ratio of the loss to that of the present rule: geometric mean over sets, 95 % interval, and wins."""
    by_set: dict[str, list[dict[str, float]]] = {}
    for name, found in losses:
        by_set.setdefault(name, []).append(found)
    rows = []
    for method in losses[0][1]:
        if method == PRESENT:
            continue
        means = np.array([[np.mean([f[m] for f in found]) for m in (method, PRESENT)] for found in by_set.values()])
        logs = np.log(means[:, 0] / means[:, 1])
        half = float(t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs)))
        ends = [round(float(np.exp(logs.mean() + side * half)), 4) for side in (-1, 1)]
        rows.append(
            {
                "method": method,
                "ratio": round(float(np.exp(logs.mean())), 4),
                "interval": ends,
                "better": int((logs < -1e-9).sum()),
                "worse": int((logs > 1e-9).sum()),
                "sets": len(logs),
                "largest": round(float(np.exp(logs.max())), 3),
            }
        )
    return rows


def compare(cache: Path) -> dict[str, Any]:
    """Compare everything on the saved scores."""
    saved: dict[str, dict[str, dict[str, Any]]] = {}
    for path in sorted(cache.glob("*@*@*.npz")):
        kind, key, name = path.stem.split("@")
        with np.load(path) as arrays:
            saved.setdefault(kind, {})[key] = {**arrays, "name": name}
    links = [(one, link_losses(one)) for one in saved["plain"].values()]
    groups = {
        "two classes": lambda one: one["classes"] == 2,
        "two classes, one of them rare": lambda one: one["classes"] == 2 and one["smallest"] <= RARE,
        "several classes": lambda one: one["classes"] > 2,
    }
    comparisons = [
        {"question": f"links, {group}", "rows": summarise([(one["name"], found) for one, found in links if among(one)])}
        for group, among in groups.items()
    ]
    weighted = [
        (one, weight_losses(one, {power: saved[f"weights-{power}"][key] for power in WEIGHT_POWERS}))
        for key, one in saved["plain"].items()
        if key in saved[f"weights-{WEIGHT_POWERS[-1]}"] and one["smallest"] <= min(RARE, 0.5 / one["classes"])
    ]
    logistic = [(one, logistic_losses(one)) for one in saved["logistic"].values()]
    for question, found in (("weights of rare classes", weighted), ("kernel logistic regression", logistic)):
        for group, among in (("two classes", groups["two classes"]), ("several classes", groups["several classes"])):
            rows = [(one["name"], losses) for one, losses in found if among(one)]
            comparisons.append({"question": f"{question}, {group}", "rows": summarise(rows)})
    cost = [one["seconds"][1] / len(RIDGE_FACTORS) / one["seconds"][0] for one in saved["logistic"].values()]
    return {
        "fits": {kind: len(found) for kind, found in saved.items()},
        "sets": sorted({one["name"] for one in saved["plain"].values()}),
        "training_rows_at_most": ROWS,
        "logistic_cost_of_one_ridge": round(float(np.median(cost)), 3),
        "comparisons": comparisons,
    }


def markdown(saved: dict[str, Any]) -> str:
    """The comparison as a table in Markdown."""
    lines = ["| compared with the present rule | log loss ratio (95 %) | better | worse |", "|---|---:|---:|---:|"]
    for part in saved["comparisons"]:
        lines.append(f"| **{part['question']}: {part['rows'][0]['sets']} sets** | | | |")
        for row in part["rows"]:
            low, high = row["interval"]
            ratio = f"{row['ratio']:.3f} ({low:.3f} to {high:.3f})"
            lines.append(f"| {row['method']} | {ratio} | {row['better']} | {row['worse']} |")
    cost = f"{saved['logistic_cost_of_one_ridge']:.0%} of the processor time of the fit"
    lines += ["", f"Newton's steps of the logistic regression for one ridge take {cost}, as a median."]
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fit").add_argument("--cache", type=Path, required=True)
    comparing = commands.add_parser("compare")
    comparing.add_argument("--cache", type=Path, required=True)
    comparing.add_argument("--out", type=Path, required=True)
    commands.add_parser("show").add_argument("path", type=Path)
    given = parser.parse_args()
    if given.command == "fit":
        fit_all(given.cache)
    elif given.command == "compare":
        given.out.write_text(json.dumps(compare(given.cache), indent=1) + "\n", encoding="utf-8")
    else:
        print(markdown(json.loads(given.path.read_text(encoding="utf-8"))))
