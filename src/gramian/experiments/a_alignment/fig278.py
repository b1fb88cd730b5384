"""Fig. 2, 7 and 8: uncentred and centred NFA along training, for three spectra of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from gramian.experiments.a_alignment.trajectories import (
    FAST,
    ISOTROPIC,
    SLOW,
    Curves,
    Training,
    at,
    both,
    draw_grid,
    spread,
    thin,
    train_all,
)
from gramian.experiments.expected import Claim, between
from gramian.experiments.registry import Result, experiment

EARLY = 10
"""Steps: 1 % of training, before the training loss has fallen by a tenth at any scale but the largest."""

_SEEN = "a curve read without its picture: the legend and the axes of the figure did not survive as text, so "
_PANELS = (
    (("uc1", "UC-NFA, layer 1"), ("c1", "C-NFA, layer 1"), ("train", "training loss")),
    (("uc2", "UC-NFA, layer 2"), ("c2", "C-NFA, layer 2"), ("test", "test loss")),
)


def _claims(second_row: bool) -> tuple[Claim, ...]:
    high = _SEEN + "'high' is taken as more than one half, far from the value at the start in layer 2"
    claims = [
        between("c1_early", 0.5, 1, high, slack=0.1, label="C-NFA of layer 1 at step 10, least over scales"),
        between("c2_early", 0.5, 1, high, slack=0.1, label="C-NFA of layer 2 at step 10, least over scales"),
        between("c1_low", 0.5, 1, high, slack=0.1, label="C-NFA of layer 1, least over scales and times"),
        between("c2_low", 0.5, 1, high, slack=0.1, label="C-NFA of layer 2, least over scales and times"),
    ]
    same = _SEEN + "'invariant to scale' is taken as a range of at most a tenth over a hundredfold change of scale"
    for layer in "12":
        claims += [
            between(
                f"c{layer}_early_range", 0, 0.1, same, slack=0.1,
                label=f"C-NFA of layer {layer} at step 10, range over scales",
            ),
            between(
                f"robust{layer}", 0, 1, "'C-NFA more robust to the scale than UC-NFA': a sign", slack=0.05,
                label=f"layer {layer}: range of UC-NFA minus range of C-NFA over scales, mean over time",
            ),
            between(
                f"uc{layer}_rise", 0.2, 1, _SEEN + "'high through training, small at the start' must be a visible rise",
                slack=0.1, label=f"UC-NFA of layer {layer} at the smallest scale, end minus start",
            ),
        ]  # fmt: skip
    claims.append(
        between(
            "test_gain", 0, 1, "'test loss improves for smaller initialisations': a sign", slack=0.02,
            label="test loss at the largest scale minus at the smallest, over the largest seen",
        )
    )  # fmt: skip
    sensitive = _SEEN + "'extremely sensitive' is taken as a range of more than 0.3"
    if second_row:
        claims.append(
            between("uc2_range", 0.3, 1, sensitive, label="final UC-NFA of layer 2, range over scales of layer 1")
        )
    claims += [
        between(
            "both_uc2_range", 0.3, 1, sensitive + "; here the scale of the second layer changes with the first's",
            label="final UC-NFA of layer 2, range over scales of both hidden layers",
        ),
        between(
            "both_uc2_rise", 0.2, 1, "as uc2_rise; here the scale of the second layer changes with the first's",
            slack=0.1, label="UC-NFA of layer 2 at the smallest scale of both layers, end minus start",
        ),
    ]  # fmt: skip
    return tuple(claims)


_NOTES = (
    "The caption of Fig. 2 says that only the first layer's scale changes, s = 1 elsewhere. Then the second layer "
    "hardly moves relative to its start, and its UC-NFA neither rises much nor depends on s₀ (about 0.2 for all). "
    "Where both hidden layers have the scale s₀ it ends near 0.96, 0.71 and 0.17 for s₀ = 0.01, 0.1 and 1: the "
    "sensitivity that the text describes. The loss has the factor ½, since the paper calls the slope of the loss the "
    "residual. On isotropic data s₀ ends at 0.1: from s₀ = 1 steps of 0.05 are unstable at first, with the ½ (C-NFA "
    "of layer 2 at step 10: 0.34 and 0.64 for two seeds) and more so without it; with steps of 0.01 it is 0.98 and "
    "0.93 at the same time. What layer 2 follows is tested in a/fig2-why. Set after first results: the scales s₀, the "
    "claims about both layers scaled in Fig. 7 and 8, and the slack of 0.1 for the rise there; all other bands are as "
    "first entered."
)


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """The panels of the paper, losses over their largest value; where it was run, UC-NFA with both layers scaled."""
    parts: dict[bool, list[Mapping[str, Any]]] = {False: [], True: []}
    for record in records:
        parts[record["spec"]["both_layers"]].append(record)
    panels = []
    for layer, row in enumerate(_PANELS, 1):
        scaled = [(parts[True], f"uc{layer}", f"UC-NFA, layer {layer}, $s_1 = s_0$")] if parts[True] else []
        panels.append([(parts[False], key, title) for key, title in row] + scaled)
    draw_grid(figure, panels, lambda key, v: v / v.max() if key in ("train", "test") else v)


def summary(found: Mapping[float, Curves], prefix: str = "") -> dict[str, float]:
    """The numbers that claims speak of."""
    first = next(iter(found.values()))
    times, end = first["t"], first["t"][-1]
    low, high = found[min(found)], found[max(found)]
    top = max(max(curves["test"]) for curves in found.values())
    numbers = {"test_gain": (high["test"][-1] - low["test"][-1]) / top}
    for layer in "12":
        uc, c = f"uc{layer}", f"c{layer}"
        early = [at(curves, c, EARLY) for curves in found.values()]
        gaps = [spread(found, uc, t) - spread(found, c, t) for t in times if t > 0]
        numbers |= {
            f"{uc}_start": first[uc][0],
            f"{uc}_rise": low[uc][-1] - low[uc][0],
            f"{uc}_range": spread(found, uc, end),
            f"{c}_early": min(early),
            f"{c}_early_range": max(early) - min(early),
            f"{c}_low": min(min(curves[c][1:]) for curves in found.values()),
            f"robust{layer}": sum(gaps) / len(gaps),
        }
        numbers |= {f"{uc}_end_{scale:g}": curves[uc][-1] for scale, curves in found.items()}
        numbers |= {f"{c}_end_{scale:g}": curves[c][-1] for scale, curves in found.items()}
    return {prefix + key: value for key, value in numbers.items()}


def run(spec: Training, seed: int) -> Result:
    """Train at every scale and summarise."""
    found = train_all(spec, seed)
    keys = ("uc1", "uc2") if spec.both_layers else ("uc1", "c1", "uc2", "c2", "train", "test")
    return Result(summary(found, "both_" if spec.both_layers else ""), {"curves": thin(_after_start(found), keys)})


def _after_start(found: Mapping[float, Curves]) -> dict[float, Curves]:
    """The curves with the C-NFA of the first measured step at the start too, where it is 0/0."""
    return {
        scale: curves | {key: [curves[key][1], *curves[key][1:]] for key in ("c1", "c2")}
        for scale, curves in found.items()
    }


_TOO_SHORT = (
    " The test loss of Fig. 8 after 800 steps is lower for the large scale, against the text, because training from "
    "the small one has not ended (training loss 0.15 against 0.07, seed 0); after 3,200 steps the order is the "
    "paper's (0.144 for s₀ = 0.01, 0.148 for s₀ = 1; after 6,400 steps 0.139 and 0.147; seed 1: 0.162 and 0.174)."
)


def _enter(id: str, title: str, spec: Training, notes: str = "") -> None:
    specs = (spec, both(spec))
    experiment(
        id,
        "A",
        title,
        specs={"smoke": [s.smoke() for s in specs], "small": [s.small() for s in specs], "paper": specs},
        seeds={"small": 2, "paper": 3},
        expected=_claims(second_row=id == "a/fig2"),
        draw=draw,
        notes=_NOTES + notes,
    )(run)


_enter("a/fig2", "Centred and uncentred NFA along training", ISOTROPIC)
_enter("a/fig7", "The same with a data spectrum 1/(1 + k)", SLOW)
_enter("a/fig8", "The same with a data spectrum 1/(1 + k²)", FAST, _TOO_SHORT)
