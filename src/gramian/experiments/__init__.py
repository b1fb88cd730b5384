"""The papers, run again: each figure and table is an experiment that can be run, judged and drawn.

An experiment is a function of a frozen spec and a seed; :func:`experiment` enters it in the registry. The engine keeps
a record of every (spec, seed) it has run, judges the numbers against the paper's, and draws the figures from records.

May import every room but ``cli``. ``registry`` and ``expected`` say what an experiment and a claim are, ``papers``
knows which package holds which paper, ``store`` keeps records, ``run`` makes them in worker processes, ``verdict``
judges, ``figures`` draws, ``page`` (with ``section``, ``html``, ``text``) shows it all. A package for each paper.

>>> from gramian.experiments import Result, number
>>> number("rho", 0.93, 0.02, "one seed in the paper").slack
0.04
>>> Result({"rho": 0.92}).numbers["rho"]
0.92
"""

from gramian.experiments.expected import Claim, between, number, unavailable
from gramian.experiments.registry import SCALES, Experiment, Result, experiment

__all__ = ["SCALES", "Claim", "Experiment", "Result", "between", "experiment", "number", "unavailable"]
