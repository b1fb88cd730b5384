"""Claims of a paper: its numbers and statements, each with a tolerance and the reason for that tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One number or statement of a paper, about one key of an experiment's numbers.

    Attributes
    ----------
    key : str
        Name of the number in the experiment's results.
    low, high : float
        The claim is *reproduced* when the mean over seeds lies in [low, high] (or the 95 % interval reaches into it).
    slack : float
        Outside the band the claim is still *close* up to this distance.
    why : str
        Reason for the tolerance: the spread over seeds in the paper, another data set, another size.
    paper : float or None
        The value as printed, where there is one; NaN where the paper prints ``nan``.
    label : str
        Description of the number, for tables and pages.
    scales : tuple of str
        Scales at which the comparison is meaningful; at others the number is shown without a verdict.
    missing : str
        Reason why the number cannot be computed here; empty where it can.
    misprint : str
        The error in the paper's formula, if there is one. Then `key` is the number by the corrected formula, which is
        judged, and `printed_key` the number by the formula as printed.
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
    """A number of the paper, reproduced within `tolerance`; by default *close* means within three times that.

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
    """A number of the paper that cannot be computed here, with the reason.

    >>> unavailable("celeba", "CelebA cannot be fetched").missing
    'CelebA cannot be fetched'
    """
    return Claim(key, 0.0, 0.0, 0.0, "", paper=paper, label=label, missing=missing)
