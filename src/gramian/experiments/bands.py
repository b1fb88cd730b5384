"""The history of the claims' bands: every band with the time and the reason of its entry, in ``bands.csv``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from gramian.core.atomic import append_bytes
from gramian.experiments.claims import Claim
from gramian.experiments.registry import Experiment

_TWELVE_DIGITS = "2026-11-18T05:00"
"""Entries have twelve significant digits since this time, and six before."""
FIELDS = ("experiment", "key", "scales", "low", "high", "slack", "since", "reason")


@dataclass(frozen=True)
class Band:
    """A band as it was entered at one time; `since` is an ISO time, and a dropped claim has NaN bounds.

    Attributes
    ----------
    experiment, key, scales : str
        Identity of the claim; the scales are joined by spaces.
    low, high, slack : float
    since, reason : str
    """

    experiment: str
    key: str
    scales: str
    low: float
    high: float
    slack: float
    since: str
    reason: str

    @property
    def claim(self) -> tuple[str, str]:
        """The claim's experiment and key."""
        return self.experiment, self.key


def values_of(claim: Claim) -> tuple[str, float, float, float]:
    """Return scales and band of a claim as the history writes them: twelve significant digits.

    >>> from gramian.experiments import positive
    >>> values_of(positive("gain", "a sign"))
    ('small paper', 0.0, inf, 0.0)
    """
    low, high, slack = (_rounded(value, 12) for value in (claim.low, claim.high, claim.slack))
    return " ".join(claim.scales), low, high, slack


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


@cache
def history() -> tuple[Band, ...]:
    """Return all entries, oldest first."""
    text = files("gramian.experiments").joinpath("bands.csv").read_text(encoding="utf-8")
    return tuple(_read(text.splitlines()))


def _read(lines: Sequence[str]) -> Iterator[Band]:
    for row in csv.DictReader(lines):
        low, high, slack = (float(row[name]) for name in ("low", "high", "slack"))
        yield Band(row["experiment"], row["key"], row["scales"], low, high, slack, row["since"], row["reason"])


def entries_of(experiment: str, claim: Claim) -> list[Band]:
    """Return the entries about a claim, oldest first."""
    return [band for band in _by_claim().get((experiment, claim.key), []) if _same_group(band, claim)]


def _same_group(band: Band, claim: Claim) -> bool:
    # Two claims about one key differ in their scales and share none.
    return bool(set(band.scales.split()) & set(claim.scales)) or not claim.scales


@cache
def _by_claim() -> dict[tuple[str, str], list[Band]]:
    found: dict[tuple[str, str], list[Band]] = {}
    for band in history():
        found.setdefault(band.claim, []).append(band)
    return found


def unrecorded(experiments: Iterable[Experiment]) -> list[tuple[Experiment, Claim]]:
    """Return the claims whose band is not the newest one in the history."""
    wanting = []
    for experiment in experiments:
        for claim in experiment.claims:
            if claim.missing:
                continue
            found = entries_of(experiment.id, claim)
            if not found or not _is_current(found[-1], claim):
                wanting.append((experiment, claim))
    return wanting


def _is_current(band: Band, claim: Claim) -> bool:
    digits = 6 if band.since < _TWELVE_DIGITS else 12
    values = (_rounded(value, digits) for value in (claim.low, claim.high, claim.slack))
    pairs = zip((band.low, band.high, band.slack), values, strict=True)
    return band.scales == " ".join(claim.scales) and all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in pairs)


def append(path: Path, experiments: Iterable[Experiment], since: str, reason: str) -> int:
    """Append the bands that the history lacks to the file, and return their number.

    Parameters
    ----------
    path : path
        The file ``bands.csv`` of the source.
    experiments : iterable of Experiment
    since : str
        ISO time.
    reason : str
        Reason for the new bands; say so if results were known.
    """
    rows = [
        (experiment.id, claim.key, *values_of(claim), since, reason) for experiment, claim in unrecorded(experiments)
    ]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    append_bytes(path, buffer.getvalue().encode())
    return len(rows)
