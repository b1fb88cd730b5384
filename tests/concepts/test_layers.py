"""Blocks are found by their common type, and layers by name or number."""

import pytest
from torch import nn

from gramian.concepts import block_names
from gramian.concepts.layers import resolve_layers
from tiny_reader import Reader


def test_the_largest_list_of_one_type_is_that_of_the_blocks():
    model = Reader()
    model.adapters = nn.ModuleList(nn.PReLU() for _ in range(3))  # as many, with fewer parameters
    model.mixed = nn.ModuleList([nn.Identity(), nn.ReLU(), nn.ReLU(), nn.ReLU()])
    assert block_names(model) == ("blocks.0", "blocks.1", "blocks.2")
    assert resolve_layers(model) == block_names(model)
    assert resolve_layers(model, [0, "head", -1]) == ("blocks.0", "head", "blocks.2")
    assert resolve_layers(model, "head") == ("head",)


def test_bad_layers_are_named():
    with pytest.raises(ValueError, match=r"no nn\.ModuleList"):
        block_names(nn.PReLU())
    for layers, words in (([], "at least one"), ([0, "blocks.0"], "distinct"), ([7], "no block 7"), ("x", "'x'")):
        with pytest.raises(ValueError, match=words):
            resolve_layers(Reader(), layers)
