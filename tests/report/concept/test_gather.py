"""The page's values are those of the model, and the model is as it was."""

import pytest
import torch

from gramian.concepts.damage import perplexity
from gramian.concepts.directions import LayerDirection
from gramian.concepts.steering import steer
from gramian.report.concept.gather import steering_record, tokens_of_layers
from tiny_decoder import TinyDecoder, WordTokenizer

PROMPTS, NEUTRAL = ["the film", "we"], ["it was a new day"]


def directions(blocks):
    rng = torch.Generator().manual_seed(0)
    made = []
    for i in range(blocks):
        vector = torch.randn(8, generator=rng)
        made.append(LayerDirection(f"layers.{i}", vector / vector.norm(), 2.0, torch.zeros(8), 0.5 + 0.1 * (i % 3)))
    return made


def test_continuations_and_damage_of_each_strength():
    model, tokenizer = TinyDecoder().eval(), WordTokenizer()
    texts, damage = steering_record(
        model, directions(2), tokenizer=tokenizer, prompts=PROMPTS, neutral_texts=NEUTRAL, strengths=[1.0, -1.0],
        max_new_tokens=3,
    )  # fmt: skip
    assert [(one.prompt, one.strength) for one in texts] == [(p, s) for s in (-1.0, 0.0, 1.0) for p in PROMPTS]
    assert [one.strength for one in damage] == [-1.0, 0.0, 1.0]
    assert damage[1].perplexity_ratio == 1.0
    alone = perplexity(model, NEUTRAL, tokenizer=tokenizer)
    with steer(model, [(directions(2), 1.0)]):
        assert damage[2].perplexity_ratio == pytest.approx(perplexity(model, NEUTRAL, tokenizer=tokenizer) / alone)
    assert not any(module._forward_hooks for module in model.modules())


def test_the_best_steered_layers_in_order_of_depth():
    model = TinyDecoder(blocks=8).eval()
    found = tokens_of_layers(model, directions(8), tokenizer=WordTokenizer(), layers=2)
    assert [one.layer for one in found] == ["layers.2", "layers.5"]
