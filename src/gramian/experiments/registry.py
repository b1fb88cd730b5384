"""The registry of experiments, and the parts of an experiment."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

from gramian.experiments.claims import Claim
from gramian.experiments.index import similar_ids

SCALES = ("smoke", "small", "paper")
"""``smoke`` takes seconds and runs in CI, ``small`` takes minutes, ``paper`` uses the paper's own sizes."""


@dataclass(frozen=True)
class Result:
    """The result of one run, with one spec and one seed.

    Attributes
    ----------
    numbers : mapping of str to float
        The numbers that claims refer to. Different specs of one experiment have different keys: the number of a key is
        the mean over seeds.
    arrays : mapping of str to nested lists
        Data of the figure; as short as the figure allows, since records are committed as JSON.
    """

    numbers: Mapping[str, float]
    arrays: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One figure, table or theorem of a paper.

    Attributes
    ----------
    id : str
        For example ``"d/table2"``.
    paper, title : str
    run : callable
        ``run(spec, seed) -> Result``; a pure function of both.
    specs : mapping of scale to sequence of frozen dataclasses
        One cell per spec and seed.
    seeds : mapping of scale to int
        Default number of seeds.
    claims : sequence of Claim
    draw : callable or None
        ``draw(records, figure) -> None`` draws the records of one scale (dicts with ``spec``, ``seed``, ``numbers`` and
        ``arrays``) on an empty matplotlib ``Figure``.
    notes : path or None
        A text file on differences from the paper's setting and the explanation of numbers that differ.
    version : int
        Increased when `run` computes something else: records of other versions are not used.
    derive : callable or None
        ``derive(records) -> numbers`` computes further numbers from the finished records of one seed at one scale, such
        as differences between specs; it needs no new run.
    seeds_of : callable or None
        ``seeds_of(spec, n) -> seeds`` returns the seeds of a spec whose seeds are not 0, …, n − 1 for the scale's n.
    cost : callable or None
        ``cost(spec) -> seconds`` estimates the duration of a cell on one core where no record has it.
    repeats : callable or None
        ``repeats(records) -> lists`` puts each of our seeds in the place of the paper's: for the key of a claim, one
        number per seed, that of the other seeds compared with it; infinite where they diverge and it does not. If more
        than 5 % of them lie outside the claim's band and slack, the claim is *not decidable*.
    judged_by : callable or None
        ``judged_by(records) -> counts``, where ``counts(key, seed)`` is False if the number of that seed is left out of
        the mean over seeds, because the seed cannot be compared with the paper's.
    """

    id: str
    paper: str
    title: str
    run: Callable[[Any, int], Result]
    specs: Mapping[str, Sequence[Any]]
    seeds: Mapping[str, int]
    claims: Sequence[Claim] = ()
    draw: Callable[..., None] | None = None
    notes: Path | None = None
    version: int = 1
    derive: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, float]] | None = None
    seeds_of: Callable[[Any, int], Sequence[int]] | None = None
    cost: Callable[[Any], float] | None = None
    repeats: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Sequence[float]]] | None = None
    judged_by: Callable[[Sequence[Mapping[str, Any]]], Callable[[str, int], bool]] | None = None

    def declared_seeds(self, spec: Any, scale: str) -> Sequence[int]:
        """Return the seeds with which a spec runs at a scale."""
        count = self.seeds[scale]
        return range(count) if self.seeds_of is None else self.seeds_of(spec, count)

    def read_notes(self) -> str:
        """Return the text of the notes, empty if there are none."""
        return "" if self.notes is None else self.notes.read_text(encoding="utf-8")


_REGISTRY: dict[str, Experiment] = {}


def experiment(
    id: str,
    paper: str,
    title: str,
    *,
    specs: Mapping[str, Sequence[Any]],
    claims: Sequence[Claim] = (),
    seeds: Mapping[str, int] | None = None,
    draw: Callable[..., None] | None = None,
    version: int = 1,
    derive: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, float]] | None = None,
    seeds_of: Callable[[Any, int], Sequence[int]] | None = None,
    cost: Callable[[Any], float] | None = None,
    repeats: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Sequence[float]]] | None = None,
    judged_by: Callable[[Sequence[Mapping[str, Any]]], Callable[[str, int], bool]] | None = None,
    setting: str = "",
    small_setting: str = "",
) -> Callable[[Callable[[Any, int], Result]], Callable[[Any, int], Result]]:
    """Register ``run(spec, seed) -> Result`` as an experiment; a decorator.

    The arguments are the attributes of :class:`Experiment`; `setting` and `small_setting` are those of all its claims
    about the paper's numbers and statements that have none of their own. Notes are read from ``notes/<name>.md`` beside
    the module of `run`, where ``<name>`` is the id without the paper's letter.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Toss:
    ...     size: int
    >>> def toss(spec, seed):
    ...     return Result({"mean": 0.5})
    >>> _ = experiment("x/toss", "X", "A coin", specs=dict.fromkeys(SCALES, (Toss(3),)))(toss)
    >>> get("x/toss").title
    'A coin'
    >>> _ = _REGISTRY.pop("x/toss")
    """
    if not re.fullmatch(r"[a-z]/[a-z0-9-]+", id):
        raise ValueError(f"the id of an experiment must look like 'd/table2', got {id!r}")
    if id in _REGISTRY:
        raise ValueError(f"there are two experiments with the id {id!r}")
    if set(specs) != set(SCALES):
        raise ValueError(f"{id}: specs must name the scales {', '.join(SCALES)}, got {', '.join(specs)}")
    for spec in (spec for group in specs.values() for spec in group):
        if not is_dataclass(spec) or not getattr(spec, "__dataclass_params__").frozen:  # noqa: B009
            raise ValueError(f"{id}: a spec must be a frozen dataclass, got {spec!r}")
    counts = {"smoke": 1, "small": 3, "paper": 5} | dict(seeds or {})
    stated = tuple(_with_settings(claim, setting, small_setting) for claim in claims)

    def register(run: Callable[[Any, int], Result]) -> Callable[[Any, int], Result]:
        notes = _notes_file(run, id)
        _REGISTRY[id] = Experiment(
            id,
            paper,
            title,
            run,
            specs,
            counts,
            stated,
            draw,
            notes,
            version,
            derive,
            seeds_of,
            cost,
            repeats,
            judged_by,
        )
        return run

    return register


def _with_settings(claim: Claim, setting: str, small_setting: str) -> Claim:
    if claim.kind not in ("printed number", "statement") or claim.missing:
        return claim
    return replace(claim, setting=claim.setting or setting, small_setting=claim.small_setting or small_setting)


def _notes_file(run: Callable[[Any, int], Result], id: str) -> Path | None:
    module = getattr(sys.modules.get(run.__module__), "__file__", None)
    path = Path(module or "").parent / "notes" / f"{id.partition('/')[2]}.md"
    return path if path.exists() else None


def get(id: str) -> Experiment:
    """Return the experiment with this id; an unknown id is an error that names similar ones."""
    if id not in _REGISTRY:
        raise ValueError(f"there is no experiment {id!r}{similar_ids(id, _REGISTRY)}")
    return _REGISTRY[id]


def experiments() -> tuple[Experiment, ...]:
    """Return all registered experiments, by id."""
    return tuple(_REGISTRY[id] for id in sorted(_REGISTRY))
