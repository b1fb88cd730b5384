"""Fig. 5: its averages over data sets, recomputed from the paper's own Tables 2 to 5 without any training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from gramian.bench import metrics
from gramian.experiments import Claim, Null, Result, at_most, between, experiment, number, positive, unavailable
from gramian.experiments.b_rfm.metrics import printed_adtm
from gramian.experiments.b_rfm.printed_tables import table
from gramian.experiments.claims import Kind
from gramian.report import style

NETWORKS = ("FT Transformer", "MLP", "Resnet", "SAINT")
TREES = ("GradientBoostingTree", "HistGradientBoostingTree", "RandomForest", "XGBoost")
_NAMES = {
    "RFM": "RFM",
    "XGBoost": "XGBoost",
    "GradientBoostingTree": "gradient boosting",
    "RandomForest": "random forest",
}
_FIG_5C = {
    "RFM": (83.84, 0.810, 0.991, 2.39),
    "XGBoost": (83.63, 0.762, 0.990, 2.63),
    "GradientBoostingTree": (83.28, 0.641, 0.986, 3.95),
    "RandomForest": (83.31, 0.555, 0.986, 4.24),
    "Resnet": (81.81, 0.286, 0.967, 6.05),
    "SAINT": (82.43, 0.458, 0.975, 5.13),
    "MLP": (81.13, 0.089, 0.959, 7.37),
    "FT Transformer": (82.62, 0.549, 0.977, 4.24),
}
"""Average accuracy (%), ADTM, PMA and Friedman rank, as Fig. 5c prints them."""
_SPREADS = {
    "RFM": 0.017,
    "XGBoost": 0.014,
    "GradientBoostingTree": 0.013,
    "RandomForest": 0.010,
    "Resnet": 0.029,
    "FT Transformer": 0.026,
}
"""The six numbers that Fig. 5c prints after the ± of PMA."""
_FIG_5D = (0.776, 0.701, 0.984, 3.00)
"""Average R², ADTM, PMA and Friedman rank of RFM, as Fig. 5d prints them."""
_XGBOOST_5D = 0.780
"""Average R² of XGBoost in Fig. 5d."""
_LARGE = 10_000


@dataclass(frozen=True)
class TableAverages:
    """The averages of Fig. 5 from the tables with these numbers."""

    classification: int = 3
    regression: int = 2
    with_categories: tuple[int, ...] = (4, 5)


def averages(number: int) -> dict[str, dict[str, float]]:
    """Return average, ADTM (also as printed), PMA and Friedman rank of every method of a table.

    >>> round(averages(3)["RFM"]["average"], 2)
    83.84
    """
    printed = table(number)
    x = printed.scores
    columns = {
        "average": metrics.average(x),
        "adtm": metrics.adtm(x),
        "adtm/printed": printed_adtm(x),
        "pma": metrics.pma(x) / 100,
        "pma/spread": metrics.pma_spread(x) / 100,
        "rank": metrics.friedman_rank(x),
    }
    return {m: {key: float(v[j]) for key, v in columns.items()} for j, m in enumerate(printed.methods)}


def share_ahead(differences: Float[np.ndarray, " ..."]) -> float:
    """Return the share of positive differences; a tie counts one half, and a missing value not at all.

    >>> share_ahead(np.array([0.1, 0.0, -0.1, np.nan, 0.0]))
    0.5
    """
    found = differences[~np.isnan(differences)]
    return float(((found > 0) + 0.5 * (found == 0)).mean())


class _Arithmetic(TypedDict):
    deterministic: bool
    kind: Kind


def _claims() -> Iterator[Claim]:
    rounding = "the same table, so only the rounding of its entries and of the result: "
    more = _Arithmetic(deterministic=True, kind="side condition")
    for method, (accuracy, adtm, pma, rank) in _FIG_5C.items():
        title = _NAMES.get(method, method)
        key = f"classification/{method}"
        yield number(
            f"{key}/average", accuracy, 0.01, rounding + "0.01", label=f"Fig. 5c, {title}: average accuracy (%)",
            null=Null(82.76, "the average over all methods"), **more,
        )  # fmt: skip
        yield number(
            f"{key}/adtm", adtm, 0.001, rounding + "0.001", label=f"Fig. 5c, {title}: ADTM",
            null=Null(0.02, "the formula as printed, about"), misprint="(x − min)/max is printed in appendix E",
            printed_key=f"{key}/adtm/printed", **more,
        )  # fmt: skip
        yield number(
            f"{key}/pma", pma, 0.001, rounding + "0.001", label=f"Fig. 5c, {title}: PMA",
            null=Null(1.0, "the best method on every set"), **more,
        )  # fmt: skip
        yield number(
            f"{key}/rank", rank, 0.01, rounding + "0.01", label=f"Fig. 5c, {title}: Friedman rank",
            null=Null(4.5, "equal methods"), **more,
        )  # fmt: skip
    for method, spread in _SPREADS.items():
        yield number(
            f"classification/{method}/pma/spread", spread, 0.001, rounding + "0.001", slack=0.001,
            label=f"Fig. 5c, {_NAMES.get(method, method)}: PMA, the number after ±",
            null=Null(0.0, "a method that is equally far from the best on every set"), **more,
        )  # fmt: skip
    yield number(
        "regression/RFM/average", 0.776, 0.001, rounding + "0.001", label="Fig. 5d, RFM: average R²",
        null=Null(0.772, "without isolet, which the other methods lack"), **more,
    )  # fmt: skip
    for figure, values, kind, source in (
        ("5c", _FIG_5C["RFM"], "classification", "b/table3"),
        ("5d", _FIG_5D, "regression", "b/table2"),
    ):
        lacking = f"not all sets of Fig. {figure} are at hand; {source} is about those that are"
        for key, value in zip(("average", "adtm", "pma", "rank"), values, strict=True):
            yield unavailable(f"{kind}/ours/{key}", lacking, paper=value, label=f"Fig. {figure}, our RFM: {key}")
    for method in NETWORKS:
        yield positive(
            f"lead/classification/{method}",
            "“RFMs outperform all neural network models”: the averages of Table 3, a sign",
            label=f"RFM minus {method}: average accuracy of Table 3 (%)",
            **more,
        )
    yield between(
        "rows/classification",
        1.0,
        1.0,
        "“RFMs outperform all neural network models on all classification and regression tasks”, read by rows",
        label="share of the rows of Table 3 on which RFM is at least as good as every network",
        null=Null(0.2, "five equal methods"),
        **more,
    )
    yield between(
        "metrics/classification",
        1.0,
        1.0,
        "RFMs “achieve the highest on all metrics across all classification tasks”: all four of Fig. 5c",
        label="share of the averages of Table 3 in which RFM is the best of eight methods",
        null=Null(1 / 8, "eight equal methods"),
        **more,
    )
    for which, why in (
        (2, "“RFMs outperform all neural network models on all classification and regression tasks”"),
        (4, "with categories, an improvement over networks in general: more than half of the comparisons"),
        (5, "with categories, an improvement over networks in general: more than half of the comparisons"),
    ):
        yield between(
            f"rows/table {which}",
            1.0 if which == 2 else 0.6,
            1.0,
            why,
            label=f"share of the printed pairs of Table {which} in which RFM is ahead of a network, ties one half",
            null=Null(0.5, "equal methods"),
            **more,
        )
    yield between(
        "trees/table 4",
        0.6,
        1.0,
        "with categories, RFMs “are slightly outperformed by tree-based models on regression tasks”: more than half of "
        "the comparisons",
        label="share of the printed pairs of Table 4 in which a tree-based model is ahead of RFM, ties one half",
        null=Null(0.5, "equal methods"),
        **more,
    )
    yield at_most(
        "trees/table 4/best",
        0.02,
        "with categories, RFMs “are slightly outperformed by tree-based models on regression tasks”: a slight lead is "
        "at most 0.02 of R²",
        label="Table 4: R² of the best tree-based model minus RFM, mean over rows",
        null=Null(0.1, "a lead that is not slight"),
        **more,
    )
    yield between(
        "large/best",
        4 / 7 - 1e-9,
        1.0,
        "the top “performing model on the majority of large classification and regression tasks”: "
        "at least 4 of 7, ties counted",
        label="share of the seven large tasks on which RFM is best",
        null=Null(1 / 7, "seven equal methods"),
        **more,
    )


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(5.4, 3.4)
    ax = figure.subplots()
    found = records[0]["numbers"]
    order = sorted(_FIG_5C, key=lambda m: found[f"classification/{m}/adtm"])
    ours = [found[f"classification/{m}/adtm"] for m in order]
    wrong = [found[f"classification/{m}/adtm/printed"] for m in order]
    ax.barh(np.arange(len(order)) + 0.2, ours, 0.36, color=style.BLUE, label="(x − min)/(max − min)")
    ax.barh(np.arange(len(order)) - 0.2, wrong, 0.36, color=style.ORANGE, label="(x − min)/max, as printed")
    ax.plot([_FIG_5C[m][1] for m in order], np.arange(len(order)) + 0.2, "|", color=style.INK, ms=12, label="Fig. 5c")
    ax.set_yticks(range(len(order)), [_NAMES.get(m, m) for m in order])
    ax.set(xlabel="average distance to the minimum, from Table 3", xlim=(0, 1))
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    style.finish(ax, "x")


def arithmetic_numbers(spec: TableAverages) -> dict[str, float]:
    """Return all averages, RFM's lead over each network, and the shares of tasks on which it is best."""
    numbers: dict[str, float] = {}
    for kind, which in (("classification", spec.classification), ("regression", spec.regression)):
        found = averages(which)
        for method, values in found.items():
            numbers |= {f"{kind}/{method}/{key}": value for key, value in values.items()}
    ours = table(spec.classification).of("RFM")
    rivals = np.stack([table(spec.classification).of(m) for m in NETWORKS], axis=1)
    for j, method in enumerate(NETWORKS):
        numbers[f"lead/classification/{method}"] = float(ours.mean() - rivals[:, j].mean())
    numbers["rows/classification"] = float((ours >= rivals.max(axis=1)).mean())
    means = averages(spec.classification)
    signs = {"average": 1, "adtm": 1, "pma": 1, "rank": -1}
    first = [max(means, key=lambda m: sign * means[m][key]) == "RFM" for key, sign in signs.items()]
    numbers["metrics/classification"] = float(np.mean(first))
    for which in (spec.regression, *spec.with_categories):
        printed = table(which)
        pairs = np.stack([printed.of("RFM") - printed.of(m) for m in NETWORKS if m in printed.methods])
        numbers[f"rows/table {which}"] = share_ahead(pairs)
    regression = table(spec.with_categories[0])
    trees = np.stack([regression.of(m) for m in TREES]) - regression.of("RFM")
    numbers["trees/table 4"] = share_ahead(trees)
    numbers["trees/table 4/best"] = float(np.nanmax(trees, axis=0).mean())
    best = []
    for which in (spec.classification, spec.regression):
        printed = table(which)
        large = np.array([rows > _LARGE for rows, _ in printed.rows])
        best += (printed.of("RFM") >= np.nanmax(printed.scores, axis=1))[large].tolist()
    numbers["large/best"] = float(np.mean(best))
    # Fig. 5d's average of XGBoost and Table 2's other entries imply its value on isolet, which the table lacks.
    known = table(spec.regression).of("XGBoost")
    numbers["regression/XGBoost/implied isolet"] = float(_XGBOOST_5D * len(known) - np.nansum(known))
    return numbers


