"""Continuations are those of single prompts, and leave the global generator alone."""

import pytest
import torch
from torch import nn

from gramian.concepts.generation import continue_prompts
from tiny_decoder import TinyDecoder, WordTokenizer

PROMPTS = ["the film was", "we", "it was not a"]


@pytest.fixture
def model():
    return TinyDecoder().eval()


def test_padding_and_batches_change_nothing(model):
    together = continue_prompts(model, PROMPTS, tokenizer=WordTokenizer(), max_new_tokens=5)
    alone = [continue_prompts(model, [one], tokenizer=WordTokenizer(), max_new_tokens=5)[0] for one in PROMPTS]
    assert together == alone
    assert together == continue_prompts(model, PROMPTS, tokenizer=WordTokenizer(), max_new_tokens=5, batch_size=2)


def test_samples_follow_the_generator_given(model):
    def made(seed, **options):
        rng = torch.Generator().manual_seed(seed)
        return continue_prompts(model, PROMPTS, tokenizer=WordTokenizer(), max_new_tokens=8, rng=rng, **options)

    before = torch.get_rng_state()
    assert made(0) == made(0)
    assert made(0) != made(1)
    assert torch.equal(torch.get_rng_state(), before)
    cold = made(0, temperature=1e-4)
    assert cold == continue_prompts(model, PROMPTS, tokenizer=WordTokenizer(), max_new_tokens=8)


@pytest.mark.parametrize(
    ("prompts", "options", "message"),
    [
        ("the", {}, "prompts must be a list"),
        ([" "], {}, "not empty"),
        (PROMPTS, {"max_new_tokens": 0}, "must be positive"),
        (PROMPTS, {"temperature": 0.0}, "must be positive"),
    ],
)
def test_bad_arguments_are_refused(model, prompts, options, message):
    with pytest.raises(ValueError, match=message):
        continue_prompts(model, prompts, tokenizer=WordTokenizer(), **options)


def test_a_model_without_generate_is_refused():
    with pytest.raises(ValueError, match="Identity has none: load it with a language-model head"):
        continue_prompts(nn.Identity(), PROMPTS, tokenizer=WordTokenizer())
