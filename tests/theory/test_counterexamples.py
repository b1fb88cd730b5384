"""Networks for which the ansatz fails (paper C, section 4)."""

import math

import pytest
import torch
from torch.testing import assert_close

from gramian.core import cosine, psd_power
from gramian.features import agop, nfm
from gramian.theory import relu_pair, relu_pair_egop, relu_pair_with_silent_neuron, ripple, ripple_egop

F64 = torch.float64


def square(n, half_width, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return half_width * (2 * torch.rand(n, 2, generator=rng, dtype=F64) - 1)


@pytest.mark.parametrize("scales", [(1.0, 1.0), (3.0, 0.5)])
def test_every_rescaling_is_the_same_function_with_the_right_gradient(scales):
    X = square(50, 1.0).requires_grad_()
    net = relu_pair(scales)
    out = net(X)
    assert_close(out, X.relu().sum(1))
    (G,) = torch.autograd.grad(out.sum(), X)
    assert_close(net.gradients(X.detach())[:, 0], G)


def test_egop_by_sampling():
    """40,000 points: an entry is a probability with standard error below 0.0025."""
    X = square(40_000, 1.0, seed=1)
    assert_close(agop(relu_pair().gradients(X)), relu_pair_egop(), atol=0.0125, rtol=0)


@pytest.mark.parametrize("power", [0.1, 1 / 3, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("scales", [(1.0, 1.0), (3.0, 0.5)])
def test_no_power_of_the_agop_is_proportional(scales, power):
    """``WᵀW`` is diagonal for every rescaling; no power of the AGOP is."""
    gram, A = nfm(relu_pair(scales).W), psd_power(relu_pair_egop(), power)
    assert gram[0, 1] == 0
    assert A[0, 1] / A[0, 0] > 0.04 * min(1.0, power / 0.1)
    assert cosine(gram, A) < 1 - 1e-3


def test_silent_neuron_restores_it():
    net, X = relu_pair_with_silent_neuron(), square(30, 1.0)
    assert_close(net(X), relu_pair()(X))
    assert_close(nfm(net.W), 4 * relu_pair_egop())


def test_negative_scale_is_refused():
    with pytest.raises(ValueError, match="positive"):
        relu_pair((-1.0, 1.0))


@pytest.mark.parametrize("frequency", [1, 3])
def test_ripple_egop_by_autograd(frequency):
    """Midpoint rule over a period: exact for a trigonometric polynomial of low degree."""
    grid = (torch.arange(2000, dtype=F64) + 0.5) / 2000 * 2 * math.pi - math.pi
    X = torch.stack([grid, grid.flip(0)], dim=1).requires_grad_()
    (G,) = torch.autograd.grad(ripple(X, frequency).sum(), X)
    assert_close(agop(G[:, None]), ripple_egop(frequency), atol=1e-10, rtol=0)


def test_good_fit_with_vanishing_alignment():
    fit_egop = torch.diag(torch.tensor([0.0, 1.0], dtype=F64))
    X = square(20_000, math.pi, seed=2)
    errors, cosines = [], []
    for n in (1, 4, 16):
        errors.append((ripple(X, n) - X[:, 1]).abs().mean().item())
        cosines.append(cosine(fit_egop, ripple_egop(n)))
        assert errors[-1] < 1 / n
        assert cosines[-1] == pytest.approx((1 + n**4 / 4) ** -0.5)
    assert errors == sorted(errors, reverse=True)
    assert cosines[-1] < 0.01
    with pytest.raises(ValueError, match="frequency"):
        ripple_egop(0)