@experiment(
    "b/fig5",
    "B",
    "Fig. 5c, and sentences about Tables 2 to 5: averages and comparisons from the tables themselves, without training",
    specs={"smoke": (TableAverages(),), "small": (TableAverages(),), "paper": (TableAverages(),)},
    seeds={"smoke": 1, "small": 1, "paper": 1},
    version=2,  # ties count one half; the ± of PMA and tree-based models
    claims=[*_claims()],
    draw=_draw,
)
def arithmetic(spec: TableAverages, seed: int) -> Result:
    """Recompute the averages; nothing is random."""
    return Result(arithmetic_numbers(spec))


@dataclass(frozen=True)
class OtherReading(TableAverages):
    """The same tables, for the other reading of the sentence about networks."""


@experiment(
    "b/fig5-why",
    "B",
    "Explanation of the sentence that RFMs outperform all networks on all tasks: it holds for averages, not for rows",
    specs={"smoke": (OtherReading(),), "small": (OtherReading(),), "paper": (OtherReading(),)},
    seeds={"smoke": 1, "small": 1, "paper": 1},
    claims=[
        between(
            "averages",
            1.0,
            1.0,
            "if the sentence is about the averages of Fig. 5c, RFM is ahead in all four and of all four networks",
            label="Explanation: share of the averages of Fig. 5c in which RFM is ahead of a network",
            kind="side condition",
            null=Null(0.5, "equal methods"),
            deterministic=True,
        )
    ],
)
def other_reading(spec: OtherReading, seed: int) -> Result:
    """Compare average, ADTM, PMA and rank of RFM with those of each network."""
    found = averages(spec.classification)
    ahead = [found["RFM"][key] > found[m][key] for m in NETWORKS for key in ("average", "adtm", "pma")]
    ahead += [found["RFM"]["rank"] < found[m]["rank"] for m in NETWORKS]
    return Result({"averages": float(np.mean(ahead))})
