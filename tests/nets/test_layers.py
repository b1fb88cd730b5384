"""Layers of a model: wrappers, registered types, selection, and the reasons for modules that are skipped."""

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets import LayerForm, inspect, register_layer
from gramian.nets.layers import find_layers
from nets.models import Block, Residual, mlp, seeded


def data(n=6, d=5):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


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


class Peephole(nn.LSTM):
    """A recurrent module with steps of its own."""

    def forward(self, x):
        return super().forward(2 * x)


def test_skipped_modules_have_reasons():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.used = nn.Linear(5, 6)
            self.unused = nn.Linear(5, 6)
            self.dead = nn.Linear(5, 6)
            self.hidden = nn.Linear(5, 6)
            self.lstm = Peephole(6, 4, batch_first=True)
            self.norm = nn.LayerNorm((1, 4))
            self.gate = nn.Parameter(torch.ones(1, 4))
            self.loud = nn.Embedding(3, 4, max_norm=1.0)

        def forward(self, x):
            self.dead(x)
            with torch.no_grad():
                h = self.hidden(x)
            h = self.norm(self.lstm((self.used(x) + h)[:, None])[0]) + self.loud(
                torch.zeros(len(x), 1, dtype=torch.long)
            )
            return (h * self.gate).flatten(1)

    report = inspect(seeded(Odd), data())
    assert report.layers == ["used"]
    expected = {
        "unused": "not used",
        "dead": "does not reach",
        "hidden": "without gradients",
        "lstm": "not that of a recurrent module of torch",
        "norm": "no weight matrix",
        "gate": "used by 'mul'",
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
    assert inspect(other, data()).layers == ["0.kernel", "2", "4"]
    register_layer(Transposed, LayerForm(parameter="kernel", matrix=lambda module, p: p.mT[None]))
    y = data(6, 3)
    one = inspect(plain, (data(), y), "mse", weight_decay=0.1)
    two = inspect(other, (data(), y), "mse", weight_decay=0.1)
    for name in ("nfm", "agop", "fact", "bfact", "vcs"):
        np.testing.assert_allclose(one.matrix("0", name), two.matrix("0", name), rtol=1e-10, atol=1e-14)
    with pytest.raises(ValueError, match="module_type"):
        register_layer(int, LayerForm(matrix=lambda module, p: p))


def test_layers_are_selected_by_name_pattern_and_function():
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


def test_lazy_layer_is_explained():
    assert "lazy" in find_layers(nn.Sequential(nn.LazyLinear(3)))[1]["0"]


def test_a_convolution_without_a_batch_dimension_is_that_of_the_batch():
    class Loop(nn.Module):
        def __init__(self, loop):
            super().__init__()
            self.loop, self.conv, self.head = loop, nn.Conv2d(4, 6, 3, groups=2), nn.Linear(6, 2)

        def forward(self, x):
            z = torch.stack([self.conv(one) for one in x]) if self.loop else self.conv(x)
            return self.head(z.tanh().mean((2, 3)))

    X = torch.randn(5, 4, 6, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    one, two = (inspect(seeded(lambda loop=loop: Loop(loop)), X) for loop in (True, False))
    for name in ("agop", "ptk"):
        np.testing.assert_allclose(one.matrix("conv", name), two.matrix("conv", name), rtol=1e-10, atol=1e-15)
