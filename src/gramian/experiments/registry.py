"""The registry: which experiments there are, and what each is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from difflib import get_close_matches
from typing import Any

from gramian.experiments.expected import Claim

SCALES = ("smoke", "small", "paper")
"""``smoke`` takes seconds and runs in CI, ``small`` minutes, ``paper`` has the paper's own sizes."""


@dataclass(frozen=True)
class Result:
    """What one run of one spec with one seed gave.

    Attributes
    ----------
    numbers : mapping of str to float
        What claims speak of. Keys of different specs of one experiment are different, so that records can be joined:
        the number of a key is the mean over seeds.
    arrays : mapping of str to nested lists
        What figures need besides; as short as the figure allows, since records are committed as JSON.
    """

    numbers: Mapping[str, float]
    arrays: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One figure, table or theorem of a paper.

    Attributes
    ----------
    id : str
        Such as ``"d/table2"``.
    paper, title : str
    run : callable
        ``run(spec, seed) -> Result``; a pure function of both.
    specs : mapping of scale to sequence of frozen dataclasses
        One cell of work per spec and seed.
    seeds : mapping of scale to int
        How many seeds by default.
    claims : sequence of Claim
    draw : callable or None
        ``draw(records, figure) -> None`` draws the figure from records (dicts with ``spec``, ``seed``, ``numbers`` and
        ``arrays``) of one scale on an empty matplotlib ``Figure``.
    notes : str
        What differs from the paper, and the explanation of numbers that differ, found by experiment.
    version : int
        Raised when `run` changes what it computes: records of other versions are not used.
    """

    id: str
    paper: str
    title: str
    run: Callable[[Any, int], Result]
    specs: Mapping[str, Sequence[Any]]
    seeds: Mapping[str, int]
    claims: Sequence[Claim] = ()
    draw: Callable[..., None] | None = None
    notes: str = ""
    version: int = 1


_REGISTRY: dict[str, Experiment] = {}


def experiment(
    id: str,
    paper: str,
    title: str,
    *,
    specs: Mapping[str, Sequence[Any]],
    expected: Sequence[Claim] = (),
    seeds: Mapping[str, int] | None = None,
    draw: Callable[..., None] | None = None,
    notes: str = "",
    version: int = 1,
) -> Callable[[Callable[[Any, int], Result]], Callable[[Any, int], Result]]:
    """Enter ``run(spec, seed) -> Result`` in the registry.

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
        raise ValueError(f"the id of an experiment looks like 'd/table2', got {id!r}")
    if id in _REGISTRY:
        raise ValueError(f"there are two experiments with the id {id!r}")
    if set(specs) != set(SCALES):
        raise ValueError(f"{id}: specs must name the scales {', '.join(SCALES)}, got {', '.join(specs)}")
    for spec in (spec for group in specs.values() for spec in group):
        if not is_dataclass(spec) or not getattr(spec, "__dataclass_params__").frozen:  # noqa: B009
            raise ValueError(f"{id}: a spec must be a frozen dataclass, got {spec!r}")
    counts = {"smoke": 1, "small": 3, "paper": 5} | dict(seeds or {})

    def enter(run: Callable[[Any, int], Result]) -> Callable[[Any, int], Result]:
        _REGISTRY[id] = Experiment(id, paper, title, run, specs, counts, tuple(expected), draw, notes, version)
        return run

    return enter


def get(id: str) -> Experiment:
    """The experiment with that id; an error that names the nearest otherwise."""
    if id not in _REGISTRY:
        raise ValueError(f"there is no experiment {id!r}{near(id)}")
    return _REGISTRY[id]


def near(id: str) -> str:
    """The end of a message about an id that is not there: which ids look like it."""
    found = get_close_matches(id, _REGISTRY, n=5, cutoff=0.5)
    return f"; near it: {', '.join(found)}" if found else "; gramian reproduce --list shows what there is"


def experiments() -> tuple[Experiment, ...]:
    """All experiments, by id."""
    return tuple(_REGISTRY[id] for id in sorted(_REGISTRY))
