"""What a paper says: its numbers and claims, each with the tolerance within which we call it reproduced, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One number or statement of a paper, about one key of an experiment's numbers.

    Attributes
    ----------
    key : str
        Which of the experiment's numbers it speaks of.
    low, high : float
        The claim is *reproduced* when the mean over seeds lies in [low, high] (or the 95 % interval reaches into it).
    slack : float
        It is *close* up to this far outside.
    why : str
        Why this tolerance: the spread over seeds in the paper, another data set, another size.
    paper : float or None
        The value as printed, where there is one; NaN where the paper prints ``nan``.
    label : str
        What the number is, for a person.
    scales : tuple of str
        The scales at which the comparison means anything; at others it is shown but not judged.
    missing : str
        Why it cannot be run here; empty where it can.
    misprint : str
        What is wrong with the paper's formula, where it is; then `key` is judged with the corrected formula, and
        `printed_key` names the number which the formula as printed gives.
    """

    key: str
    low: float
    high: float
    slack: float
    why: str
    paper: float | None = None
    label: str = ""
    scales: tuple[str, ...] = ("small", "paper")
    missing: str = ""
    misprint: str = ""
    printed_key: str = ""

    def __post_init__(self) -> None:
        if not self.why and not self.missing:
            raise ValueError(f"the claim about {self.key!r} needs a reason for its tolerance: give why")
        if self.low > self.high or self.slack < 0:
            raise ValueError(f"the claim about {self.key!r} needs low ≤ high and slack ≥ 0")


def number(key: str, paper: float, tolerance: float, why: str, *, slack: float | None = None, **more: object) -> Claim:
    """A number of the paper: ours must lie within `tolerance` of it; by default *close* means within three times that.

    >>> number("rho", 0.93, 0.02, "one seed in the paper").high
    0.9500000000000001
    """
    bounds = (paper, paper) if math.isnan(paper) else (paper - tolerance, paper + tolerance)
    slack = 2 * tolerance if slack is None else slack
    return Claim(key, *bounds, slack, why, paper=paper, **more)  # type: ignore[arg-type]


def between(key: str, low: float, high: float, why: str, *, slack: float = 0.0, **more: object) -> Claim:
    """A statement of the paper or a law: the number lies in [low, high].

    >>> between("fact", 0.99, 1.0, "the theorem says equality").paper is None
    True
    """
    return Claim(key, low, high, slack, why, **more)  # type: ignore[arg-type]


def unavailable(key: str, missing: str, *, paper: float | None = None, label: str = "") -> Claim:
    """A number that cannot be had here, and why.

    >>> unavailable("celeba", "CelebA cannot be fetched").missing
    'CelebA cannot be fetched'
    """
    return Claim(key, 0.0, 0.0, 0.0, "", paper=paper, label=label, missing=missing)
