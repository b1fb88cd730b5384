"""The neural tangent kernel against finite networks."""

import itertools
import math

import pytest
import torch

from gramian.kernels import NTK


@pytest.mark.parametrize("depth", [1, 3])
def test_ntk_equals_a_wide_network(depth):
    """The empirical tangent kernel of a finite network of He-initialised layers, averaged over draws."""
    rng = torch.Generator().manual_seed(1)
    X = torch.randn(4, 3, generator=rng, dtype=torch.float64)
    width, draws = 512, 12
    total = torch.zeros(4, 4, dtype=torch.float64)
    for _ in range(draws):
        sizes = [3, *[width] * depth, 1]
        weights = [
            torch.randn(o, i, generator=rng, dtype=torch.float64).requires_grad_(True)
            for i, o in itertools.pairwise(sizes)
        ]
        rows = []
        for x in X:
            h = x
            for layer, W in enumerate(weights):
                last = layer == depth
                # the first layer reads the data itself, later ones an average over their width
                h = W @ h / math.sqrt(1 if layer == 0 else width)
                h = h if last else math.sqrt(2) * torch.relu(h)
            rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(h.squeeze(), weights)]))
        J = torch.stack(rows)
        total += J @ J.T
    torch.testing.assert_close(total / draws, NTK(depth)(X), rtol=0.12, atol=0.12 * float(NTK(depth)(X).max()))
