"""Reproductions of the papers: each figure, table and theorem is an experiment with records, verdicts and a drawing.

An experiment is a function of a frozen spec and a seed; the decorator :func:`experiment` registers it. Its cells, one
per spec and seed, are run and stored by :mod:`gramian.records`; the numbers are compared with the paper's claims, and
figures are drawn from records alone.

May import every package except ``cli`` and ``demo``. ``registry`` defines experiments, ``claims`` the paper's numbers,
``papers`` maps letters to packages, ``cell`` and ``store`` connect experiments to the engine, ``verdict`` compares,
``figures`` draws, and ``page`` (with ``section``, ``html``, ``formatting``) writes the HTML page. Each paper has a
package; the notes of an experiment are in its folder ``notes``.

>>> from gramian.experiments import Null, Result, number
>>> number("rho", 0.93, 0.02, "one seed in the paper", null=Null(0.5, "an untrained network")).slack
0.04
>>> Result({"rho": 0.92}).numbers["rho"]
0.92
"""

from gramian.experiments.claims import (
    KINDS,
    NO_EFFECT,
    Claim,
    Null,
    at_least,
    at_most,
    between,
    negative,
    number,
    positive,
    unavailable,
)
from gramian.experiments.registry import SCALES, Experiment, Result, experiment

__all__ = [
    "KINDS",
    "NO_EFFECT",
    "SCALES",
    "Claim",
    "Experiment",
    "Null",
    "Result",
    "at_least",
    "at_most",
    "between",
    "experiment",
    "negative",
    "number",
    "positive",
    "unavailable",
]
