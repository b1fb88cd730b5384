"""Layers whose forward method or hooks change the output: measured through a known factor, or skipped with a reason."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import inspect
from nets.models import seeded

X = torch.randn(32, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
TOKENS = torch.randint(0, 9, (12, 4), generator=torch.Generator().manual_seed(1))


class Bit(nn.Linear):
    def forward(self, x):
        return F.linear(x, self.weight.sign() * self.weight.abs().mean(), self.bias)


class Lora(nn.Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.A, self.B = nn.Parameter(torch.randn(2, inputs)), nn.Parameter(torch.randn(outputs, 2))

    def forward(self, x):
        return super().forward(x) + x @ self.A.T @ self.B.T


class Normalised(nn.Linear):
    """A factor that depends on the weight: the gradient of the weight is not that of the normal form."""

    def forward(self, x):
        return super().forward(x) / self.weight.norm()


class Gated(nn.Linear):
    """More arguments than the class it derives from."""

    def forward(self, x, gate):
        return super().forward(x) * gate


class Scaled(nn.Linear):
    def forward(self, x):
        return 3 * super().forward(x)


class ScaledEmbedding(nn.Embedding):
    def forward(self, ids):
        return super().forward(ids) * self.embedding_dim**0.5


class Standardised(nn.Conv2d):
    def forward(self, x):
        W = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return self._conv_forward(x, W / W.std((1, 2, 3), keepdim=True), self.bias)


def network(first):
    return nn.Sequential(first, nn.Tanh(), nn.Linear(6, 2))


def input_agop(model):
    J = torch.stack([torch.autograd.functional.jacobian(lambda x: model(x[None])[0], x) for x in X])
    return (torch.einsum("nck,ncl->kl", J, J) / len(X)).numpy()


class Clipped(nn.Linear):
    """Not linear in its input."""

    def forward(self, x):
        return super().forward(x.clamp(-1, 1))


class LateClipped(Lora):
    """Linear for small inputs only."""

    def forward(self, x):
        return super().forward(x.clamp(-1, 1))


class Circular(nn.Conv1d):
    """A low-rank update of a grouped convolution with circular padding."""

    def __init__(self):
        super().__init__(4, 6, 3, stride=2, padding=2, groups=2, padding_mode="circular")
        self.down, self.up = nn.Parameter(torch.randn(2, 6)), nn.Parameter(torch.randn(6, 2))

    def forward(self, x):
        return self._conv_forward(x, self.weight + (self.up @ self.down).reshape(self.weight.shape), self.bias)


@pytest.mark.parametrize("layer", [Bit, Lora, Normalised])
def test_a_linear_forward_method_of_its_own_is_measured_through_its_effective_weight(layer):
    model = seeded(lambda: network(layer(5, 6)))
    report = inspect(model, (X, X[:, :2]), "mse", weight_decay=0.1, batch_size=5)
    assert report.record("0").kind == f"{layer.__name__}, effective weight"
    np.testing.assert_allclose(report.matrix("0", "agop"), input_agop(model), rtol=1e-10, atol=1e-14)
    W = model[0](torch.eye(5, dtype=torch.float64)) - model[0](torch.zeros(1, 5, dtype=torch.float64))
    np.testing.assert_allclose(report.matrix("0", "nfm"), (W @ W.mT).detach(), rtol=1e-10)
    assert np.isfinite(report.matrix("0", "enfa")).all()
    with pytest.raises(ValueError, match="forward method computes"):
        report.matrix("0", "fact")
    with pytest.raises(ValueError, match="no parameter"):
        report.matrix("0", "vcs")
    assert np.isnan(report.rows[0]["fact_cos"])


def test_initial_weights_of_a_low_rank_update_are_effective_too():
    model, start = (seeded(lambda: network(Lora(5, 6)), seed=seed) for seed in (0, 3))
    report = inspect(model, X, initial=start)
    W0 = start[0].weight + start[0].B @ start[0].A
    np.testing.assert_allclose(report.matrix("0", "nfm_initial"), (W0.mT @ W0).detach(), rtol=1e-10)


@pytest.mark.parametrize(("build", "shape"), [(lambda: Standardised(2, 3, 3), (2, 5, 5)), (Circular, (4, 7))])
def test_a_convolution_with_an_effective_weight_equals_a_plain_one(build, shape):
    first = seeded(build)
    plain = seeded(lambda: type(first).__mro__[1](
        first.in_channels, first.out_channels, first.kernel_size, first.stride, first.padding, first.dilation,
        first.groups, padding_mode=first.padding_mode,
    ))  # fmt: skip
    inputs = torch.randn(6, *shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.no_grad():
        if isinstance(first, Standardised):
            W = first.weight - first.weight.mean((1, 2, 3), keepdim=True)
            plain.weight.copy_(W / W.std((1, 2, 3), keepdim=True))
        else:
            plain.weight.copy_(first.weight + (first.up @ first.down).reshape(first.weight.shape))
        plain.bias.copy_(first.bias)
        features = plain(inputs).flatten(1).shape[1]
    head = seeded(lambda: nn.Linear(features, 2))
    one, two = (inspect(nn.Sequential(conv, nn.Tanh(), nn.Flatten(), head), inputs) for conv in (first, plain))
    for name in ("agop", "ptk", "nfm", "agop_centered"):
        np.testing.assert_allclose(one.matrix("0", name), two.matrix("0", name), rtol=1e-9, atol=1e-12)


def test_a_forward_method_that_is_not_linear_is_skipped_with_a_reason():
    report = inspect(seeded(lambda: network(Clipped(5, 6))), X)
    assert report.layers == ["2"]
    assert "not that of Linear with its weight" in report.skipped["0"]


def test_a_layer_that_is_linear_on_the_first_batch_only_is_skipped():
    small = torch.cat([0.1 * X[:8].clamp(-2, 2), X[8:]])
    report = inspect(seeded(lambda: network(LateClipped(5, 6))), small, batch_size=8)
    assert "not that of Linear with its weight" in report.skipped["0"]


def test_arguments_that_only_the_subclass_takes_are_skipped():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Gated(5, 6), nn.Linear(6, 2)

        def forward(self, x):
            return self.b(self.a(x, x[:, :1]))

    assert list(inspect(seeded(Model), X).skipped) == ["a"]


@pytest.mark.parametrize("how", ["subclass", "hook", "steering", "nonlinear hook"])
@pytest.mark.parametrize("batch_size", [32, 1])
def test_a_constant_factor_and_any_hook_are_measured(how, batch_size):
    model = seeded(lambda: network(Scaled(5, 6) if how == "subclass" else nn.Linear(5, 6)))
    if how == "hook":
        model[0].register_forward_hook(lambda module, args, output: 3 * output)
    if how == "steering":
        model[0].register_forward_hook(lambda module, args, output: output + torch.arange(6))
    if how == "nonlinear hook":
        model[0].register_forward_hook(lambda module, args, output: output.sin() * output.norm(dim=1, keepdim=True))
    report = inspect(model, X, batch_size=batch_size)
    np.testing.assert_allclose(report.matrix("0", "agop"), input_agop(model), rtol=1e-10, atol=1e-14)
    assert report.record("0").kind == ("Scaled" if how == "subclass" else "Linear")


def test_fact_of_a_scaled_layer_follows_its_own_weight():
    model, y = seeded(lambda: network(Scaled(5, 6))), X[:, :2].tanh()
    report = inspect(model, (X, y), "mse", weight_decay=0.1)
    G = torch.autograd.grad(F.mse_loss(model(X), y), model[0].weight)[0]
    np.testing.assert_allclose(report.matrix("0", "fact"), -10 * (model[0].weight.mT @ G).detach(), rtol=1e-10)


def test_a_scaled_embedding_equals_an_embedding_followed_by_the_factor():
    class Model(nn.Module):
        def __init__(self, table, factor):
            super().__init__()
            self.table, self.factor, self.head = table, factor, nn.Linear(6, 2)

        def forward(self, ids):
            return self.head((self.factor * self.table(ids)).mean(1).tanh())

    scaled = seeded(lambda: Model(ScaledEmbedding(9, 6), 1.0))
    plain = seeded(lambda: Model(nn.Embedding(9, 6), 6**0.5))
    for batch_size in (12, 1):
        one, two = inspect(scaled, TOKENS, batch_size=batch_size), inspect(plain, TOKENS)
        for name in ("agop", "ptk", "nfm"):
            np.testing.assert_allclose(one.matrix("table", name), two.matrix("table", name), rtol=1e-10)
