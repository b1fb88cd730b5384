"""The matrix by which a layer multiplies, from its outputs for basis vectors."""

import pytest
import torch
from torch import nn

from gramian.nets.effective import effective_output, effective_weight, initial_effective
from gramian.nets.layers import find_layers
from nets.models import seeded


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


class Shifted(nn.Linear):
    def forward(self, x):
        return super().forward(x) + x @ self.weight.sin().mT + 1


CONVOLUTIONS = {
    "stride and padding": (lambda: nn.Conv2d(3, 4, (3, 2), stride=(2, 3), padding=(3, 1)), (3, 9, 8)),
    "same": (lambda: nn.Conv1d(2, 4, 4, padding="same", dilation=2, groups=2), (2, 12)),
    "reflect": (lambda: nn.Conv2d(2, 2, 3, padding=2, padding_mode="reflect", stride=3), (2, 6, 6)),
    "circular": (lambda: nn.Conv1d(4, 4, 3, padding=2, padding_mode="circular", groups=4), (4, 7)),
    "replicate": (lambda: nn.Conv3d(1, 2, 2, padding=1, padding_mode="replicate"), (1, 3, 3, 3)),
    "dilated": (lambda: nn.Conv2d(2, 3, 2, dilation=(2, 3), bias=False), (2, 5, 6)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_the_kernel_of_a_convolution_is_found(name):
    build, shape = CONVOLUTIONS[name]
    module = seeded(build)
    layer = find_layers(module)[0][0]
    x = draw(3, *shape)
    W = effective_weight(layer, (x,), {})
    torch.testing.assert_close(W, layer.weight_matrix())
    torch.testing.assert_close(effective_output(layer, W, 1.0, (x,), {}), module(x).detach())


def test_a_linear_module_with_a_constant():
    module = seeded(lambda: Shifted(4, 3))
    layer, x = find_layers(module)[0][0], draw(5, 4)
    W = effective_weight(layer, (), {"input": x})
    torch.testing.assert_close(W[0], (module.weight + module.weight.sin()).detach())
    torch.testing.assert_close(effective_output(layer, W, 1.0, (x,), {}), module(x).detach())
    start = {f"0.{key}": 2 * value for key, value in module.state_dict().items()}
    W0 = initial_effective(layer, nn.Sequential(module), start)
    torch.testing.assert_close(W0[0], (2 * module.weight + (2 * module.weight).sin()).detach())


def test_modules_and_calls_without_a_matrix():
    layer = find_layers(seeded(lambda: nn.Embedding(4, 3)))[0][0]
    assert effective_weight(layer, (torch.arange(3),), {}) is None
    layer = find_layers(seeded(lambda: nn.Linear(4, 3)))[0][0]
    assert effective_weight(layer, (draw(2, 4), 1), {}) is None
    assert effective_output(layer, None, 1.0, (draw(2, 4), 1), {}) is None
