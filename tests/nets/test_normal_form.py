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


@pytest.mark.parametrize("layer", [Bit, Lora, Normalised])
def test_a_forward_method_of_its_own_is_skipped_with_a_reason(layer):
    report = inspect(seeded(lambda: network(layer(5, 6))), X)
    assert report.layers == ["2"]
    assert "not that of Linear with its weight" in report.skipped["0"]


def test_a_weight_standardised_convolution_is_skipped():
    model = seeded(lambda: nn.Sequential(Standardised(2, 3, 3), nn.Flatten(), nn.Linear(27, 2)))
    report = inspect(model, X[:, :2, None, None].expand(-1, -1, 5, 5) * torch.arange(1, 6))
    assert "not that of Conv2d" in report.skipped["0"]


def test_arguments_that_only_the_subclass_takes_are_skipped():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Gated(5, 6), nn.Linear(6, 2)

        def forward(self, x):
            return self.b(self.a(x, x[:, :1]))

    assert list(inspect(seeded(Model), X).skipped) == ["a"]


@pytest.mark.parametrize("how", ["subclass", "hook", "steering"])
def test_a_constant_factor_or_offset_is_measured(how):
    model = seeded(lambda: network(Scaled(5, 6) if how == "subclass" else nn.Linear(5, 6)))
    if how == "hook":
        model[0].register_forward_hook(lambda module, args, output: 3 * output)
    if how == "steering":
        model[0].register_forward_hook(lambda module, args, output: output + torch.arange(6))
    report = inspect(model, X)
    np.testing.assert_allclose(report.matrix("0", "agop"), input_agop(model), rtol=1e-10, atol=1e-14)


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
    one, two = inspect(scaled, TOKENS), inspect(plain, TOKENS)
    for name in ("agop", "ptk", "nfm"):
        np.testing.assert_allclose(one.matrix("table", name), two.matrix("table", name), rtol=1e-10)
