"""What "auto" stands for: how many kinds of machines are tried, for how many rounds, and how many of them are kept."""

from __future__ import annotations

from dataclasses import dataclass

from gramian.features import Agop, Update
from gramian.kernels import Exponential, Gaussian, Kernel, Laplace, Lp


@dataclass(frozen=True)
class Preset:
    """Kernels, updates and rounds that compete where the user leaves the choice; and how many machines may win."""

    kernels: tuple[Kernel, ...]
    updates: tuple[Update, ...]
    n_rounds: int
    max_machines: int
    bagging: bool = False


BY_NAME: dict[str, Preset] = {
    "fast": Preset((Laplace(),), (Agop(), Agop(diagonal=True)), n_rounds=2, max_machines=1),
    "default": Preset((Laplace(), Lp(), Gaussian()), (Agop(), Agop(diagonal=True)), n_rounds=3, max_machines=5),
    "best": Preset(
        (Laplace(), Lp(), Gaussian(), Exponential(exponent=0.7), Lp(exponent=0.7)),
        (Agop(), Agop(diagonal=True), Agop(power=0.5), Agop(diagonal=True, shrink=0.3)),
        n_rounds=5,
        max_machines=8,
        bagging=True,
    ),
}
"""Presets by name."""


def preset(name: object) -> Preset:
    """The preset of a name; an error that lists the names otherwise.

    >>> preset("fast").n_rounds
    2
    """
    if isinstance(name, str) and name in BY_NAME:
        return BY_NAME[name]
    raise ValueError(f"preset must be one of {', '.join(map(repr, BY_NAME))}, got {name!r}")
