"""Values of the page about a concept, computed with its model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import nn

from gramian.concepts import Concept
from gramian.concepts.damage import perplexity, repetition
from gramian.concepts.directions import LayerDirection
from gramian.concepts.generation import TextTokenizer, continue_prompts
from gramian.concepts.steering import choose_directions, steer
from gramian.concepts.unembedding import NearestTokens, nearest_tokens
from gramian.report.concept.record import ConceptRecord, DamagePoint, MethodScores, ReadText, SteeredText

PROMPTS = ("The film was", "My day at work", "The food at the restaurant", "The new teacher")
"""Beginnings that are continued unless others are given."""
NEUTRAL = (
    "The train from the north arrives at the central station at half past nine in the morning.",
    "Water boils at a lower temperature in the mountains, because the pressure of the air is lower there.",
    "The committee will meet on the second Tuesday of the month to discuss the budget for the next year.",
    "She put the letter on the table, closed the window and went out to the garden.",
    "The river is two hundred kilometres long and flows through four towns before it reaches the sea.",
    "To change the battery, remove the two screws on the back of the case and lift the cover.",
)
"""Ordinary texts whose perplexity measures the damage unless others are given."""
STRENGTHS = (-0.03, -0.015, 0.0, 0.015, 0.03)
"""Strengths on the page; 0.015 in the middle layers keeps the perplexity ratio of SmolLM2-135M below 1.3."""


def concept_record(
    concept: Concept,
    model: nn.Module,
    *,
    tokenizer: TextTokenizer,
    texts: Sequence[tuple[str, str]] = (),
    prompts: Sequence[str] = PROMPTS,
    neutral_texts: Sequence[str] = NEUTRAL,
    strengths: Sequence[float] = STRENGTHS,
    examples: int = 8,
) -> ConceptRecord:
    """Compute all that the page about a concept shows.

    Parameters
    ----------
    concept : Concept
    model, tokenizer
        The model that the concept was found in. Continuations are left out for a model without ``generate``.
    texts : sequence of pairs (text, label), optional
        Texts to score and to colour; the first ``examples`` of them are shown.
    prompts, neutral_texts, strengths
        As for :func:`steering_record`.
    """
    directions = concept.directions("rfm")
    steered, damage = (
        steering_record(
            model, directions, tokenizer=tokenizer, prompts=prompts, neutral_texts=neutral_texts, strengths=strengths
        )
        if hasattr(model, "generate")
        else ((), ())
    )
    return ConceptRecord(
        concept.name,
        concept.layers,
        tuple(
            MethodScores(
                method,
                tuple(one.value for one in found),
                tuple(one.low for one in found),
                tuple(one.high for one in found),
            )
            for method, found in concept.aucs.items()
        ),
        score_name="concordance" if concept.kind == "graded" else "AUC",
        nearest=tokens_of_layers(model, directions, tokenizer=tokenizer),
        texts=read_examples(concept, model, tokenizer=tokenizer, texts=texts[:examples]),
        steered=steered,
        damage=damage,
        settings={
            "model": type(model).__name__,
            "classes": ", ".join(concept.classes),
            "training rows": concept.rows,
            "position": concept.position,
            "steered layers": _span([one.layer for one in choose_directions(directions)]),
        },
    )


def read_examples(
    concept: Concept, model: nn.Module, *, tokenizer: TextTokenizer, texts: Sequence[tuple[str, str]]
) -> tuple[ReadText, ...]:
    """Return texts with the probability of the last class, and the scores of their tokens."""
    if not texts:
        return ()
    words = [text for text, _ in texts]
    shares = concept.score(words, model=model, tokenizer=tokenizer, show=False)
    scored = concept.token_scores(words, model=model, tokenizer=tokenizer, show=False)
    return tuple(
        ReadText(text, label, float(share if shares.ndim == 1 else share[-1]), one.tokens, without_sink(one.scores))
        for (text, label), share, one in zip(texts, shares, scored, strict=True)
    )


def without_sink(scores: Float[np.ndarray, " t"]) -> tuple[float, ...]:
    """Return scores of tokens, with NaN for a first one that is more than five times as large as all others.

    Many decoders have a first token whose hidden state is a hundred times as long as the others, whatever it says. Its
    score means nothing, and the colours of all other tokens would vanish beside it.

    >>> without_sink(np.array([60.0, 1.0, -2.0])), without_sink(np.array([3.0, 1.0]))
    ((nan, 1.0, -2.0), (3.0, 1.0))
    """
    found = [float(score) for score in scores]
    if len(found) > 1 and abs(found[0]) > 5 * max(map(abs, found[1:])):
        found[0] = math.nan
    return tuple(found)


def steering_record(
    model: nn.Module,
    directions: Sequence[LayerDirection],
    *,
    tokenizer: TextTokenizer,
    prompts: Sequence[str] = PROMPTS,
    neutral_texts: Sequence[str] = NEUTRAL,
    strengths: Sequence[float] = STRENGTHS,
    max_new_tokens: int = 24,
) -> tuple[tuple[SteeredText, ...], tuple[DamagePoint, ...]]:
    """Return continuations of prompts and the damage, at several strengths.

    Continuations take the most probable token. The damage is relative to the model alone, whose ratio is 1.
    """
    alone = perplexity(model, neutral_texts, tokenizer=tokenizer)
    texts: list[SteeredText] = []
    damage: list[DamagePoint] = []
    for strength in sorted({*strengths, 0.0}):
        with steer(model, [(directions, strength)]):
            made = continue_prompts(model, prompts, tokenizer=tokenizer, max_new_tokens=max_new_tokens)
            ratio = perplexity(model, neutral_texts, tokenizer=tokenizer) / alone
        texts += [SteeredText(prompt, strength, text) for prompt, text in zip(prompts, made, strict=True)]
        damage.append(DamagePoint(strength, ratio, repetition(made)))
    return tuple(texts), tuple(damage)


def tokens_of_layers(
    model: nn.Module, directions: Sequence[LayerDirection], *, tokenizer: TextTokenizer, layers: int = 4
) -> tuple[NearestTokens, ...]:
    """Return the nearest tokens of the layers with the best scores among those that are steered, in order of depth."""
    chosen = choose_directions(directions)
    best = sorted(chosen, key=lambda one: -one.auc)[:layers]
    found = [nearest_tokens(model, one, tokenizer=tokenizer) for one in chosen if one in best]
    return tuple(one for one in found if one is not None)


def _span(layers: Sequence[str]) -> str:
    return layers[0] if len(layers) == 1 else f"{layers[0]} to {layers[-1]} ({len(layers)} layers)"
