"""Weight matrices by the names and shapes of tensors agree with the normal forms of the modules."""

import pytest
import torch
from torch import nn

from gramian.nets.checkpoints.opening import OpenCheckpoint, open_checkpoint
from gramian.nets.checkpoints.sources import StateDictSource
from gramian.nets.checkpoints.stored_matrices import followed_by, module_matrices, select, stored_matrices
from nets.checkpoints.made import state, write_folder


def test_a_state_dict_has_the_matrices_of_the_module():
    with torch.random.fork_rng():
        model = nn.Sequential()
        model.add_module("embed", nn.Embedding(9, 4))
        model.add_module("linear", nn.Linear(4, 5))
        model.add_module("conv", nn.Conv2d(3, 6, 2))
        model.add_module("norm", nn.LayerNorm(5))
    by_name = {one.layer: one for one in stored_matrices(open_checkpoint(model.state_dict()))[0]}
    for one in module_matrices(model)[0]:
        other = by_name[one.layer]
        assert other.shape == one.shape == tuple(one.read().shape)
        assert torch.equal(other.read(), one.read())
    assert set(by_name) == {"embed", "linear", "conv"}


def test_transposed_layers_of_gpt2():
    given = {"h.0.attn.c_attn.weight": torch.ones(4, 12), "h.0.ln.weight": torch.ones(4)}
    for model_type, shape in (("gpt2", (1, 12, 4)), ("llama", (1, 4, 12))):
        opened = OpenCheckpoint("w", StateDictSource(given), {"model_type": model_type})
        assert stored_matrices(opened)[0][0].shape == shape


def test_experts_are_a_stack_and_kernels_are_flattened():
    given = {"mlp.experts.gate_up_proj": torch.ones(3, 5, 4), "conv.weight": torch.ones(6, 5, 4)}
    found = {one.layer: one for one in stored_matrices(open_checkpoint(given))[0]}
    assert found["mlp.experts.gate_up_proj"].shape == (3, 5, 4)
    assert found["conv"].shape == (1, 6, 20)


def test_tensors_that_are_no_matrices_have_a_reason():
    given = {
        "a": torch.ones(3), "b": torch.tensor(1.0), "c": torch.ones(1, 3, 1), "d": torch.ones(0, 2),
        "e": torch.ones(3, 3, dtype=torch.int8), "f": torch.ones(1, 2),
    }  # fmt: skip
    found, skipped = stored_matrices(open_checkpoint(given))
    assert [one.layer for one in found] == ["f"]
    assert (skipped["a"], skipped["b"], skipped["c"], skipped["d"]) == (
        "a vector", "a number", "a vector", "an empty tensor",
    )  # fmt: skip
    assert "int8" in skipped["e"]


@pytest.mark.parametrize("mark", ["_scale", "_scale_inv"])
@pytest.mark.parametrize("shape", [(), (1,), (6,), (6, 1), (3, 2), (2, 2)])
def test_float8_weights_are_multiplied_by_their_scales(mark, shape):
    rng = torch.Generator().manual_seed(0)
    W = torch.randn(6, 4, generator=rng).to(torch.float8_e4m3fn)
    scale = torch.rand(shape, generator=rng) + 0.5
    (one,), skipped = stored_matrices(open_checkpoint({"a.weight": W, f"a.weight{mark}": scale}))
    assert not skipped
    expected = torch.empty(6, 4)
    rows, columns = (*shape, 1, 1)[:2] if shape else (1, 1)
    for i in range(6):
        for j in range(4):
            at = (i // -(-6 // rows), j // -(-4 // columns))
            factor = scale.reshape(rows, columns)[at]
            expected[i, j] = W[i, j].float() * factor
    assert torch.allclose(one.read()[0].float(), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="has shape"):
        stored_matrices(open_checkpoint({"a.weight": W, f"a.weight{mark}": torch.ones(9, 9)}))[0][0].read()


def test_pairs_of_layers_by_name():
    def pairs(weights):
        return followed_by(stored_matrices(open_checkpoint(weights))[0], list(weights))

    assert pairs(state(blocks=1)) == {"model.layers.0.mlp.up_proj": "model.layers.0.mlp.down_proj"}
    gated = state(blocks=1) | {"model.layers.0.mlp.gate_proj.weight": torch.ones(24, 6)}
    assert pairs(gated) == {}, "a gate multiplies two layers"
    with torch.random.fork_rng():
        plain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 5), nn.LayerNorm(5), nn.Linear(5, 2))
        assert pairs(plain.state_dict()) == {"0": "2"}, "a norm is between 2 and 4"
        inner = nn.Sequential(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), nn.Linear(4, 2))
        assert pairs(inner.state_dict()) == {}
    assert pairs({"0.weight": torch.ones(4, 3), "2.weight": torch.ones(5, 6)}) == {}, "the shapes do not match"


def test_patterns_of_layers():
    found, _ = stored_matrices(open_checkpoint(state()))
    assert [one.layer for one in select(found, "*.q_proj")] == [
        "model.layers.0.self_attn.q_proj",
        "model.layers.1.self_attn.q_proj",
    ]
    with pytest.raises(ValueError, match="'lm_haed', which is no weight matrix; there are"):
        select(found, ["lm_haed"])


def test_layers_of_a_file_are_in_the_order_of_the_network(tmp_path):
    opened = open_checkpoint(write_folder(tmp_path, state(blocks=11)))
    layers = [one.layer for one in stored_matrices(opened)[0]]
    assert (layers[0], layers[-1]) == ("model.embed_tokens", "lm_head")
    numbers = [int(name.split(".")[2]) for name in layers[1:-1]]
    assert numbers == sorted(numbers)
