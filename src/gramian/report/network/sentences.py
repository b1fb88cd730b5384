"""Sentences about the numbers of a report: each states one or two columns of one layer, or of all layers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gramian.nets.table import ALIGNED, PARTLY_ALIGNED, excess

Row = Mapping[str, float | int | str]
CERTAIN = 3.0
"""Smallest distance from the value by chance, in standard deviations, at which weights are said to be aligned."""
FEW_LAYERS = 0.05
"""Largest share of layers beyond chance at which a network is still said to have learned nothing."""
CONVERGED, NEARLY_CONVERGED = 0.05, 0.5
"""Largest residuals of FACT at which a layer is said to have converged, or to be close to convergence."""


def describe_layer(entry: Row) -> list[str]:
    """Return sentences about one row of a FeatureReport; quantities that were not measured are omitted.

    >>> describe_layer({"layer": "0", "effective_rank": 3.14, "agop_effective_rank": 2.0})
    ['The weights use about 3.1 directions (effective rank); the outputs are sensitive to about 2.0.']
    """
    return [words for words in (_alignment(entry), _convergence(entry), _ranks(entry), _features(entry)) if words]


def beyond_chance(entry: Row) -> float | None:
    """Return how far a layer's ``nfa_half_cos`` is from its value by chance, or None for a layer that does not count.

    Above chance it is the part of the way to 1, below chance the part of the way to 0 with a minus sign, and 0 within
    three standard deviations. A last layer does not count, because its AGOP is made of its own weights, nor does one
    whose value by chance is not known.

    >>> row = {"depth": 2, "nfa_half_cos": 0.8, "nfa_half_chance": 0.6, "nfa_half_chance_sd": 0.01}
    >>> round(beyond_chance(row), 6), round(beyond_chance({**row, "nfa_half_cos": 0.3}), 6)
    (0.5, -0.5)
    """
    value, chance, sd = (_value(entry, f"nfa_half_{name}") for name in ("cos", "chance", "chance_sd"))
    if _is_last(entry) or math.isnan(value) or math.isnan(chance):
        return None
    if abs(value - chance) < CERTAIN * sd:
        return 0.0
    return excess(value, chance) if value > chance else (value - chance) / chance


def describe_network(rows: Sequence[Row]) -> list[str]:
    """Return sentences about all rows of a FeatureReport.

    >>> row = {"layer": "a", "depth": 2, "nfa_half_cos": 0.7, "nfa_half_chance": 0.7, "nfa_half_chance_sd": 0.01}
    >>> describe_network([row])[0][:36]
    'The network has learned nothing yet,'
    """
    found = _learning(rows)
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
    crowded = [value for _, value in _measured(rows, "features_per_sample") if value >= 1]
    if crowded:
        found.append(
            f"{len(crowded)} of {len(linear)} layers have at least as many features as there are samples (up to "
            f"{max(crowded):.1f} per sample). With that many features a linear fit explains any target exactly, so "
            "target linearity and NC1 say little there: use more data."
        )
    return found


def _learning(rows: Sequence[Row]) -> list[str]:
    """Return the sentences on whether the weights are aligned with AGOP beyond chance."""
    judged = [(entry, value) for entry in rows if (value := beyond_chance(entry)) is not None]
    last = [str(entry["layer"]) for entry in rows if _is_last(entry) and not math.isnan(_value(entry, "nfa_half_cos"))]
    found = []
    if judged:
        above = sum(value >= PARTLY_ALIGNED for _, value in judged)
        below = sum(value <= -PARTLY_ALIGNED for _, value in judged)
        best, _ = max(judged, key=lambda pair: pair[1])
        example = f"layer {best['layer']}: {_beside_chance(best)}"
        if above + below <= FEW_LAYERS * len(judged):
            found.append(
                f"The network has learned nothing yet, as far as its weights show: in {above or 'none'} of the "
                f"{len(judged)} layers that count WᵀW agrees with AGOP^½ more than it does by chance (the most in "
                f"{example}). An untrained network looks like this, and so does one whose training hardly changed its "
                "features."
            )
        elif above:
            found.append(
                f"In {above} of the {len(judged)} layers that count, WᵀW agrees with AGOP^½ beyond chance: training "
                "has aligned the weights with the directions to which the outputs are sensitive (the most in "
                f"{example})."
            )
        if below > FEW_LAYERS * len(judged):
            least, _ = min(judged, key=lambda pair: pair[1])
            found.append(
                f"In {below} of the {len(judged)} layers that count, WᵀW agrees with AGOP^½ less than it does by "
                f"chance (the least in layer {least['layer']}: {_beside_chance(least)}): training has changed "
                "these layers, but their weights do not show to which directions the outputs are sensitive."
            )
    if last:
        which = f"The last layer ({last[0]}) does" if len(last) == 1 else f"{len(last)} last layers do"
        found.append(f"{which} not count: AGOP is there made of the layer's own weights, so that the two always agree.")
    return found


def _is_last(entry: Row) -> bool:
    return _value(entry, "depth") == 1


def _beside_chance(entry: Row) -> str:
    return f"cosine {_value(entry, 'nfa_half_cos'):.3f}, by chance {_value(entry, 'nfa_half_chance'):.3f}"


def _measured(rows: Sequence[Row], name: str) -> list[tuple[str, float]]:
    pairs = [(str(entry["layer"]), _value(entry, name)) for entry in rows]
    return [(layer, value) for layer, value in pairs if not math.isnan(value)]


def _value(entry: Row, name: str) -> float:
    return float(entry.get(name, math.nan))


def _alignment(entry: Row) -> str:
    half, best, power = (_value(entry, name) for name in ("nfa_half_cos", "nfa_best_cos", "best_power"))
    if math.isnan(half):
        return ""
    if _is_last(entry):
        return (
            "This is a last layer: its AGOP is made of its own weights, so that the agreement of WᵀW and AGOP^½ "
            f"(cosine {half:.3f}) does not show that anything was learned."
        )
    found, numbers = beyond_chance(entry), _beside_chance(entry)
    if found is None:
        return f"WᵀW and AGOP^½ have the cosine {half:.3f}; its value by chance is not known."
    if found >= ALIGNED:
        words = (
            f"WᵀW agrees with AGOP^½ far beyond chance ({numbers}): the weights are largest along the input directions "
            "to which the outputs are most sensitive."
        )
    elif found >= PARTLY_ALIGNED:
        words = f"WᵀW agrees with AGOP^½ somewhat more than by chance ({numbers})."
    elif found <= -PARTLY_ALIGNED:
        words = (
            f"WᵀW agrees with AGOP^½ less than by chance ({numbers}): training has changed the layer, but its weights "
            "do not show to which directions the outputs are sensitive."
        )
    else:
        words = f"WᵀW agrees with AGOP^½ as it does by chance ({numbers}): the layer shows no learned features."
    untrained = _value(entry, "nfa_half_untrained")
    if not math.isnan(untrained):
        words += f" With its initial weights the network has the cosine {untrained:.3f} here."
    if found >= PARTLY_ALIGNED and best - half > 0.02:
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
    crowded = _value(entry, "features_per_sample")
    if words and crowded >= 1:
        words += f"; with {crowded:.1f} features per sample any target is linear, so this says little"
    return f"{words}." if words else ""


def _relative(residual: float) -> str:
    return f"{residual:.0%} of its norm" if residual < 10 else f"{residual:,.0f} times its norm"


def _share(value: float) -> str:
    return "nothing" if value <= 0 else f"{value:.0%}"
