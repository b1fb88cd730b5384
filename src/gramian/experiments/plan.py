"""The plan: cells that have not run, with their hours, cheapest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gramian.experiments.cell import ExperimentCell, cells
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.store import ExperimentStore, spec_identity
from gramian.records import Record

_SOURCES = ("unknown", "guessed", "estimated", "recorded")
"""Sources of hours, the least certain first."""


@dataclass(frozen=True)
class PlannedWork:
    """The missing cells of one experiment at one scale.

    Attributes
    ----------
    experiment, scale : str
    missing, all : int
        Cells that have not run, and all cells of the scale.
    hours : float or None
        Expected hours of one core; None if they are unknown.
    source : str
        ``"recorded"`` if every cell has a record of the same spec; ``"estimated"`` by the experiment; ``"guessed"``, as
        if a cell took as long as one of another scale; otherwise ``"unknown"``.
    """

    experiment: str
    scale: str
    missing: int
    all: int
    hours: float | None
    source: str


def plan(
    experiments: Iterable[Experiment], store: ExperimentStore, scales: Sequence[str], seeds: int | None = None
) -> list[PlannedWork]:
    """Return the work that is missing, cheapest first; work whose duration is guessed or unknown comes last.

    `seeds` is the number of seeds, None for those that each experiment declares.
    """
    found = [work for e in experiments for scale in scales if (work := _work(e, store, scale, seeds)) is not None]
    return sorted(found, key=lambda w: (w.hours is None, w.source == "guessed", w.hours or 0.0, w.experiment, w.scale))


def unfinished(wanted: Sequence[ExperimentCell], store: ExperimentStore) -> list[ExperimentCell]:
    """Return the cells without a record, or with that of a failure."""
    finished = {key for key, record in store.find(wanted).items() if not record["error"]}
    return [cell for cell in wanted if cell.key not in finished]


def _work(experiment: Experiment, store: ExperimentStore, scale: str, seeds: int | None) -> PlannedWork | None:
    wanted = cells(experiment, scale, seeds)
    waiting = unfinished(wanted, store)
    if not waiting:
        return None
    times = _recorded(store.of(experiment, scale))
    guess = _guess(experiment, store, scale) if experiment.cost is None else (None, "unknown")
    seconds = [_seconds(cell, times, guess) for cell in waiting]
    known = [value for value, _ in seconds if value is not None]
    hours = sum(known) / 3600 if len(known) == len(seconds) else None
    sources = {source for _, source in seconds}
    source = next(name for name in _SOURCES if name in sources)
    return PlannedWork(experiment.id, scale, len(waiting), len(wanted), hours, source)


def _recorded(records: Sequence[Record]) -> dict[str, float]:
    """Return the mean duration by spec."""
    found: dict[str, list[float]] = {}
    for record in records:
        if not record["error"]:
            found.setdefault(spec_identity(record), []).append(record["seconds"])
    return {spec: sum(values) / len(values) for spec, values in found.items()}


def _guess(experiment: Experiment, store: ExperimentStore, scale: str) -> tuple[float | None, str]:
    """Return the mean duration of a cell at the nearest smaller scale with records, else at the nearest larger one."""
    place = SCALES.index(scale)
    for other in (*reversed(SCALES[:place]), *SCALES[place + 1 :]):
        times = [record["seconds"] for record in store.of(experiment, other) if not record["error"]]
        if times:
            return sum(times) / len(times), "guessed"
    return None, "unknown"


def _seconds(
    cell: ExperimentCell, times: Mapping[str, float], guess: tuple[float | None, str]
) -> tuple[float | None, str]:
    spec = spec_identity(cell.head())
    if spec in times:
        return times[spec], "recorded"
    if cell.experiment.cost is not None:
        return cell.experiment.cost(cell.spec), "estimated"
    return guess
