"""Sentences about the numbers of a report: each states one or two columns of one layer, or of all layers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Row = Mapping[str, float | int | str]
ALIGNED, PARTLY_ALIGNED = 0.9, 0.5
"""Smallest cosines at which two matrices are said to agree closely, or in part."""
CONVERGED, NEARLY_CONVERGED = 0.05, 0.5
"""Largest residuals of FACT at which a layer is said to have converged, or to be close to convergence."""


def describe_layer(entry: Row) -> list[str]:
    """Return sentences about one row of a FeatureReport; quantities that were not measured are omitted.

    >>> describe_layer({"layer": "0", "effective_rank": 3.14, "agop_effective_rank": 2.0})
    ['The weights use about 3.1 directions (effective rank); the outputs are sensitive to about 2.0.']
    """
    return [words for words in (_alignment(entry), _convergence(entry), _ranks(entry), _features(entry)) if words]


def describe_network(rows: Sequence[Row]) -> list[str]:
    """Return sentences about all rows of a FeatureReport.

    >>> describe_network([{"layer": "a", "nfa_half_cos": 0.95}, {"layer": "b", "nfa_half_cos": 0.2}])
    ['In 1 of 2 layers, WᵀW agrees closely with AGOP^½ (cosine at least 0.9); layer b has the lowest cosine (0.200).']
    """
    found = []
    nfa = _measured(rows, "nfa_half_cos")
    if nfa:
        close = sum(value >= ALIGNED for _, value in nfa)
        least, value = min(nfa, key=lambda pair: pair[1])
        where = "" if close == len(nfa) else f"; layer {least} has the lowest cosine ({value:.3f})"
        found.append(
            f"In {close} of {len(nfa)} layers, WᵀW agrees closely with AGOP^½ (cosine at least {ALIGNED}){where}."
        )
    residuals = _measured(rows, "fact_residual")
    if residuals:
        converged = sum(value <= CONVERGED for _, value in residuals)
        most, value = max(residuals, key=lambda pair: pair[1])
        far = f"; layer {most} has the largest difference, {_relative(value)}" if converged < len(residuals) else ""
        found.append(
            f"In {converged} of {len(residuals)} layers, FACT equals WᵀW up to {CONVERGED:.0%} of its norm{far}. "
            "Once training has converged the two are equal; before that they need not be."
        )
    linear = _measured(rows, "target_linearity")
    if len(linear) > 1:
        (first, start), (last, end) = linear[0], linear[-1]
        found.append(
            f"A linear fit to the input of a layer explains {_share(start)} of the target at layer {first} and "
            f"{_share(end)} at layer {last}."
        )
    return found


def _measured(rows: Sequence[Row], name: str) -> list[tuple[str, float]]:
    pairs = [(str(entry["layer"]), _value(entry, name)) for entry in rows]
    return [(layer, value) for layer, value in pairs if not math.isnan(value)]


def _value(entry: Row, name: str) -> float:
    return float(entry.get(name, math.nan))


def _alignment(entry: Row) -> str:
    half, best, power = (_value(entry, name) for name in ("nfa_half_cos", "nfa_best_cos", "best_power"))
    if math.isnan(half):
        return ""
    if half >= ALIGNED:
        words = (
            f"WᵀW agrees closely with AGOP^½ (cosine {half:.3f}): the weights are largest along the input directions "
            "to which the outputs are most sensitive."
        )
    elif half >= PARTLY_ALIGNED:
        words = f"WᵀW agrees in part with AGOP^½ (cosine {half:.3f})."
    else:
        words = (
            f"WᵀW and AGOP^½ hardly agree (cosine {half:.3f}): the weights do not show to which input directions the "
            "outputs are sensitive."
        )
    if best - half > 0.02:
        words += f" The power s = {power:.2f} fits best, with cosine {best:.3f}."
    return words


def _convergence(entry: Row) -> str:
    residual, cos = _value(entry, "fact_residual"), _value(entry, "fact_cos")
    if math.isnan(residual):
        return ""
    if residual <= CONVERGED:
        return f"FACT equals WᵀW up to {residual:.1%} of its norm: the layer has converged."
    apart = f"FACT differs from WᵀW by {_relative(residual)} (cosine {cos:.3f})"
    if residual <= NEARLY_CONVERGED:
        return f"{apart}: the layer is close to convergence."
    return f"{apart}: the layer has not converged."


def _ranks(entry: Row) -> str:
    own, agop = _value(entry, "effective_rank"), _value(entry, "agop_effective_rank")
    if math.isnan(own) or math.isnan(agop):
        return ""
    words = (
        f"The weights use about {own:.1f} directions (effective rank); the outputs are sensitive to about {agop:.1f}."
    )
    share = _value(entry, "top_share")
    return words if math.isnan(share) else f"{words} The strongest direction has {share:.0%} of the trace of WᵀW."


def _features(entry: Row) -> str:
    linear, nc4 = _value(entry, "target_linearity"), _value(entry, "nc4")
    words = "" if math.isnan(linear) else f"A linear fit to the layer's input explains {_share(linear)} of the target"
    if not math.isnan(nc4):
        mean = f"the nearest class mean of the input agrees with the network for {nc4:.0%} of the samples"
        words = f"{words}, and {mean}" if words else mean[0].upper() + mean[1:]
    return f"{words}." if words else ""


def _relative(residual: float) -> str:
    return f"{residual:.0%} of its norm" if residual < 10 else f"{residual:,.0f} times its norm"


def _share(value: float) -> str:
    return "nothing" if value <= 0 else f"{value:.0%}"
