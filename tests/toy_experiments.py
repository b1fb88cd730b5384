"""Toy experiments for tests of the engine; importable by worker processes."""

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gramian.experiments import Experiment, Null, Result, between, number, unavailable
from gramian.experiments.registry import SCALES


@dataclass(frozen=True)
class Walk:
    """A random walk; every run appends a mark to a file in ``folder``."""

    steps: int
    folder: str = ""
    scale: float = 1.0
    how: str = ""
    sizes: tuple[int, ...] = (1, 2)


def walk(spec: Walk, seed: int) -> Result:
    if spec.folder:
        with (Path(spec.folder) / f"{spec.steps}-{seed}").open("a") as file:
            file.write("x")
    if spec.how == "wait":
        (Path(spec.folder) / "pid").write_text(str(os.getpid()))
    while spec.how == "wait" and (Path(spec.folder) / "wait").exists():
        time.sleep(0.05)
    if spec.how == "missing":
        raise FileNotFoundError("there is no mnist/train.gz in /home/somebody/data: set GRAMIAN_DATA")
    if spec.how == "raise":
        raise RuntimeError("no luck\ntoday")
    if spec.how == "die":
        os._exit(3)
    if spec.how == "wrong":
        return {"mean": 1.0}
    if spec.how == "text":
        return Result({"mean": "one"})
    path = np.random.default_rng(seed).normal(size=spec.steps).cumsum()
    numbers = {f"end{spec.steps}": path[-1]}
    if spec.steps == 5:
        numbers |= {"steps": 3, "lost": math.nan, "endless": -math.inf}
    return Result(numbers, {"path": path, "names": ["a", "inf"], "holes": [1, math.nan]})


def draw(records, figure):
    ax = figure.add_subplot()
    for record in records:
        ax.plot(record["arrays"]["path"], label=f"{record['spec']['steps']} steps, seed {record['seed']}")
    ax.set(xlabel="step", ylabel="place", title="Random walks")
    ax.legend(ncols=2)


FAR = Null(100.0, "a walk of another size")

CLAIMS = (
    between("end5", -20.0, 20.0, "far beyond three standard deviations", label="end of a short walk", null=FAR),
    number("steps", 3.4, 0.2, "made up", label="a number < 4", slack=0.5, null=FAR),
    number("steps", 30.0, 0.2, "made up", label="not this one", null=FAR),
    number("lost", math.nan, 0.0, "the paper prints nan", label="a lost training"),
    number(
        "steps",
        3.0,
        0.1,
        "exact",
        label="a misprint",
        misprint="The sign is wrong.",
        printed_key="endless",
        null=FAR,
        kind="proved identity",
    ),
    unavailable("moon", "the moon is too far", paper=1.62, label="gravity up there"),
    between("end9", 0.0, 1.0, "only large walks", scales=("paper",), null=FAR),
    between("never", 0.0, 1.0, "not measured", null=FAR),
)


SPECS = (Walk(5), Walk(9))
NOTES = Path(__file__).with_name("toy_notes.md")


def toy(id="x/walk", specs=SPECS, claims=CLAIMS, seeds=2, **more) -> Experiment:
    scales = specs if isinstance(specs, dict) else dict.fromkeys(SCALES, specs)
    options = {"title": "A walk, at <random>", "draw": draw, "notes": NOTES} | more
    return Experiment(
        id, id[0].upper(), run=walk, specs=scales, seeds=dict.fromkeys(SCALES, seeds), claims=claims, **options
    )
