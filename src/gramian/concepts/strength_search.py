"""Search for the layers and the strength that move a concept most, at a limited damage to the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from gramian.concepts.damage import perplexity, repetition
from gramian.concepts.directions import LayerDirection
from gramian.concepts.generation import TextTokenizer, check_texts, continue_prompts
from gramian.concepts.steering import AUTO_BAND, choose_directions, steer
from gramian.core.progress import progress
from gramian.display import Renderable, Section, Table, format_number

Judge = Callable[[list[str]], ArrayLike]
"""An independent judge: texts to the probabilities, between 0 and 1, that they have the concept."""
BANDS = ((0.0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1.0), AUTO_BAND, (0.0, 1.0))
"""Bands of layers that ``layers="auto"`` tries, as shares of the depth."""
_DOUBLINGS = 8
"""Largest number of times a strength is doubled or halved: beyond a factor of 256 the directions do nothing."""
FRACTIONS = (1.0, 0.5)
"""Parts of the largest allowed strength at which the judge reads continuations."""


@dataclass(frozen=True)
class SteeringTrial:
    """One strength in one band of layers, tried with both signs.

    Parameters
    ----------
    layers : tuple of str
    strength : float
        In units of the typical length of a layer's hidden states; 0 is the model alone.
    plus, minus : float
        Mean probability of the concept in continuations at +strength and −strength; NaN where only the damage was
        measured.
    perplexity_ratio : float
        Perplexity of neutral texts over that of the model alone: the larger one of both signs.
    repetition : float
        Share of repeated n-grams in the continuations, see :func:`gramian.concepts.damage.repetition`: the larger one
        of both signs; NaN where only the perplexity was measured.
    allowed : bool
        The damage is within the limits.
    """

    layers: tuple[str, ...]
    strength: float
    plus: float
    minus: float
    perplexity_ratio: float
    repetition: float
    allowed: bool

    @property
    def gain(self) -> float:
        """The difference of the concept between +strength and −strength."""
        return self.plus - self.minus


@dataclass(frozen=True, repr=False)
class StrengthSearch(Renderable):
    """All trials of :func:`search_strength` in their order; the first one is the model alone."""

    trials: tuple[SteeringTrial, ...]
    limit: float

    @property
    def best(self) -> SteeringTrial:
        """The allowed trial with the largest gain; the model alone if no other one is allowed."""
        judged = [trial for trial in self.trials if trial.allowed and math.isfinite(trial.gain)]
        return max(judged, key=lambda trial: trial.gain)

    def sections(self) -> list[Section]:
        """Return the table of the trials for display."""
        rows = [
            [
                _band_name(trial.layers),
                *(
                    format_number(value, 3)
                    for value in (
                        trial.strength,
                        trial.plus,
                        trial.minus,
                        trial.gain,
                        trial.perplexity_ratio,
                        trial.repetition,
                    )
                ),
                "best" if trial is self.best else "" if trial.allowed else "too much",
            ]
            for trial in self.trials
        ]
        columns = ["layers", "strength", "at +s", "at −s", "gain", "perplexity ratio", "repetition", ""]
        note = f"Allowed are perplexity ratios of at most {format_number(self.limit)}."
        return [Section(f"{len(rows)} trials of steering", Table(columns, rows), note)]


def search_strength(
    model: nn.Module,
    directions: Sequence[LayerDirection],
    judge: Judge,
    *,
    tokenizer: TextTokenizer,
    prompts: Sequence[str],
    neutral_texts: Sequence[str],
    layers: Literal["auto"] | Sequence[Sequence[str]] = "auto",
    limit: float = 1.3,
    repetition_rise: float = 0.1,
    max_new_tokens: int = 24,
    rng: torch.Generator | None = None,
    verbose: bool = False,
) -> StrengthSearch:
    """Search for the layers and the strength that move a concept most between +strength and −strength.

    For each band of layers, the largest strength whose damage is within ``limit`` is found by bisection, which reads
    neutral texts only. The prompts are then continued at that strength and at half of it, with both signs, and the
    judge reads the continuations. All trials have the same random numbers, and the same generator gives the same
    result.

    Parameters
    ----------
    model, tokenizer
        A causal language model with ``generate``, and its tokenizer, as those of transformers.
    directions : sequence of LayerDirection
        One per layer.
    judge : callable
        Texts to probabilities of the concept. It must know nothing of the directions: train it on other texts, and on
        another model's representation, or the search rewards whatever the directions get wrong.
    prompts : sequence of str
        Beginnings that have nothing of the concept in them.
    neutral_texts : sequence of str
        Ordinary texts, whose perplexity measures the damage.
    layers : "auto" or sequence of bands
        Bands of layers to try, each a list of names; by default thirds of the depth, its middle, and all layers.
    limit : float
        Largest perplexity of the neutral texts, as a multiple of that of the model alone.
    repetition_rise : float
        Largest rise of the share of repeated n-grams in the continuations.
    max_new_tokens : int
        Length of the continuations.
    rng : torch.Generator, optional
        Generator of sampled continuations; without one the most probable token is always taken.
    verbose : bool
        Show a progress bar on a terminal.
    """
    if isinstance(layers, str) and layers != "auto":
        raise ValueError(f'layers must be "auto" or a list of bands, each a list of names, got {layers!r}')
    if not repetition_rise >= 0:
        raise ValueError(f"repetition_rise must be at least 0, got {repetition_rise}")
    names = [direction.layer for direction in directions]
    bands = layer_bands(names) if isinstance(layers, str) else [tuple(band) for band in layers]
    for band in bands:
        choose_directions(directions, band)  # raises an error if a layer has no direction
    seed = None if rng is None else int(torch.randint(2**31, (1,), generator=rng))
    reader = _Reader(model, tokenizer, judge, check_texts(prompts, "prompts"), max_new_tokens, seed)
    ruler = PerplexityRatio(model, directions, tokenizer=tokenizer, neutral_texts=neutral_texts)
    usual, repeated = reader.read()
    trials = [SteeringTrial((), 0.0, usual, usual, 1.0, repeated, True)]
    with progress("searching", len(bands) * (1 + 2 * len(FRACTIONS)), verbose) as tick:
        for band in bands:
            curve = damage_curve(ruler, band, limit)
            trials += [SteeringTrial(band, s, math.nan, math.nan, r, math.nan, r <= limit) for s, r in curve]
            tick()
            largest = max((s for s, ratio in curve if ratio <= limit), default=0.0)
            for strength in (fraction * largest for fraction in FRACTIONS if largest):
                both = []
                for sign in (1, -1):
                    with steer(model, [(directions, sign * strength)], layers=band):
                        both.append(reader.read())
                    tick()
                (plus, first), (minus, second) = both
                ratio, worst = ruler(strength, band), max(first, second)
                allowed = ratio <= limit and worst <= repeated + repetition_rise
                trials.append(SteeringTrial(band, strength, plus, minus, ratio, worst, allowed))
    return StrengthSearch(tuple(trials), limit)


class PerplexityRatio:
    """Perplexity of neutral texts under steering, as a multiple of that of the model alone; each is measured once.

    Parameters
    ----------
    model, directions, tokenizer, neutral_texts
        As for :func:`search_strength`.
    """

    def __init__(
        self,
        model: nn.Module,
        directions: Sequence[LayerDirection],
        *,
        tokenizer: TextTokenizer,
        neutral_texts: Sequence[str],
    ) -> None:
        self.model, self.directions, self.tokenizer = model, directions, tokenizer
        self.neutral_texts = check_texts(neutral_texts, "neutral_texts")
        self._known: dict[tuple[float, tuple[str, ...]], float] = {}

    def __call__(self, strength: float, layers: Sequence[str]) -> float:
        """Return the larger ratio of +strength and −strength in these layers."""
        return max(self.signed(sign * strength, layers) for sign in (1, -1))

    def signed(self, strength: float, layers: Sequence[str]) -> float:
        """Return the ratio at one strength with its sign."""
        return self._measured(strength, tuple(layers)) / self._measured(0.0, ())

    def _measured(self, strength: float, layers: tuple[str, ...]) -> float:
        key = (strength, layers)
        if key not in self._known:
            concepts = [(self.directions, strength)] if strength else []
            with steer(self.model, concepts, layers=layers):
                self._known[key] = perplexity(self.model, self.neutral_texts, tokenizer=self.tokenizer)
        return self._known[key]


def damage_curve(
    ruler: PerplexityRatio,
    layers: Sequence[str],
    limit: float = 1.3,
    *,
    start: float | None = None,
    refinements: int = 3,
) -> tuple[tuple[float, float], ...]:
    """Return pairs (strength, perplexity ratio) around the largest strength within a limit, in ascending order.

    Strengths begin at ``start``, by default a quarter of the typical length over all layers together. They are doubled
    or halved until the ratio crosses the limit, and the last interval is then halved ``refinements`` times on a log
    scale. The largest strength within the limit is thus known up to a factor of :math:`2^{1 / 2^r}` (9 % for r = 3).
    """
    if not limit > 1:
        raise ValueError(f"limit must be larger than 1, the perplexity ratio of the model alone, got {limit}")
    strength = 0.25 / len(layers) if start is None else start
    if not (math.isfinite(strength) and strength > 0):
        raise ValueError(f"start must be a positive number, got {start}")
    found = {strength: ruler(strength, layers)}
    inside = found[strength] <= limit
    for _ in range(_DOUBLINGS):
        strength *= 2.0 if inside else 0.5
        found[strength] = ruler(strength, layers)
        if (found[strength] <= limit) != inside:
            break
    else:
        return tuple(sorted(found.items()))
    low, high = (strength / 2, strength) if inside else (strength, 2 * strength)
    for _ in range(refinements):
        middle = math.sqrt(low * high)
        found[middle] = ruler(middle, layers)
        low, high = (middle, high) if found[middle] <= limit else (low, middle)
    return tuple(sorted(found.items()))


def layer_bands(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the bands of layers that ``layers="auto"`` tries, without repeated and empty ones.

    >>> layer_bands(["a", "b", "c"])
    [('a',), ('b',), ('c',), ('a', 'b'), ('a', 'b', 'c')]
    """
    ends = [tuple(math.floor(share * len(names) + 1e-9) for share in band) for band in BANDS]
    return list(dict.fromkeys(tuple(names[first:last]) for first, last in ends if last > first))


