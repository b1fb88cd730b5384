"""What the numbers of a layer say, in sentences: each is one column of the report put into words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Row = Mapping[str, float | int | str]
ALIGNED, PARTLY = 0.9, 0.5
"""Cosines from which two matrices are said to agree closely, or in part."""
AT_REST, NEAR_REST = 0.05, 0.5
"""Residuals of FACT up to which a layer is said to be at rest, or near it."""


def layer_words(entry: Row) -> list[str]:
    """Sentences about one row of a FeatureReport; what was not measured is not spoken of.

    >>> layer_words({"layer": "0", "nfa_half_cos": 0.95, "nfa_best_cos": 0.95, "best_power": 0.5})[0]
    'WᵀW agrees closely with AGOP^½ (cosine 0.950): the layer reads the directions the outputs answer to.'
    """
    return [words for words in (_alignment(entry), _rest(entry), _ranks(entry), _features(entry)) if words]


def report_words(rows: Sequence[Row]) -> list[str]:
    """Sentences about all layers together.

    >>> report_words([{"layer": "a", "nfa_half_cos": 0.95}, {"layer": "b", "nfa_half_cos": 0.2}])
    ['In 1 of 2 layers WᵀW agrees closely with AGOP^½ (cosine at least 0.9); least in layer b (0.200).']
    """
    found = []
    nfa = _measured(rows, "nfa_half_cos")
    if nfa:
        close = sum(value >= ALIGNED for _, value in nfa)
        least, value = min(nfa, key=lambda pair: pair[1])
        where = "" if close == len(nfa) else f"; least in layer {least} ({value:.3f})"
        found.append(
            f"In {close} of {len(nfa)} layers WᵀW agrees closely with AGOP^½ (cosine at least {ALIGNED}){where}."
        )
    residuals = _measured(rows, "fact_residual")
    if residuals:
        rest = sum(value <= AT_REST for _, value in residuals)
        most, value = max(residuals, key=lambda pair: pair[1])
        far = f"; farthest is layer {most}, by {_apart(value)}" if rest < len(residuals) else ""
        found.append(
            f"In {rest} of {len(residuals)} layers FACT gives WᵀW back to within {AT_REST:.0%}{far}. "
            "Where training has converged the two are equal; before that they need not be."
        )
    linear = _measured(rows, "target_linearity")
    if len(linear) > 1:
        (first, start), (last, end) = linear[0], linear[-1]
        found.append(
            f"A linear fit to a layer's input explains {_share(start)} of the target before layer {first} and "
            f"{_share(end)} before layer {last}."
        )
    return found


def _measured(rows: Sequence[Row], name: str) -> list[tuple[str, float]]:
    pairs = [(str(entry["layer"]), float(entry.get(name, math.nan))) for entry in rows]
    return [(layer, value) for layer, value in pairs if not math.isnan(value)]


def _of(entry: Row, name: str) -> float:
    return float(entry.get(name, math.nan))


def _alignment(entry: Row) -> str:
    half, best, power = _of(entry, "nfa_half_cos"), _of(entry, "nfa_best_cos"), _of(entry, "best_power")
    if math.isnan(half):
        return ""
    if half >= ALIGNED:
        words = (
            f"WᵀW agrees closely with AGOP^½ (cosine {half:.3f}): the layer reads the directions the outputs answer to."
        )
    elif half >= PARTLY:
        words = f"WᵀW agrees in part with AGOP^½ (cosine {half:.3f})."
    else:
        words = f"WᵀW and AGOP^½ hardly agree (cosine {half:.3f}): the weights do not show what the outputs answer to."
    if best - half > 0.02:
        words += f" The power s = {power:.2f} fits best, with {best:.3f}."
    return words


def _rest(entry: Row) -> str:
    residual, cos = _of(entry, "fact_residual"), _of(entry, "fact_cos")
    if math.isnan(residual):
        return ""
    if residual <= AT_REST:
        return f"FACT gives WᵀW back to within {residual:.1%}: the layer is at rest."
    apart = f"FACT differs from WᵀW by {_apart(residual)} (cosine {cos:.3f})"
    if residual <= NEAR_REST:
        return f"{apart}: the layer is near rest."
    return f"{apart}: the layer is not at rest, training goes on."


def _ranks(entry: Row) -> str:
    own, agop = _of(entry, "effective_rank"), _of(entry, "agop_effective_rank")
    if math.isnan(own) or math.isnan(agop):
        return ""
    words = (
        f"The weights spread over about {own:.1f} directions (effective rank), the outputs answer to about {agop:.1f}."
    )
    share = _of(entry, "top_share")
    return words if math.isnan(share) else f"{words[:-1]}; the strongest holds {share:.0%} of the weights."


def _features(entry: Row) -> str:
    linear, nc4 = _of(entry, "target_linearity"), _of(entry, "nc4")
    words = "" if math.isnan(linear) else f"A linear fit to its input explains {_share(linear)} of the target"
    if not math.isnan(nc4):
        mean = f"the nearest class mean of its input agrees with the network in {nc4:.0%} of samples"
        words = f"{words}, and {mean}" if words else mean[0].upper() + mean[1:]
    return f"{words}." if words else ""


def _apart(residual: float) -> str:
    return f"{residual:.0%} of its norm" if residual < 10 else f"{residual:,.0f} times its norm"


def _share(value: float) -> str:
    return "nothing" if value <= 0 else f"{value:.0%}"
