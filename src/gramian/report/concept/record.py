"""Values that the page about a concept shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gramian.concepts.unembedding import NearestTokens


@dataclass(frozen=True)
class MethodScores:
    """Out-of-fold scores of one method, one per layer, with the ends of their intervals where known."""

    method: str
    scores: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True)
class ReadText:
    """A text with its probability of the concept, its tokens, and the score of each token."""

    text: str
    label: str
    probability: float
    tokens: tuple[str, ...] = ()
    token_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class SteeredText:
    """The continuation of a prompt at one strength."""

    prompt: str
    strength: float
    text: str


@dataclass(frozen=True)
class DamagePoint:
    """Damage at one strength, see :mod:`gramian.concepts.damage`."""

    strength: float
    perplexity_ratio: float
    repetition: float


@dataclass(frozen=True)
class ConceptRecord:
    """All that the page about a concept shows; empty parts are left out of the page.

    Parameters
    ----------
    name : str
        Name of the concept.
    layers : tuple of str
        Layers in order of depth, to which the scores of ``methods`` belong.
    methods : tuple of MethodScores
    score_name : str
        Name of the score, such as ``"AUC"``.
    nearest : tuple of NearestTokens
    texts : tuple of ReadText
    steered : tuple of SteeredText
    damage : tuple of DamagePoint
    settings : mapping of str to object
        Further facts in the order in which they are shown.
    """

    name: str
    layers: tuple[str, ...]
    methods: tuple[MethodScores, ...]
    score_name: str = "AUC"
    nearest: tuple[NearestTokens, ...] = ()
    texts: tuple[ReadText, ...] = ()
    steered: tuple[SteeredText, ...] = ()
    damage: tuple[DamagePoint, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
