"""Curves of Fig. 13 and 14 between memorisation and grokking, and what is compared between weight decays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

MEMORISED, GENERALISED = 0.99, 0.9
"""Training accuracy at which the table counts as memorised, and test accuracy at which it counts as grokked."""
_ONSET = 0.1
"""Test accuracy at which grokking begins; chance is 1/61."""
_FEWEST = 6
"""Measurements between memorisation and grokking that a correlation over epochs needs."""


def smooth(values: Float[np.ndarray, " t"], reach: int = 1) -> Float[np.ndarray, " t"]:
    """Return means over neighbours up to ``reach`` away, fewer at the ends: 20 epochs, as in the authors' plots.

    >>> smooth(np.array([0.0, 3.0, 0.0, 3.0]), reach=1).tolist()
    [1.5, 1.0, 2.0, 1.5]
    """
    return np.array([values[max(0, t - reach) : t + reach + 1].mean() for t in range(len(values))])


def first(values: Float[np.ndarray, " t"], least: float) -> int:
    """Return the first index at which a curve reaches a value, or the last index if it never does.

    >>> first(np.array([0.1, 0.95, 0.4]), 0.9), first(np.zeros(4), 0.9)
    (1, 3)
    """
    reached = np.flatnonzero(values >= least)
    return int(reached[0]) if len(reached) else len(values) - 1


@dataclass(frozen=True)
class GrokkingCurves:
    """Smoothed curves: TL of layer 2 and of the last one, their gap, and the generalisation error.

    ``start``, ``onset`` and ``end`` are the places of the first measurements after memorisation and at both ends of
    grokking.
    """

    second: Float[np.ndarray, " t"]
    last: Float[np.ndarray, " t"]
    gap: Float[np.ndarray, " t"]
    error: Float[np.ndarray, " t"]
    epochs: Sequence[int]
    start: int
    onset: int
    end: int
    generalised: bool


def curves_of(course: Mapping[str, Any]) -> GrokkingCurves:
    """Return the smoothed curves of a course: epochs, accuracies of training and test rows, and TL by layer."""
    train, test, linearity = (np.asarray(course[key]) for key in ("train", "test", "linearity"))
    second, last = (smooth(linearity[:, layer]) for layer in (-2, -1))
    return GrokkingCurves(
        second,
        last,
        last - second,
        smooth(train - test),
        course["epochs"],
        first(train, MEMORISED),
        first(test, _ONSET),
        first(test, GENERALISED),
        bool(test.max() >= GENERALISED),
    )


def sharpness(curves: GrokkingCurves) -> float | None:
    """Return the rise of layer 2's TL per 100 epochs while a network groks, minus that from memorisation until then.

    It groks from a test accuracy of 10 % to one of 90 %; None if it does not reach that, or if one of the two stages
    has less than two steps between measurements.
    """
    epochs = curves.epochs
    if not curves.generalised or min(curves.onset - curves.start, curves.end - curves.onset) < 2:
        return None
    before, while_ = epochs[curves.onset] - epochs[curves.start], epochs[curves.end] - epochs[curves.onset]
    start, onset, end = (curves.second[at] for at in (curves.start, curves.onset, curves.end))
    return float(100 * ((end - onset) / while_ - (onset - start) / before))


def following(curves: GrokkingCurves) -> float | None:
    """Return the correlation of TL₃ − TL₂ with the generalisation error from memorisation to grokking, or to the end.

    None for fewer than six points.
    """
    between = slice(curves.start, curves.end + 1)
    gap, error = curves.gap[between], curves.error[between]
    if len(gap) < _FEWEST or gap.std() == 0 or error.std() == 0:
        return None
    return float(np.corrcoef(gap, error)[0, 1])


def compare_decays(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return differences between weight decays, from the records of one seed.

    ``widens`` is the gap TL₃ − TL₂ in the last fifth of training minus that at grokking. It is no claim: the λ for
    which the text says that the gap widens again is lost. For ``sharp`` see :func:`sharpness`, for ``following``
    :func:`following`.
    """
    numbers = {key: value for record in records for key, value in record["numbers"].items()}
    by_decay = {record["spec"]["decay"]: curves_of(record["arrays"]) for record in records}
    found = {}
    for decay, curves in by_decay.items():
        gap = curves.gap
        found[f"widens/{decay:g}"] = float(gap[-(len(gap) // 5) :].mean() - gap[curves.end])
        correlation = following(curves)
        if correlation is not None:
            found[f"following/{decay:g}"] = correlation
        sharp = sharpness(curves)
        if decay and sharp is not None:
            found[f"sharp/{decay:g}"] = sharp
        if decay and {f"late/{decay:g}", "late/0"} <= set(numbers):
            found[f"late/{decay:g} - late/0"] = numbers[f"late/{decay:g}"] - numbers["late/0"]
    if {"test/0.5", "test/0"} <= set(numbers):
        found["test/0.5 - test/0"] = numbers["test/0.5"] - numbers["test/0"]
    if {"grokked/0.25", "grokked/0.75"} <= set(numbers):
        found["earlier"] = numbers["grokked/0.25"] - numbers["grokked/0.75"]
    return found
