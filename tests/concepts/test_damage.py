"""Perplexity equals its definition, and repetition counts n-grams."""

import math

import pytest
import torch
from torch import nn

from gramian.concepts.damage import perplexity, repetition
from gramian.concepts.directions import LayerDirection
from gramian.concepts.steering import steer
from tiny_decoder import TinyDecoder, WordTokenizer

TEXTS = ["the film was very good", "we ate", "the day", "it was a new and not very fine day", "old food"]


@pytest.fixture
def model():
    return TinyDecoder().eval()


def naive(model, texts, longest=None):
    """One text at a time, one token at a time, in float64."""
    total, count = 0.0, 0
    for text in texts:
        ids = WordTokenizer()([text])["input_ids"][:, :longest]
        for i in range(1, ids.shape[1]):
            shares = model.double()(ids[:, :i]).logits[0, -1].softmax(0)
            total -= math.log(float(shares[ids[0, i]]))
            count += 1
    model.float()
    return math.exp(total / count)


@torch.no_grad()
def test_perplexity_equals_that_of_single_tokens(model):
    tokenizer = WordTokenizer()
    found = perplexity(model, TEXTS * 3, tokenizer=tokenizer)  # more than one batch
    assert found == pytest.approx(naive(model, TEXTS), rel=1e-5)
    assert found == pytest.approx(perplexity(model, TEXTS[::-1], tokenizer=tokenizer), rel=1e-6)
    assert perplexity(model, TEXTS, tokenizer=tokenizer, max_length=3) == pytest.approx(
        naive(model, TEXTS, longest=3), rel=1e-5
    )
    assert tokenizer.padding_side == "right"


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary(model):
    nn.init.zeros_(model.head.weight)
    assert perplexity(model, TEXTS, tokenizer=WordTokenizer()) == pytest.approx(22.0)


def test_steering_changes_it_and_is_gone_afterwards(model):
    before = perplexity(model, TEXTS, tokenizer=WordTokenizer())
    away = [LayerDirection("layers.1", torch.eye(8)[0], 30.0, torch.zeros(8), 0.8)]
    with steer(model, [(away, 1.0)]):
        assert perplexity(model, TEXTS, tokenizer=WordTokenizer()) > 1.5 * before
    assert perplexity(model, TEXTS, tokenizer=WordTokenizer()) == before


def test_a_tensor_of_logits_is_enough_and_anything_else_is_refused(model):
    class Plain(nn.Module):
        def forward(self, input_ids, attention_mask):
            return model(input_ids, attention_mask).logits

    expected = perplexity(model, TEXTS, tokenizer=WordTokenizer())
    assert perplexity(Plain(), TEXTS, tokenizer=WordTokenizer()) == expected

    class Pooled(nn.Module):
        def forward(self, input_ids, attention_mask):
            return model(input_ids, attention_mask).logits.mean(1)

    with pytest.raises(ValueError, match="must return logits"):
        perplexity(Pooled(), TEXTS, tokenizer=WordTokenizer())


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("one text", {}, "texts must be a list"),
        ([], {}, "texts must be a list"),
        (["", "a"], {}, "not empty"),
        (["the"], {}, "at least two tokens"),
        (TEXTS, {"max_length": 1}, "max_length must be at least 2"),
    ],
)
def test_bad_arguments_are_refused(model, texts, options, message):
    with pytest.raises(ValueError, match=message):
        perplexity(model, texts, tokenizer=WordTokenizer(), **options)


def test_repetition_counts_within_a_text_only():
    assert repetition(["a b c d", "a b c d"]) == 0
    assert repetition(["a b c a b c"]) == pytest.approx(1 / 4)
    assert repetition(["A b c", "a a a a a"]) == pytest.approx(2 / 4)
    assert repetition(["a", ""]) == 0
    assert repetition(["x x x x"], n=1) == pytest.approx(3 / 4)
    with pytest.raises(ValueError, match="n must be at least 1"):
        repetition(["a"], n=0)
