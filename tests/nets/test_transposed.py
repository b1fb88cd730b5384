"""Transposed convolutions: gradients of patches, and outputs of a size that the call asks for."""

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets import inspect
from gramian.nets.transposed import scattered_rows
from nets.models import seeded


@pytest.mark.parametrize("size", [None, (9, 6), (10, 7)])
def test_outer_products_of_rows_are_the_gradient(size):
    module = seeded(lambda: nn.ConvTranspose2d(4, 6, (3, 2), stride=2, padding=(1, 0), groups=2))
    x = torch.randn(3, 4, 5, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    out = module(x, output_size=size)
    D = torch.randn(out.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    rows = scattered_rows(module, D, tuple(x.shape))
    H = x.movedim(1, -1).reshape(-1, 2, 2)
    found = torch.einsum("ngm,ngk->gkm", rows, H).reshape(module.weight.shape)
    torch.testing.assert_close(found, torch.autograd.grad((out * D).sum(), module.weight)[0])


def test_one_pixel_kernels_are_linear_layers():
    X = torch.randn(6, 4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    up = seeded(lambda: nn.ConvTranspose1d(4, 3, 1))
    plain = seeded(lambda: nn.Conv1d(4, 3, 1))
    plain.weight.data, plain.bias.data = up.weight.data.transpose(0, 1).clone(), up.bias.data
    head = seeded(lambda: nn.Linear(15, 2))
    one, two = (inspect(nn.Sequential(first, nn.Tanh(), nn.Flatten(), head), X) for first in (up, plain))
    for name in ("agop", "ptk", "nfm", "bnfm", "agop_centered"):
        np.testing.assert_allclose(one.matrix("0", name), two.matrix("0", name), rtol=1e-10, atol=1e-14)


def test_a_sample_without_a_batch_dimension():
    class Loop(nn.Module):
        def __init__(self, loop):
            super().__init__()
            self.loop, self.up, self.head = loop, nn.ConvTranspose2d(4, 6, 3, groups=2), nn.Linear(6, 2)

        def forward(self, x):
            z = torch.stack([self.up(one) for one in x]) if self.loop else self.up(x)
            return self.head(z.tanh().mean((2, 3)))

    X = torch.randn(5, 4, 3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    one, two = (inspect(seeded(lambda loop=loop: Loop(loop)), X) for loop in (True, False))
    np.testing.assert_allclose(one.matrix("up", "agop"), two.matrix("up", "agop"), rtol=1e-10, atol=1e-15)
