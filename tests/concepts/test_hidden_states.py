"""Hooks are removed, modes restored, and nothing after the last layer of interest is computed."""

import pytest
import torch

from gramian.concepts.hidden_states import hidden_states
from tiny_reader import Reader

IDS = torch.tensor([[97, 98, 99], [97, 0, 0]])
MASK = torch.tensor([[1, 1, 1], [1, 0, 0]])


def hooks(model):
    return sum(len(module._forward_hooks) for module in model.modules())


def test_the_forward_pass_ends_early_and_leaves_the_model_as_it_was():
    model = Reader()
    model.blocks[1].eval()
    modes = [module.training for module in model.modules()]
    model.blocks[2].forward = model.head.forward = None  # calling either would raise
    found = hidden_states(model, IDS, MASK, ["blocks.0", "blocks.1"])
    assert {name: tuple(hidden.shape) for name, hidden in found.items()} == dict.fromkeys(found, (2, 3, 8))
    assert not any(hidden.requires_grad for hidden in found.values())
    assert [module.training for module in model.modules()] == modes
    assert hooks(model) == 0


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_no_hook_remains_after_an_error(error):
    def fail(h, mask):
        raise error

    model = Reader()
    model.blocks[1].forward = fail
    with pytest.raises(error):
        hidden_states(model, IDS, MASK, ["blocks.0", "blocks.2"])
    assert hooks(model) == 0
    assert model.training


def test_outputs_that_are_no_hidden_states_are_refused():
    model = Reader()
    with pytest.raises(ValueError, match="does not use blocks"):
        hidden_states(model, IDS, MASK, ["head", "blocks"])
    model.blocks[0].forward = lambda h, mask: (h.mean(dim=1, keepdim=True),)
    with pytest.raises(ValueError, match=r"no hidden state of shape .* but \(2, 1, 8\)"):
        hidden_states(model, IDS, MASK, ["blocks.0"])
    assert hooks(model) == 0
