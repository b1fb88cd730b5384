"""The papers, run again: each figure and table is an experiment that can be run, judged and drawn.

An experiment is a function of a frozen spec and a seed; :func:`experiment` enters it in the registry. The engine keeps
a record of every (spec, seed) it has run, judges the numbers against the paper's, and draws the figures from records.
"""

from gramian.experiments.expected import Claim, between, number, unavailable
from gramian.experiments.registry import SCALES, Experiment, Result, experiment

__all__ = ["SCALES", "Claim", "Experiment", "Result", "between", "experiment", "number", "unavailable"]
