"""Records of layers: in-place operations that follow a layer do not hide it, whatever its output is a view of."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import inspect
from nets.models import seeded

INPUTS = {
    "contiguous": lambda x: x,
    "four dimensions": lambda x: x[:, None].expand(-1, 2, -1, -1).contiguous(),
    "transposed": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "features first": lambda x: x.mT.contiguous().mT,
}
AFTER = {
    "activation": F.relu_,
    "part": lambda z: _scaled_part(z),
    "dropout": lambda z: F.dropout(z, 0.5, training=False, inplace=True).sigmoid_(),
}


def _scaled_part(z):
    z[..., :3] *= 2.0
    return z.add_(1)


class Model(nn.Module):
    def __init__(self, after, bias):
        super().__init__()
        self.a, self.b, self.after = nn.Linear(4, 6, bias=bias), nn.Linear(6, 2), after

    def forward(self, x):
        z = self.after(self.a(x))
        return self.b(z.tanh()).flatten(1, -2).mean(1)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("layout", INPUTS)
def test_a_linear_layer_before_an_in_place_operation_is_measured(layout, after, bias):
    x = INPUTS[layout](torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    function = AFTER[after]
    in_place = seeded(lambda: Model(function, bias))
    copied = seeded(lambda: Model(lambda z: function(z.clone()), bias))
    one, two = inspect(in_place, x), inspect(copied, x)
    assert one.layers == two.layers == ["a", "b"]
    for name in ("agop", "ptk", "agop_centered"):
        np.testing.assert_allclose(one.matrix("a", name), two.matrix("a", name), rtol=1e-10, atol=1e-15)


def test_a_layer_whose_output_is_a_part_of_a_tensor():
    class Cut(nn.Linear):
        def forward(self, x):
            return F.linear(x, torch.cat([self.weight, self.weight]), None)[..., :6] + 0 * self.bias.sum()

    class View(nn.Linear):
        def forward(self, x):
            return F.linear(x, torch.cat([self.weight, self.weight]))[..., :6]

    x = torch.randn(5, 3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    models = []
    for first in (Cut, View):
        model = seeded(lambda: Model(F.relu_, True))
        weight = model.a.weight
        model.a = seeded(lambda first=first: first(4, 6))
        model.a.weight = weight
        models.append(model)
    one, two = (inspect(model, x) for model in models)
    np.testing.assert_allclose(one.matrix("a", "ptk"), two.matrix("a", "ptk"), rtol=1e-10)
