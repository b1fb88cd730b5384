"""Fig. 2, 7 and 8: uncentred and centred NFA during training, for three spectra of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from gramian.experiments.a_alignment.trajectories import (
    FAST,
    ISOTROPIC,
    SLOW,
    ChainTraining,
    Curves,
    at,
    both,
    draw_grid,
    spread,
    thin,
    train_all,
)
from gramian.experiments.claims import Claim, Null, at_least, positive
from gramian.experiments.registry import Result, experiment

EARLY = 10
"""Steps: 1 % of training. The training loss has not yet fallen by a tenth, except at the largest scale."""

_SEEN = "a curve described in the text only (we have no legend and axes of the figure): "
_PANELS = (
    (("uc1", "UC-NFA, layer 1"), ("c1", "C-NFA, layer 1"), ("train", "training loss")),
    (("uc2", "UC-NFA, layer 2"), ("c2", "C-NFA, layer 2"), ("test", "test loss")),
)


def _claims(second_row: bool) -> tuple[Claim, ...]:
    high = _SEEN + "'high' is read as higher than the UC-NFA of the random initial weights"
    claims = []
    for layer in "12":
        claims += [
            positive(
                f"c{layer}_early_high", high,
                label=f"C-NFA of layer {layer} at step 10, minimum over scales, minus initial UC-NFA",
            ),
            positive(
                f"c{layer}_low_high", high,
                label=f"C-NFA of layer {layer}, minimum over scales and times, minus initial UC-NFA",
            ),
            positive(
                f"robust{layer}", "'more robust to the initialization scale than the UC-NFA': a sign",
                label=f"layer {layer}: range of UC-NFA minus range of C-NFA over scales, mean over time",
            ),
            at_least(
                f"uc{layer}_rise", 0.2,
                _SEEN + "'high through training, while being small at initialization' means a visible rise",
                slack=0.1, label=f"UC-NFA of layer {layer} at the smallest scale, end minus start",
                null=Null(0.0, "no training"),
            ),
        ]  # fmt: skip
    sensitive = _SEEN + "'extremely sensitive' is read as a range of more than 0.3"
    none = Null(0.0, "no dependence on the scale")
    if second_row:
        claims.append(
            at_least(
                "uc2_range", 0.3, sensitive, null=none, label="final UC-NFA of layer 2, range over scales of layer 1"
            )
        )
    else:
        claims.append(
            positive(
                "test_gain_learned",
                "'the test loss improves for smaller initializations' (Fig. 7 and 8): a sign, beyond untrained "
                "networks, whose outputs are larger at larger scales",
                label="test loss at the largest scale minus that at the smallest, relative to the largest test loss, "
                "end minus start",
            )
        )
    changed = "the second layer has the scale of the first; the caption fixes it at 1"
    claims += [
        at_least(
            "both_uc2_range", 0.3, sensitive, null=none, setting=changed, printed_key="uc2_range",
            kind="statement" if second_row else "side condition",
            label="final UC-NFA of layer 2, range over scales of both hidden layers",
        ),
        at_least(
            "both_uc2_rise", 0.2, "as for uc2_rise", null=Null(0.0, "no training"), setting=changed,
            printed_key="uc2_rise", slack=0.1,
            label="UC-NFA of layer 2 at the smallest scale of both layers, end minus start",
        ),
    ]  # fmt: skip
    return tuple(claims)


def derive(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the C-NFA minus the UC-NFA of the random start, and the gain of the test loss beyond the start."""
    found = {
        f"c{layer}_{when}_high": record["numbers"][f"c{layer}_{when}"] - record["numbers"][f"uc{layer}_start"]
        for record in records
        if not record["spec"]["both_layers"]
        for layer in "12"
        for when in ("early", "low")
    }
    for record in records:
        if not record["spec"]["both_layers"]:
            losses = {float(scale): curves["test"] for scale, curves in record["arrays"]["curves"].items()}
            start = losses[max(losses)][0] - losses[min(losses)][0]
            top = max(max(curve) for curve in losses.values())
            found["test_gain_learned"] = record["numbers"]["test_gain"] - start / top
    return found


def draw(records: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw the panels of the paper, losses divided by their maximum, and UC-NFA with both layers scaled if recorded."""
    parts: dict[bool, list[Mapping[str, Any]]] = {False: [], True: []}
    for record in records:
        parts[record["spec"]["both_layers"]].append(record)
    panels = []
    for layer, row in enumerate(_PANELS, 1):
        scaled = [(parts[True], f"uc{layer}", f"UC-NFA, layer {layer}, $s_1 = s_0$")] if parts[True] else []
        panels.append([(parts[False], key, title) for key, title in row] + scaled)
    draw_grid(figure, panels, lambda key, v: v / v.max() if key in ("train", "test") else v)


def summary(found: Mapping[float, Curves], prefix: str = "") -> dict[str, float]:
    """Return the numbers that claims refer to."""
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


def run(spec: ChainTraining, seed: int) -> Result:
    """Train at every scale and summarise the curves."""
    found = train_all(spec, seed)
    keys = ("uc1", "uc2") if spec.both_layers else ("uc1", "c1", "uc2", "c2", "train", "test")
    return Result(summary(found, "both_" if spec.both_layers else ""), {"curves": thin(_after_start(found), keys)})


def _after_start(found: Mapping[float, Curves]) -> dict[float, Curves]:
    """Replace the C-NFA of the start, which is 0/0, by that of the first measured step."""
    return {
        scale: curves | {key: [curves[key][1], *curves[key][1:]] for key in ("c1", "c2")}
        for scale, curves in found.items()
    }


def _register(id: str, title: str, spec: ChainTraining) -> None:
    specs = (spec, both(spec))
    experiment(
        id,
        "A",
        title,
        specs={"smoke": [s.smoke() for s in specs], "small": [s.small() for s in specs], "paper": specs},
        seeds={"small": 2, "paper": 5},
        claims=_claims(second_row=id == "a/fig2"),
        draw=draw,
        derive=derive,
    )(run)


_register("a/fig2", "Centred and uncentred NFA during training", ISOTROPIC)
_register("a/fig7", "Centred and uncentred NFA during training, data spectrum 1/(1 + k)", SLOW)
_register("a/fig8", "Centred and uncentred NFA during training, data spectrum 1/(1 + k²)", FAST)
