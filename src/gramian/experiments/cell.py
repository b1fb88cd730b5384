"""The cells of an experiment: one for each of its specs and seeds."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gramian.core.clock import Clock
from gramian.core.error_text import without_folders
from gramian.experiments import papers
from gramian.experiments.registry import Experiment, Result
from gramian.records import Record, WorkCell, from_json, hash_key, provenance, to_json

_DIGITS = 6
"""Significant digits of arrays: more than a figure shows."""
_KEY_DIGITS = 24


@dataclass(frozen=True)
class ExperimentCell(WorkCell):
    """One spec and one seed of an experiment.

    The record has ``key``, ``experiment``, ``version``, ``class`` and ``spec`` (the fields of the spec), ``seed``,
    ``numbers``, ``arrays``, ``error``, ``missing`` (True where data is not available), ``seconds``, ``finished`` (the
    time), ``versions`` and ``machine``.
    """

    experiment: Experiment
    spec: Any
    seed: int

    @property
    def key(self) -> str:
        """Hash of the experiment's id and version, the spec's class and fields, and the seed."""
        identity = {
            "experiment": self.experiment.id,
            "version": self.experiment.version,
            "spec": to_json(self.spec),
            "seed": self.seed,
        }
        return hash_key(identity, _KEY_DIGITS)

    def head(self) -> Record:
        """Return the part of the record that is known before the run."""
        spec = to_json(self.spec)
        return {
            "key": self.key,
            "experiment": self.experiment.id,
            "version": self.experiment.version,
            "class": spec.pop("class"),
            "spec": from_json(spec),
            "seed": self.seed,
        }

    def task(self) -> Callable[[], Record]:
        """Return the run as a picklable function."""
        return _Run(self.experiment.id, _picklable(self.experiment.run), self.spec, self.seed)

    def failure(self, error: str, seconds: float) -> Record:
        """Return the rest of the record of a run that raised, crashed or exceeded the time limit."""
        return _without_result(error, seconds)

    def levels(self) -> tuple[str, ...]:
        """Return the groups of similar cells: the experiment, then the spec."""
        head = self.head()
        return self.experiment.id, f"{head['class']} {head['spec']}"

    def seconds(self, record: Record) -> float:
        """Return the duration of the run."""
        seconds: float = record["seconds"]
        return seconds

    def summary(self, record: Record) -> str:
        """Describe the result in one line, for the log."""
        outcome = f"failed: {record['error']}" if record["error"] else f"{len(record['numbers'])} numbers"
        return f"{self.experiment.id} seed {self.seed}: {outcome}, {record['seconds']:.1f} s"


def cells(experiment: Experiment, scale: str, seeds: int | None = None) -> list[ExperimentCell]:
    """Return the cells of a scale, all specs of one seed before the next seed.

    Parameters
    ----------
    experiment : Experiment
    scale : str
    seeds : int, optional
        Number of seeds, 0, 1, …; the experiment's own seeds by default.
    """
    specs = experiment.specs[scale]
    wanted = [experiment.declared_seeds(spec, scale) if seeds is None else range(seeds) for spec in specs]
    return [
        ExperimentCell(experiment, spec, seed)
        for seed in sorted(set().union(*wanted))
        for spec, chosen in zip(specs, wanted, strict=True)
        if seed in chosen
    ]


def measured(numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> Record:
    """Convert numbers and arrays to their form in a record: floats, and arrays with six digits.

    >>> measured({"rho": 1}, {"curve": [0.123456789, 2]})
    {'numbers': {'rho': 1.0}, 'arrays': {'curve': [0.123457, 2]}}
    """
    return {
        "numbers": to_json({name: float(value) for name, value in numbers.items()}),
        "arrays": to_json(arrays, _DIGITS),
    }


@dataclass(frozen=True)
class _Run:
    """The work of a cell; ``function`` is None where it cannot be pickled, and is then found by the id."""

    id: str
    function: Callable[[Any, int], Result] | None
    spec: Any
    seed: int

    def __call__(self) -> Record:
        function = papers.find(self.id).run if self.function is None else self.function
        clock = Clock()
        try:
            result = function(self.spec, self.seed)
        except FileNotFoundError as error:  # data that is not available on this computer
            return _without_result(without_folders(str(error)), clock.seconds, missing=True)
        if not isinstance(result, Result):
            raise TypeError(f"the run of {self.id} must return a Result, got {type(result).__name__}")
        seconds = round(clock.seconds, 3)
        rest = {"error": None, "missing": False, "seconds": seconds}
        return measured(result.numbers, result.arrays) | rest | provenance()


def _without_result(error: str, seconds: float, missing: bool = False) -> Record:
    rest = {"numbers": {}, "arrays": {}, "error": error, "missing": missing, "seconds": round(seconds, 3)}
    return rest | provenance()


def _picklable(function: Callable[[Any, int], Result]) -> Callable[[Any, int], Result] | None:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return function
