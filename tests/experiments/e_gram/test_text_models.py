"""Models of Fig. 11: words and their first pieces, models with random weights, and a clear end without weights."""

import pytest
import torch

from gramian.experiments.e_gram.text_models import MadeEncoder, WordEncoder, load_text_model, redrawn


def test_starts_are_the_first_pieces_of_the_words():
    encoder = WordEncoder(lambda word: [len(word)] * len(word), before=(99,), after=(98,))
    words = ["one", "three", "a"]
    ids = encoder([" ".join(words)], return_tensors="pt")["input_ids"][0]
    assert ids.tolist() == [99, 3, 3, 3, 5, 5, 5, 5, 5, 1, 98]
    assert [int(ids[at]) for at in encoder.starts(words)] == [3, 5, 1]
    with pytest.raises(ValueError, match="no token for ''"):
        encoder.starts(["a", ""])


def test_a_random_copy_leaves_the_old_one_and_has_the_spread():
    model = MadeEncoder()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    twin = redrawn(model, torch.Generator().manual_seed(1), spread=0.02)
    for name, p in model.named_parameters():
        assert torch.equal(p, before[name])
    weights = torch.cat([p.detach().flatten() for p in twin.parameters() if p.ndim > 1])
    assert float(weights.std()) == pytest.approx(0.02, rel=0.05)
    assert {float(p.detach().unique()) for p in twin.parameters() if p.ndim == 1} == {0.0, 1.0}


def test_padding_does_not_change_the_made_model():
    model = MadeEncoder().eval()
    ids = torch.tensor([[0, 3, 4, 9]])
    with torch.no_grad():
        alone = model(ids[:, :3], torch.ones(1, 3, dtype=torch.long))
        padded = model(ids, torch.tensor([[1, 1, 1, 0]]))
    torch.testing.assert_close(padded[:, :3], alone, rtol=1e-4, atol=1e-5)


def test_weights_that_are_absent_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAMIAN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"there is no models/all-MiniLM-L6-v2/config\.json"):
        load_text_model("minilm")
    with pytest.raises(ValueError, match="name must be one of made, minilm, smollm2, got 'bert'"):
        load_text_model("bert")
