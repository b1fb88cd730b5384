"""Tasks of Fig. 11 on made sentences: linearity against least squares, and fine-tuning that learns."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from gramian.experiments.e_gram.text_models import load_text_model
from gramian.experiments.e_gram.text_tasks import (
    labelled_texts,
    linearity_by_layer,
    positions,
    reduced_linearity,
    tune,
)


def test_reduced_linearity_is_least_squares_on_principal_components():
    rng = torch.Generator().manual_seed(0)
    H, Y = (torch.randn(30, d, generator=rng, dtype=torch.float64) for d in (6, 2))
    centred, targets = H - H.mean(0), Y - Y.mean(0)
    U, S, _ = torch.linalg.svd(centred, full_matrices=False)
    P = (U * S)[:, :3]
    residual = targets - P @ torch.linalg.lstsq(P, targets).solution
    expected = float(1 - residual.square().sum() / targets.square().sum())
    assert reduced_linearity(H, Y, 3) == pytest.approx(expected, rel=1e-9)


def test_the_first_layer_of_the_made_model_is_measured_as_by_hand():
    texts = labelled_texts("pos", made=True).part(range(12))
    found = load_text_model("made")
    model = found.model.eval()
    rows = []
    with torch.no_grad():
        for words in texts.words:
            ids = found.encoder([" ".join(words)], return_tensors="pt")["input_ids"]
            H = model.embedding(ids) + model.positions.weight[: ids.shape[1]]
            rows.append(model.layers[0](H)[0, 1:])
    H = torch.cat(rows).double()
    Y = nn.functional.one_hot(torch.tensor([label for of in texts.labels for label in of]), 5).double()
    linearity = linearity_by_layer(found, model, texts, 4)
    assert len(linearity) == 3
    assert linearity[0] == pytest.approx(reduced_linearity(H, Y, 4), rel=1e-4)


def test_the_token_of_a_sentence_is_the_first_or_in_a_causal_model_the_last():
    found = load_text_model("made")
    assert positions(found, ["w1", "w2"], 3, by_word=False) == [0]
    assert positions(found, ["w1", "w2"], 3, by_word=True) == [1, 2]
    causal = type(found)(found.model, found.encoder, causal=True)
    assert positions(causal, ["w1", "w2"], 3, by_word=False) == [2]


def test_fine_tuning_raises_the_linearity_of_the_last_layer():
    texts = labelled_texts("pos", made=True).part(range(40))
    found = load_text_model("made")
    before = linearity_by_layer(found, found.model, texts, 8)
    after = tune(
        found, deepcopy(found.model), texts, epochs=6, rate=2e-2, batch=10, rng=torch.Generator().manual_seed(0),
        measured=texts, components=8,
    )  # fmt: skip
    assert len(after) == 6
    assert after[-1][-1] > before[-1] + 0.1
    assert linearity_by_layer(found, found.model, texts, 8) == before


def test_unknown_tasks_are_named():
    with pytest.raises(ValueError, match="task must be one of sst2, pos, ner, got 'mnli'"):
        labelled_texts("mnli")
