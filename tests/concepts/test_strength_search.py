"""The search keeps its limits, tries what it says it tries, and repeats itself."""

import math

import numpy as np
import pytest
import torch

from gramian.concepts.damage import perplexity
from gramian.concepts.directions import LayerDirection
from gramian.concepts.steering import steer
from gramian.concepts.strength_search import PerplexityRatio, damage_curve, judged, layer_bands, search_strength
from tiny_decoder import WORDS, TinyDecoder, WordTokenizer

PROMPTS, NEUTRAL = ["the film was", "we", "the food"], ["it was a new day", "we saw the old film"]


@pytest.fixture
def model():
    return TinyDecoder(blocks=3).eval()


def towards(model, word):
    """Directions along which the head gives a word a larger logit."""
    row = model.head.weight[WORDS.index(word) + 2].detach()
    return [LayerDirection(f"layers.{i}", row / row.norm(), 2.0, torch.zeros(8), 0.8) for i in range(3)]


def share_of_good(texts):
    return np.array([text.split().count("good") / max(len(text.split()), 1) for text in texts])


def search(model, **options):
    given = {"tokenizer": WordTokenizer(), "prompts": PROMPTS, "neutral_texts": NEUTRAL, "max_new_tokens": 4, **options}
    return search_strength(model, towards(model, "good"), share_of_good, **given)


def test_it_finds_a_strength_that_moves_the_concept_within_the_limits(model):
    found = search(model, limit=1.5, repetition_rise=1.0)
    best = found.best
    assert best.gain > 0.5
    assert best.allowed
    assert all(trial.gain <= best.gain for trial in found.trials if trial.allowed and math.isfinite(trial.gain))
    for sign in (1, -1):
        alone = perplexity(model, NEUTRAL, tokenizer=WordTokenizer())
        with steer(model, [(towards(model, "good"), sign * best.strength)], layers=best.layers):
            assert perplexity(model, NEUTRAL, tokenizer=WordTokenizer()) <= 1.5 * alone
    assert "best" in str(found)
    assert not any(module._forward_hooks for module in model.modules())


def test_the_first_trial_is_the_model_alone(model):
    first = search(model, layers=[["layers.0"]]).trials[0]
    assert (first.layers, first.strength, first.gain, first.perplexity_ratio, first.allowed) == (
        (),
        0.0,
        0.0,
        1.0,
        True,
    )


def test_repetition_has_a_limit_too(model):
    found = search(model, limit=3.0, repetition_rise=0.0, layers=[["layers.2"]])
    usual = found.trials[0].repetition
    judged_trials = [trial for trial in found.trials[1:] if math.isfinite(trial.gain)]
    assert judged_trials
    for trial in judged_trials:
        assert trial.allowed == (trial.perplexity_ratio <= 3.0 and trial.repetition <= usual)


def test_the_same_generator_gives_the_same_table(model):
    tables = [
        search(model, layers=[["layers.1"]], rng=torch.Generator().manual_seed(seed)).trials for seed in (3, 3, 4)
    ]
    assert repr(tables[0]) == repr(tables[1])
    assert repr(tables[0]) != repr(tables[2])


def test_the_curve_brackets_the_limit(model):
    ruler = PerplexityRatio(model, towards(model, "good"), tokenizer=WordTokenizer(), neutral_texts=NEUTRAL)
    curve = damage_curve(ruler, ["layers.1", "layers.2"], 1.3)
    inside, outside = ([s for s, ratio in curve if (ratio <= 1.3) == side] for side in (True, False))
    assert 1 < min(outside) / max(inside) <= 2 ** (1 / 8) + 1e-9
    assert [s for s, _ in curve] == sorted(s for s, _ in curve)
    finer = damage_curve(ruler, ["layers.1", "layers.2"], 1.3, refinements=5)
    assert set(curve) <= set(finer)


def test_directions_that_do_nothing_end_the_search(model):
    still = [LayerDirection("layers.0", torch.zeros(8), 1.0, torch.zeros(8), 0.5)]
    ruler = PerplexityRatio(model, still, tokenizer=WordTokenizer(), neutral_texts=NEUTRAL)
    curve = damage_curve(ruler, ["layers.0"])
    assert all(ratio == 1.0 for _, ratio in curve)
    assert len(curve) == 9


def test_bands_cover_the_depth():
    names = [f"layers.{i}" for i in range(30)]
    bands = layer_bands(names)
    assert [(names.index(band[0]), names.index(band[-1])) for band in bands] == [
        (0, 9), (10, 19), (20, 29), (7, 23), (0, 29),
    ]  # fmt: skip
    assert layer_bands(["a"]) == [("a",)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 1.0}, "limit must be larger than 1"),
        ({"repetition_rise": -1.0}, "repetition_rise must be at least 0"),
        ({"layers": "all"}, 'layers must be "auto" or a list of bands'),
        ({"layers": [["layers.9"]]}, "no direction for layer 'layers.9'"),
        ({"prompts": []}, "prompts must be a list"),
        ({"neutral_texts": []}, "neutral_texts must be a list"),
    ],
)
def test_bad_arguments_are_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        search(model, **options)


@pytest.mark.parametrize("answer", [[0.5], [[0.5, 0.5]], [0.5, 1.5], [0.5, float("nan")]])
def test_a_judge_that_returns_no_probabilities_is_refused(answer):
    with pytest.raises(ValueError, match="one probability between 0 and 1 per text"):
        judged(lambda texts: answer, ["a", "b"])
