"""Options of kernels, and devices."""

import pytest
import torch

import twins
from gramian.kernels import NTK, Exponential, Laplace, Lp, Matern, Polynomial, as_metric


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Laplace(-1.0), "bandwidth"),
        (lambda: Laplace("medium"), "bandwidth"),
        (lambda: Laplace(1.0, bandwidth_scale=0.0), "bandwidth_scale"),
        (lambda: Exponential(1.0, 2.5), "exponent"),
        (lambda: Matern(1.0, 0.5), "nu"),
        (lambda: Lp(1.0, 1.0, 1.5), "exponent"),
        (lambda: NTK(6), "depth"),
        (lambda: as_metric(torch.tensor([float("nan")])), "finite"),
        (lambda: Lp(1.0)(torch.ones(2, 2), metric=twins.metric("full", 2, torch.Generator())), "diagonal=True"),
        (lambda: Laplace()(torch.ones(2, 2)), "with_bandwidth"),
        (lambda: Laplace().with_params(width=1.0), "no option 'width'"),
    ],
)
def test_invalid_options_are_named(make, word):
    with pytest.raises(ValueError, match=word):
        make()


def test_nothing_needs_a_particular_device():
    """Values and gradients run on the meta device: no step reads a number where shapes would do... except distances,
    whose care for near pairs depends on the data; inner-product kernels have no such step."""
    X = torch.empty(10, 3, device="meta")
    x = Polynomial(2).prepare(X, twins.k.Identity(3, "meta"))
    assert Polynomial(2).block(x, x).device.type == "meta"
    assert Polynomial(2).gradient(x, x, torch.empty(10, 2, device="meta")).shape == (10, 2, 3)
