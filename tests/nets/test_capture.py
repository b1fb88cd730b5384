"""The model comes back as it was: hooks, modes, requires_grad, F.linear, generator; wrappers and odd
layers."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import LayerForm, inspect, register_layer
from gramian.nets.capture import Capture
from gramian.nets.layers import find_layers
from nets.models import Block, Residual, mlp, seeded

LINEAR = F.linear


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) + len(m._backward_hooks) for m in model.modules())


def data(n=6, d=5):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def snapshot(model):
    modes = [m.training for m in model.modules()]
    grads = [(p.requires_grad, p.grad) for p in model.parameters()]
    return hooks(model), modes, grads, F.linear is LINEAR


def test_nothing_is_left_behind(case):
    model, X = case
    model.train()
    list(model.modules())[-1].eval()  # a mixed state must come back mixed
    next(model.parameters()).requires_grad_(False)
    before = snapshot(model)
    inspect(model, X)
    assert snapshot(model) == before


class Boom(nn.Module):
    def forward(self, x):
        raise RuntimeError("boom")


@pytest.mark.parametrize("where", ["forward", "attention", "loss", "data", "interrupt"])
def test_an_exception_leaves_no_hook(where):
    if where == "attention":
        model = seeded(Block)
        X = torch.zeros(2, 4, dtype=torch.long)
        model.block.self_attn.register_forward_pre_hook(lambda module, args: None)
        model.block.self_attn.in_proj_bias = None
        model.block.self_attn.embed_dim = 9  # makes the forward pass of attention itself fail
    else:
        model, X = seeded(mlp), data()
    if where == "forward":
        model.append(Boom())

    def loss(f, y):
        raise (KeyboardInterrupt if where == "interrupt" else RuntimeError)("boom")

    def stream():
        yield X, X[:, :3]
        raise RuntimeError("boom")

    before = snapshot(model)
    source = stream() if where == "data" else (X, X[:, :3])
    with pytest.raises((RuntimeError, AssertionError, KeyboardInterrupt)):
        inspect(model, source, loss if where in ("loss", "interrupt") else None)
    assert snapshot(model) == before


def test_an_error_while_registering_leaves_no_hook(monkeypatch):
    model = seeded(mlp)
    layers, _ = find_layers(model)
    calls = iter([True, False])
    original = nn.Module.register_forward_hook

    def failing(self, *args, **kwargs):
        if next(calls):
            return original(self, *args, **kwargs)
        raise RuntimeError("no more hooks")

    monkeypatch.setattr(nn.Module, "register_forward_hook", failing)
    model.train()
    with pytest.raises(RuntimeError, match="no more hooks"), Capture(model, layers):
        pass
    assert hooks(model) == 0
    assert model.training


def test_in_place_activation_gives_the_pre_activation_gradient():
    a = seeded(lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 2)))
    b = seeded(lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=False), nn.Linear(7, 2)))
    one, two = inspect(a, data()), inspect(b, data())
    np.testing.assert_array_equal(one.matrix("0", "ptk"), two.matrix("0", "ptk"))


def test_batch_norm_and_dropout_run_in_eval_mode():
    model = seeded(
        lambda: nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Dropout(0.5), nn.Linear(7, 2))
    )
    model.train()
    running = model[1].running_mean.clone()
    together, alone = inspect(model, data(), batch_size=6), inspect(model, data(), batch_size=1)
    np.testing.assert_allclose(together.matrix("0", "agop"), alone.matrix("0", "agop"), rtol=1e-10)
    assert torch.equal(model[1].running_mean, running)
    assert "no weight matrix" in together.skipped["1"]


@pytest.mark.parametrize("wrap", [nn.DataParallel, lambda m: nn.DataParallel(nn.DataParallel(m))])
def test_data_parallel_is_looked_through(wrap):
    model = seeded(mlp)
    report = inspect(wrap(model), data())
    assert report.layers == ["0", "2", "4"]
    np.testing.assert_array_equal(report.matrix("2", "agop"), inspect(model, data()).matrix("2", "agop"))


def test_any_wrapper_works():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.module = inner

        def forward(self, *args, **kwargs):
            return {"logits": self.module(*args, **kwargs)}

    report = inspect(Wrapper(seeded(Residual)), data())
    assert report.layers == ["module.first", "module.shared", "module.last"]


def test_compiled_model_is_looked_through():
    model = seeded(mlp)
    assert inspect(torch.compile(model), data()).layers == ["0", "2", "4"]


def test_frozen_model_is_measured():
    free, frozen = seeded(mlp), seeded(mlp).requires_grad_(False)
    np.testing.assert_array_equal(
        inspect(free, data()).matrix("0", "agop"), inspect(frozen, data()).matrix("0", "agop")
    )
    assert not any(p.requires_grad for p in frozen.parameters())


def test_works_under_no_grad_and_checkpointing():
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp()

        def forward(self, x):
            return torch.utils.checkpoint.checkpoint(self.net, x, use_reentrant=False)

    import torch.utils.checkpoint

    plain = inspect(seeded(mlp), data())
    with torch.no_grad():
        report = inspect(seeded(Checkpointed), data())
    np.testing.assert_allclose(report.matrix("net.0", "agop"), plain.matrix("0", "agop"), rtol=1e-12)


def test_skipped_modules_have_reasons():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.used = nn.Linear(5, 6)
            self.unused = nn.Linear(5, 6)
            self.dead = nn.Linear(5, 6)
            self.hidden = nn.Linear(5, 6)
            self.lstm = nn.LSTM(6, 4, batch_first=True)
            self.norm = nn.LayerNorm(4)
            self.up = nn.ConvTranspose1d(4, 2, 1)
            self.loud = nn.Embedding(3, 4, max_norm=1.0)

        def forward(self, x):
            self.dead(x)
            with torch.no_grad():
                h = self.hidden(x)
            h = self.norm(self.lstm((self.used(x) + h)[:, None])[0]) + self.loud(
                torch.zeros(len(x), 1, dtype=torch.long)
            )
            return self.up(h.mT).flatten(1)

    report = inspect(seeded(Odd), data())
    assert report.layers == ["used"]
    expected = {
        "unused": "not used",
        "dead": "does not reach",
        "hidden": "without gradients",
        "lstm": "fused call",
        "norm": "no weight matrix",
        "up": "register_layer",
        "loud": "max_norm",
    }
    assert set(report.skipped) == set(expected)
    for name, words in expected.items():
        assert words in report.skipped[name]
        assert words in str(report) or name == "norm"


def test_registered_layer_equals_linear():
    class Transposed(nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.kernel, self.bias = nn.Parameter(linear.weight.detach().mT.clone()), linear.bias

        def forward(self, x):
            return x @ self.kernel + self.bias

    plain = seeded(mlp)
    other = nn.Sequential(Transposed(plain[0]), *plain[1:])
    assert "register_layer" in inspect(other, data()).skipped["0"]
    register_layer(Transposed, LayerForm(parameter="kernel", matrix=lambda module, p: p.mT[None]))
    y = data(6, 3)
    one = inspect(plain, (data(), y), "mse", weight_decay=0.1)
    two = inspect(other, (data(), y), "mse", weight_decay=0.1)
    for name in ("nfm", "agop", "fact", "bfact", "vcs"):
        np.testing.assert_allclose(one.matrix("0", name), two.matrix("0", name), rtol=1e-10, atol=1e-14)
    with pytest.raises(ValueError, match="module_type"):
        register_layer(int, LayerForm(matrix=lambda module, p: p))


def test_parametrised_weight_is_read_but_has_no_fact():
    model = seeded(lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(5, 4)), nn.Linear(4, 3)))
    y = data(6, 3)
    report = inspect(model, (data(), y), "mse", weight_decay=0.1)
    W = model[0].weight.detach()
    np.testing.assert_allclose(report.matrix("0", "nfm"), (W.mT @ W).numpy(), rtol=1e-10)
    K = report.matrix("0", "ptk")
    np.testing.assert_allclose(report.matrix("0", "agop"), W.mT.numpy() @ K @ W.numpy(), rtol=1e-10)
    with pytest.raises(ValueError, match="parametrisation"):
        report.matrix("0", "fact")
    assert report.matrix("1", "fact").shape == (4, 4)
    with pytest.raises(ValueError, match="initial: the weights of"):
        inspect(model, data(), initial=model.state_dict())


def test_tied_weights_have_the_whole_gradient():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.last = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 3)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.last(torch.tanh(self.b(torch.tanh(self.a(x)))))

    model, y = seeded(Tied), data(6, 3)
    report = inspect(model, (data(), y), "mse", weight_decay=0.1)
    G = torch.autograd.grad(F.mse_loss(model(data()), y), model.a.weight)[0]
    for layer in ("a", "b"):
        np.testing.assert_allclose(
            report.matrix(layer, "fact"), -(model.a.weight.mT @ G).detach().numpy() / 0.1, rtol=1e-10
        )
    start = {key: 0.5 * value for key, value in model.state_dict().items()}
    changed = inspect(model, data(), initial=start)
    half = (0.75 * model.a.weight.mT @ model.a.weight).detach().numpy()
    np.testing.assert_allclose(changed.matrix("b", "nfm_change"), half, rtol=1e-10)
    assert changed.rows[0]["double_centered_nfa_cos"] > 0


def test_selecting_layers():
    model = seeded(Block)
    tokens = torch.zeros(3, 4, dtype=torch.long)
    assert inspect(model, tokens, layers="block.*_proj").layers == [
        f"block.self_attn.{p}_proj" for p in ("q", "k", "v", "out")
    ]
    assert inspect(model, tokens, layers=["head", "embed"]).layers == ["embed", "head"]
    assert inspect(model, tokens, layers=lambda name, module: isinstance(module, nn.Linear)).layers == [
        "block.linear1",
        "block.linear2",
        "head",
    ]
    with pytest.raises(ValueError, match=r"'haed'.*head"):
        inspect(model, tokens, layers="haed")
    with pytest.raises(ValueError, match="cannot be measured"):
        inspect(model, tokens, layers="block.norm1")
    with pytest.raises(ValueError, match="selects none"):
        inspect(model, tokens, layers=lambda name, module: False)


def test_depth_counts_the_longest_path():
    report = inspect(seeded(Residual), data())
    assert {entry["layer"]: entry["depth"] for entry in report.rows} == {"first": 4, "shared": 3, "last": 1}


def test_model_that_draws_random_numbers_does_not_advance_the_generator():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(5, 2)

        def forward(self, x):
            return self.a(x + torch.randn_like(x))

    state = torch.get_rng_state()
    inspect(seeded(Noisy), data())
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: nn.ReLU(), "no weight matrix"),
        (lambda: nn.Sequential(nn.Linear(5, 2), nn.Flatten(0)), "first dimension must be"),
    ],
)
def test_models_that_cannot_be_measured_say_so(model, words):
    with pytest.raises(ValueError, match=words):
        inspect(seeded(model), data())


def test_lazy_layer_is_explained():
    assert "lazy" in find_layers(nn.Sequential(nn.LazyLinear(3)))[1]["0"]


def test_non_finite_output_is_refused():
    with pytest.raises(ValueError, match="not finite in batch 0"):
        inspect(seeded(mlp), data() * float("inf"))
