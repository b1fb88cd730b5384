"""States of words and sentences of the made model, and the comparison of the two states of a sentence."""

import pytest
import torch

from gramian.experiments.e_gram.text_models import load_text_model
from gramian.experiments.e_gram.text_tasks import labelled_texts, linearity_by_layer, reduced_linearity
from gramian.experiments.e_gram.transformer_layers_why import compare_humps, compare_states, states_by_layer


def test_the_state_of_a_token_is_that_of_the_figure():
    texts, found = labelled_texts("pos", made=True).part(range(12)), load_text_model("made")
    Y = torch.eye(5, dtype=torch.float64)[[label for sentence in texts.labels for label in sentence]]
    layers = states_by_layer(found, found.model, texts, pooled=False)
    expected = linearity_by_layer(found, found.model, texts, 4)
    assert [reduced_linearity(H, Y, 4) for H in layers] == pytest.approx(expected, rel=1e-9)


def test_the_pooled_state_is_the_mean_over_the_tokens_of_a_sentence():
    texts, found = labelled_texts("sst2", made=True).part(range(5)), load_text_model("made")
    model = found.model.eval()
    last = states_by_layer(found, model, texts, pooled=True)[-1]
    with torch.no_grad():
        for words, row in zip(texts.words, last, strict=True):
            tokens = found.encoder([" ".join(words)], return_tensors="pt")
            mean = model(tokens["input_ids"], tokens["attention_mask"])[0].double().mean(0)
            assert torch.allclose(row, mean, atol=1e-5)


def test_the_states_of_a_sentence_are_compared():
    records = [{"numbers": {"sst2/mean/last": 0.5}}, {"numbers": {"sst2/token/last": 0.2}}]
    assert compare_states(records) == pytest.approx({"sst2/last, mean over first": 0.3})
    assert compare_states(records[:1]) == {}


def test_the_hump_is_the_smaller_of_that_of_the_profile_and_its_excess_over_the_random_one():
    flat, peaked, sinking = (
        [0.5] * 8,
        [0.5, 0.5, 0.5, 0.7, 0.5, 0.5, 0.5, 0.5],
        [0.6, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.6],
    )
    arrays = {"pretrained/2": peaked, "random/2": flat, "pretrained/9": peaked[::-1], "random/9": sinking}
    found = compare_humps([{"arrays": arrays, "spec": {"components": [2, 9]}}])
    assert found == pytest.approx({"few components": 0.2, "few minus many components": 0.0})
    arrays |= {"random/2": peaked, "pretrained/9": sinking}
    found = compare_humps([{"arrays": arrays, "spec": {"components": [2, 9]}}])
    assert found == pytest.approx({"few components": 0.0, "few minus many components": 0.3})
    assert compare_humps([]) == {}
