"""Nearest tokens are those of the cosines, computed one by one."""

import pytest
import torch
from torch import nn

from gramian.concepts.directions import LayerDirection
from gramian.concepts.unembedding import nearest_tokens
from tiny_decoder import WORDS, TinyDecoder, WordTokenizer


class Names(WordTokenizer):
    def decode(self, ids, skip_special_tokens=False):
        return super().decode(ids, skip_special_tokens)


def along(vector):
    return LayerDirection("layers.1", vector / vector.norm(), 1.0, torch.zeros(len(vector)), 0.5)


def test_the_row_of_a_word_is_nearest_to_that_word():
    model = TinyDecoder()
    rows = model.head.weight.detach()
    direction = along((rows - rows.mean(0))[WORDS.index("good") + 2])
    found = nearest_tokens(model, direction, tokenizer=Names(), count=3)
    assert found.more[0] == "good"
    assert found.layer == "layers.1"
    centred = (rows - rows.mean(0)).double()
    cosines = [float(row @ direction.vector.double() / row.norm()) for row in centred]
    order = sorted(range(len(cosines)), key=lambda i: cosines[i])
    assert list(found.less) == [Names().decode([i]) for i in order[:3]]


def test_models_without_an_unembedding_of_that_width_have_none():
    assert nearest_tokens(nn.Identity(), along(torch.ones(8)), tokenizer=Names()) is None
    assert nearest_tokens(TinyDecoder(), along(torch.ones(4)), tokenizer=Names()) is None
    with pytest.raises(ValueError, match="count must be at least 1"):
        nearest_tokens(TinyDecoder(), along(torch.ones(8)), tokenizer=Names(), count=0)
