"""Appendix E: the metrics that compare methods over data sets, and the misprint in one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from gramian.bench import metrics
from gramian.experiments import Claim, Null, Result, between, experiment


@dataclass(frozen=True)
class ScoreTable:
    """A random table of accuracies: data sets × methods, of which the first is always best, the last always worst."""

    sets: int
    methods: int


def printed_adtm(x: Float[np.ndarray, "sets methods"]) -> Float[np.ndarray, " methods"]:
    """Return the average distance to the minimum as appendix E prints it: ``(x − min)/max``.

    >>> printed_adtm(np.array([[1.0, 0.5], [0.8, 0.4]])).tolist()
    [0.5, 0.0]
    """
    return metrics.average((x - np.nanmin(x, axis=1, keepdims=True)) / np.nanmax(x, axis=1, keepdims=True))


def _exactly(key: str, value: float, label: str, null: Null, **more: str) -> Claim:
    return between(
        key,
        value - 1e-9,
        value + 1e-9,
        "a property that the definition states, up to rounding",
        label=label,
        kind="proved identity",
        null=null,
        **more,  # type: ignore[arg-type]
    )


def _claims() -> Iterator[Claim]:
    yield _exactly(
        "adtm/best",
        1.0,
        "ADTM of a method that is best on all sets: “1 indicating a method is the best”",
        Null(0.5, "a method in the middle"),
        misprint="(x − min)/max is printed; only (x − min)/(max − min) gives 1 for the best method",
        printed_key="adtm/best/printed",
    )
    yield _exactly("adtm/worst", 0.0, "ADTM of a method that is worst on all sets", Null(0.5, "a method in the middle"))
    yield _exactly("pma/best", 100.0, "PMA of a method that is best on all sets (%)", Null(80.0, "another method"))
    yield _exactly("p95/best", 100.0, "P95 of a method that is best on all sets (%)", Null(50.0, "another method"))
    yield _exactly("rank/best", 1.0, "Friedman rank of a method that is best on all sets", Null(4.0, "any method"))
    yield _exactly("rank/mean", 0.0, "mean Friedman rank minus (methods + 1)/2", Null(1.0, "ranks from 0"))
    yield _exactly("naive", 0.0, "largest difference from the definitions, written as loops", Null(1.0, "another one"))


def naive(x: Float[np.ndarray, "sets methods"]) -> dict[str, list[float]]:
    """Compute PMA, P95, ADTM and the mean rank of complete tables without ties, set by set.

    >>> naive(np.array([[0.5, 1.0]]))["rank"]
    [2.0, 1.0]
    """
    out: dict[str, list[float]] = {"pma": [], "p95": [], "adtm": [], "rank": []}
    for j in range(x.shape[1]):
        parts = [(row[j], float(min(row)), float(max(row)), 1 + sum(v > row[j] for v in row)) for row in x.tolist()]
        count = len(parts)
        out["pma"].append(sum(100 * v / high for v, _, high, _ in parts) / count)
        out["p95"].append(sum(100 * (v >= 0.95 * high) for v, _, high, _ in parts) / count)
        out["adtm"].append(sum((v - low) / (high - low) for v, low, high, _ in parts) / count)
        out["rank"].append(sum(float(rank) for *_, rank in parts) / count)
    return out


@experiment(
    "b/metrics",
    "B",
    "Appendix E: PMA, P95, ADTM and Friedman rank have the properties that their definitions state",
    specs={"smoke": (ScoreTable(5, 4),), "small": (ScoreTable(30, 8),), "paper": (ScoreTable(30, 8),)},
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
)
def appendix(spec: ScoreTable, seed: int) -> Result:
    """Evaluate the metrics on a random table."""
    rng = torch.Generator().manual_seed(seed)
    x = 0.5 + 0.4 * torch.rand(spec.sets, spec.methods, generator=rng, dtype=torch.float64).numpy()
    x[:, 0], x[:, -1] = 0.95, 0.45
    found = {
        "pma": metrics.pma(x),
        "p95": metrics.within(x, 95),
        "adtm": metrics.adtm(x),
        "rank": metrics.friedman_rank(x),
    }
    loops = naive(x)
    return Result(
        {
            "adtm/best": float(found["adtm"][0]),
            "adtm/best/printed": float(printed_adtm(x)[0]),
            "adtm/worst": float(found["adtm"][-1]),
            "pma/best": float(found["pma"][0]),
            "p95/best": float(found["p95"][0]),
            "rank/best": float(found["rank"][0]),
            "rank/mean": float(found["rank"].mean() - (spec.methods + 1) / 2),
            "naive": max(float(np.abs(found[name] - np.array(loops[name])).max()) for name in found),
        }
    )
