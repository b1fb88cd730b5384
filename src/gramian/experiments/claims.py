"""Claims of a paper: its numbers and statements, each with the region that counts as reproduced and with a null."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["printed number", "statement", "proved identity", "side condition"]
"""Kind of a claim; the kinds are counted apart.

A *printed number* is a number of the paper, a *statement* a sentence of its text (or our reading of a curve), a *proved
identity* a theorem or a closed form checked in numbers, and a *side condition* a check of ours that no paper states, or
arithmetic on the paper's own tables.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Null:
    """The value that a result without the paper's effect would have.

    Attributes
    ----------
    value : float
    what : str
        Description of that result: an untrained network, a constant, a random matrix.
    """

    value: float
    what: str


@dataclass(frozen=True)
class Claim:
    """One number or statement of a paper, about one key of an experiment's numbers.

    Attributes
    ----------
    key : str
        Name of the number in the experiment's results.
    low, high : float
        The mean over seeds must lie in [low, high]. If one of them is infinite the other is a threshold, and the whole
        95 % interval over seeds must lie beyond it.
    slack : float
        Outside the band the claim is still *close* up to this distance.
    why : str
        Reason for the band: the spread over seeds in the paper, another data set, another size.
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
    printed_key : str
    kind : str
        One of :data:`KINDS`.
    null : Null or None
        Must lie outside the band and its slack. A claim about a sign has the null as its threshold.
    setting : str
        The printed setting that was changed to obtain the number, or the data that replace the paper's; such a claim is
        at best *another setting*, and `printed_key` is the number in the printed setting.
    small_setting : str
        The same for a setting that is the paper's at the scale paper only. Sizes (rows, width, pixels, steps) are
        smaller at the other scales by definition and are not named here.
    column : str
        Key of the claim that judges this number together with others, since a null would pass it alone.
    deterministic : bool
        True if the number does not depend on the seed, so that one seed is enough.
    pooled : bool
        True if the number means the same at all `scales`, so that the seeds of all of them are used.
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
    kind: Kind = "statement"
    null: Null | None = None
    setting: str = ""
    small_setting: str = ""
    column: str = ""
    deterministic: bool = False
    pooled: bool = False

    def __post_init__(self) -> None:
        if not self.why and not self.missing:
            raise ValueError(f"the claim about {self.key!r} needs a reason for its band: give why")
        if self.low > self.high or self.slack < 0:
            raise ValueError(f"the claim about {self.key!r} needs low ≤ high and slack ≥ 0")
        if self.kind not in KINDS:
            raise ValueError(f"the kind of the claim about {self.key!r} must be one of {', '.join(KINDS)}")
        if not self.judged_alone:
            return
        if self.null is None:
            raise ValueError(f"the claim about {self.key!r} needs a null: the value of a result without the effect")
        if not self.is_sign and self.admits(self.null.value):
            raise ValueError(
                f"the null of the claim about {self.key!r} ({self.null.what}: {self.null.value:g}) would pass: narrow "
                "the band or the slack, drop the claim, or judge it in a column"
            )

    @property
    def judged_alone(self) -> bool:
        """True if a band decides about this claim: not for ``nan``, missing data and members of a column."""
        return not (self.missing or self.column or math.isnan(self.low))

    def changed_at(self, scale: str) -> str:
        """Return the settings that are not the paper's at a scale, empty if there are none.

        >>> claim = positive("gain", "a sign", setting="digits in place of faces", small_setting="rate 1, not 0.1")
        >>> claim.changed_at("paper"), claim.changed_at("small")
        ('digits in place of faces', 'digits in place of faces; rate 1, not 0.1')
        """
        parts = (self.setting, "" if scale == "paper" else self.small_setting)
        return "; ".join(part for part in parts if part)

    @property
    def threshold(self) -> float | None:
        """The finite end of a band that has only one, otherwise None."""
        if math.isinf(self.low) == math.isinf(self.high):
            return None
        return self.low if math.isinf(self.high) else self.high

    def admits(self, value: float) -> bool:
        """Return True if a value lies in the band or its slack; NaN does not."""
        return self.low - self.slack <= value <= self.high + self.slack

    @property
    def is_sign(self) -> bool:
        """True for a claim about a sign: its threshold is the null itself, without slack."""
        return self.threshold is not None and self.null is not None and self.threshold == self.null.value


def number(
    key: str, paper: float, tolerance: float, why: str, *, null: Null | None = None, slack: float | None = None,
    **more: object,
) -> Claim:  # fmt: skip
    """A number of the paper, reproduced within `tolerance`.

    By default *close* means within three times the tolerance, but at most half the way from the band to the null.

    >>> claim = number("rho", 0.93, 0.02, "one seed in the paper", null=Null(0.5, "an untrained network"))
    >>> round(claim.high, 2), claim.slack, claim.kind
    (0.95, 0.04, 'printed number')
    """
    bounds = (paper, paper) if math.isnan(paper) else (paper - tolerance, paper + tolerance)
    if slack is None:
        slack = 2 * tolerance
        if null is not None:
            slack = max(0.0, min(slack, (abs(null.value - paper) - tolerance) / 2))
    options = {"kind": "printed number", "null": null} | more
    return Claim(key, *bounds, slack, why, paper=paper, **options)  # type: ignore[arg-type]


def between(
    key: str, low: float, high: float, why: str, *, null: Null | None = None, slack: float = 0.0, **more: object
) -> Claim:
    """A statement of the paper or a law: the number lies in [low, high].

    >>> between("fact", 0.99, 1.0, "the theorem says equality", null=Null(0.0, "unrelated matrices")).paper is None
    True
    """
    return Claim(key, low, high, slack, why, null=null, **more)  # type: ignore[arg-type]


def at_least(key: str, low: float, why: str, *, null: Null, slack: float = 0.0, **more: object) -> Claim:
    """A statement of the paper: the number is at least `low`, with the whole interval over seeds.

    >>> at_least("rise", 0.2, "a visible rise", null=Null(0.0, "no training")).threshold
    0.2
    """
    return Claim(key, low, math.inf, slack, why, null=null, **more)  # type: ignore[arg-type]


def at_most(key: str, high: float, why: str, *, null: Null, slack: float = 0.0, **more: object) -> Claim:
    """A statement of the paper: the number is at most `high`, with the whole interval over seeds.

    >>> at_most("gap", 0.1, "nearly equal", null=Null(1.0, "unrelated matrices")).high
    0.1
    """
    return Claim(key, -math.inf, high, slack, why, null=null, **more)  # type: ignore[arg-type]


NO_EFFECT = Null(0.0, "no effect")
"""The null of most signs."""


def positive(key: str, why: str, *, null: Null = NO_EFFECT, **more: object) -> Claim:
    """A statement about a sign: the number is larger than its null.

    >>> positive("gain", "momentum helps").is_sign
    True
    """
    return Claim(key, null.value, math.inf, 0.0, why, null=null, **more)  # type: ignore[arg-type]


def negative(key: str, why: str, *, null: Null = NO_EFFECT, **more: object) -> Claim:
    """A statement about a sign: the number is smaller than its null.

    >>> negative("loss", "deeper networks align later").high
    0.0
    """
    return Claim(key, -math.inf, null.value, 0.0, why, null=null, **more)  # type: ignore[arg-type]


def unavailable(key: str, missing: str, *, paper: float | None = None, label: str = "") -> Claim:
    """A number of the paper that cannot be computed here, with the reason; a statement if no number is printed.

    >>> unavailable("celeba", "CelebA cannot be fetched").missing
    'CelebA cannot be fetched'
    """
    kind: Kind = "statement" if paper is None else "printed number"
    return Claim(key, 0.0, 0.0, 0.0, "", paper=paper, label=label, missing=missing, kind=kind)
