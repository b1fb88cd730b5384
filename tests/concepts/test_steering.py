"""Steering adds what its formula says, and leaves nothing behind."""

import os
import signal
from collections import namedtuple

import pytest
import torch
from torch import nn

from gramian.concepts.directions import LayerDirection
from gramian.concepts.steering import auto_layers, choose_directions, shifts_by_layer, steer
from tiny_decoder import TinyDecoder, WordTokenizer


def direction(layer, d=8, seed=0, norm=3.0, auc=0.8):
    vector = torch.randn(d, generator=torch.Generator().manual_seed(seed))
    return LayerDirection(layer, vector / vector.norm(), norm, torch.zeros(d), auc)


def hooks(model):
    return sum(len(module._forward_hooks) for module in model.modules())


@pytest.fixture
def model():
    return TinyDecoder().eval()


@pytest.fixture
def tokens():
    return WordTokenizer()(["the film was very good", "we ate"])


JOY = [direction("layers.0", seed=1), direction("layers.1", seed=2, norm=5.0)]
CALM = [direction("layers.0", seed=3), direction("layers.1", seed=4)]


def by_hand(model, tokens, shifts):
    """The decoder with the shifts written into its forward pass."""
    hidden, mask = model.embed(tokens["input_ids"]), tokens["attention_mask"].float()
    for block, shift in zip(model.layers, shifts, strict=True):
        hidden = block(hidden, mask)[0] + shift
    return model.head(hidden)


def test_each_layer_gets_strength_times_typical_norm_times_vector(model, tokens):
    with torch.no_grad():
        expected = by_hand(model, tokens, [0.25 * one.typical_norm * one.vector for one in JOY])
        with steer(model, [(JOY, 0.25)]) as same:
            assert same is model
            assert torch.equal(model(**tokens).logits, expected)


def test_shifts_of_several_concepts_are_added_and_contexts_nest(model, tokens):
    with torch.no_grad():
        with steer(model, [(JOY, 0.25), (CALM, -0.5)]):
            together = model(**tokens).logits
        with steer(model, [(JOY, 0.25)]):
            with steer(model, [(CALM, -0.5)]):
                nested = model(**tokens).logits
            alone = model(**tokens).logits
        with steer(model, [(JOY, 0.25)]):
            assert torch.equal(model(**tokens).logits, alone)
    torch.testing.assert_close(nested, together)
    assert hooks(model) == 0


def test_strength_0_sets_no_hook_and_is_bit_identical(model, tokens):
    before = model(**tokens).logits
    with steer(model, [(JOY, 0.0), (CALM, 0)]):
        assert hooks(model) == 0
        assert torch.equal(model(**tokens).logits, before)


def test_outputs_afterwards_are_bit_identical(model, tokens):
    before = model(**tokens).logits
    with steer(model, [(JOY, 1.0)]):
        assert not torch.equal(model(**tokens).logits, before)
    assert torch.equal(model(**tokens).logits, before)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit, SystemExit])
def test_no_hook_remains_after_an_exception(model, error):
    def use():
        with steer(model, [(JOY, 1.0)]):
            assert hooks(model) == 2
            raise error

    with pytest.raises(error):
        use()
    assert hooks(model) == 0


def test_no_hook_remains_after_ctrl_c_inside_the_forward_pass(model, tokens, ctrl_c):
    model.layers[1].register_forward_pre_hook(lambda *_: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), steer(model, [(JOY, 1.0)]):
        model(**tokens)
    assert hooks(model) == 0


def test_no_hook_remains_after_a_generator_is_closed(model, tokens):
    def answers():
        with steer(model, [(JOY, 1.0)]):
            while True:
                yield model(**tokens).logits

    running = answers()
    next(running)
    assert hooks(model) == 2
    running.close()
    assert hooks(model) == 0


def test_no_hook_remains_if_one_cannot_be_set(model, monkeypatch):
    def refuse(hook):
        raise RuntimeError("no hooks here")

    monkeypatch.setattr(model.layers[1], "register_forward_hook", refuse)
    with pytest.raises(RuntimeError, match="no hooks"), steer(model, [(JOY, 1.0)]):
        pass
    assert hooks(model) == 0


def test_the_users_own_hooks_stay(model, tokens):
    model.layers[0].register_forward_hook(lambda *_: None)
    with steer(model, [(JOY, 1.0)]):
        model(**tokens)
    assert hooks(model) == 1