def judged(judge: Judge, texts: Sequence[str]) -> np.ndarray:
    """Return the probabilities of a judge, checked.

    >>> judged(lambda texts: ["good" in text for text in texts], ["a good film", "a film"])
    array([1., 0.])
    """
    found = np.asarray(judge(list(texts)), dtype=float)
    if found.shape != (len(texts),) or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(
            f"judge must return one probability between 0 and 1 per text: {len(texts)} texts gave an array of shape "
            f"{found.shape} with values from {found.min(initial=math.inf):g} to {found.max(initial=-math.inf):g}"
        )
    return found


@dataclass(frozen=True)
class _Reader:
    """Continues the prompts with the model as it is at the moment, and lets the judge read them."""

    model: nn.Module
    tokenizer: TextTokenizer
    judge: Judge
    prompts: list[str]
    max_new_tokens: int
    seed: int | None

    def read(self) -> tuple[float, float]:
        """Return the mean probability of the concept, and the repetition."""
        made = continue_prompts(
            self.model,
            self.prompts,
            tokenizer=self.tokenizer,
            max_new_tokens=self.max_new_tokens,
            rng=None if self.seed is None else torch.Generator().manual_seed(self.seed),
        )
        return float(judged(self.judge, made).mean()), repetition(made)


def _band_name(layers: Sequence[str]) -> str:
    if len(layers) < 2:
        return "".join(layers) or "none"
    return f"{layers[0]} … {layers[-1]}"