def test_the_last_position_alone(model, tokens):
    with torch.no_grad():
        plain = model(**tokens).logits
        with steer(model, [(JOY, 1.0)], positions="last"):
            steered = model(**tokens).logits
        with steer(model, [(JOY, 1.0)]):
            everywhere = model(**tokens).logits
    assert torch.equal(steered[:, :-1], plain[:, :-1])
    assert not torch.equal(steered[:, -1], plain[:, -1])
    assert not torch.equal(steered[:, -1], everywhere[:, -1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_type_of_hidden_states_is_kept(dtype):
    layer = nn.Sequential(nn.Identity())
    with steer(layer, [([direction("0")], 1.0)], layers=["0"]):
        out = layer(torch.zeros(2, 8, dtype=dtype))
    assert out.dtype == dtype
    torch.testing.assert_close(out[0].float(), 3.0 * direction("0").vector, atol=0.02, rtol=0)


def test_outputs_that_are_tensors_or_named_tuples():
    Pair = namedtuple("Pair", ["hidden", "cache"])

    class Layer(nn.Module):
        def forward(self, x):
            return Pair(x, "kept")

    model = nn.Sequential(Layer())
    with steer(model, [([direction("0")], 1.0)]):
        out = model(torch.zeros(1, 8))
    assert isinstance(out, Pair)
    assert out.cache == "kept"
    assert out.hidden.norm() == pytest.approx(3.0)


def test_gradients_pass_through(model, tokens):
    with steer(model, [(JOY, 0.5)]):
        model(**tokens).logits.sum().backward()
    assert model.embed.weight.grad.abs().sum() > 0
    assert all(not one.vector.requires_grad for one in JOY)


@pytest.mark.parametrize(
    ("concepts", "options", "message"),
    [
        ([([direction("layers.7")], 1.0)], {"layers": ["layers.7"]}, "no layer 'layers.7'; the nearest .*'layers.0'"),
        ([(JOY, 1.0)], {"layers": ["layer.1"]}, "no direction for layer 'layer.1'; the nearest .*'layers.1'"),
        ([(JOY, 1.0)], {"layers": "layers.0"}, 'layers must be "auto" or a list'),
        ([(JOY, 1.0)], {"layers": []}, "layers is empty"),
        ([([], 1.0)], {}, "directions is empty"),
        ([(JOY + JOY, 1.0)], {}, "'layers.0' twice"),
        ([(JOY, float("nan"))], {}, "finite number, got nan for concept 0"),
        ([(JOY, 1.0)], {"positions": "first"}, 'positions must be "all" or "last"'),
        ([([direction("layers.0", norm=float("inf"))], 1.0)], {}, "not finite"),
        ([(JOY, 1.0), ([direction("layers.0", d=4)], 1.0)], {}, "different models: layer 'layers.0' has 8 and 4"),
    ],
)
def test_bad_arguments_are_refused(model, concepts, options, message):
    with pytest.raises(ValueError, match=message), steer(model, concepts, **options):
        pass
    assert hooks(model) == 0


def test_a_direction_of_another_model_is_refused_in_the_forward_pass(model, tokens):
    narrow = [direction("layers.0", d=6)]
    with pytest.raises(ValueError, match="6 dimensions and its hidden states have 8"), steer(model, [(narrow, 1.0)]):
        model(**tokens)
    assert hooks(model) == 0


def test_a_module_without_hidden_states_is_refused(model, tokens):
    outer = nn.Sequential(model)
    with pytest.raises(ValueError, match="returns SimpleNamespace"), steer(outer, [([direction("0")], 1.0)]):
        model(**tokens)


def test_auto_takes_the_middle_of_the_depth():
    names = [f"model.layers.{i}" for i in range(30)]
    assert auto_layers(names) == tuple(names[7:24])
    assert auto_layers(names[:3]) == tuple(names[:3])
    blocks = [direction(name) for name in names]
    assert [one.layer for one in choose_directions(blocks)] == names[7:24]
    assert list(shifts_by_layer([(blocks, 1.0)], ["model.layers.29"])) == ["model.layers.29"]


def test_generation_with_a_cache_equals_generation_without():
    transformers = pytest.importorskip("transformers", reason="the cache is that of transformers")
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        llama = transformers.LlamaForCausalLM(config).eval()
    blocks = [direction(f"model.layers.{i}", d=16, seed=i, norm=0.5) for i in range(2)]
    prompt = torch.tensor([[3, 14, 15, 9]])
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    plain = llama.generate(prompt, **options)
    with steer(llama, [(blocks, 1.0)]):
        cached, whole = (llama.generate(prompt, use_cache=cache, **options) for cache in (True, False))
    assert torch.equal(cached, whole)
    assert not torch.equal(cached, plain)
    assert torch.equal(llama.generate(prompt, **options), plain)
    assert hooks(llama) == 0
