"""Fig. 3 and 11: gradients of networks, and shares of a diagonal."""

import math

import pytest
import torch
from torch.autograd.functional import jacobian

from gramian.experiments.b_rfm.picture_models import bias_free
from gramian.experiments.b_rfm.street import centre_columns, over_network
from gramian.experiments.b_rfm.street_depth import beyond_both, centred_agop_diagonal, comparisons, top_share


def test_the_centred_agop_is_the_covariance_of_jacobians():
    rng = torch.Generator().manual_seed(0)
    net = bias_free((6, 9, 4), rng).double()
    X = torch.randn(11, 6, generator=rng, dtype=torch.float64)
    J = torch.stack([jacobian(net, x) for x in X])
    centred = J - J.mean(0)
    expected = torch.einsum("nci,nci->i", centred, centred) / len(X)
    torch.testing.assert_close(centred_agop_diagonal(net, X, outputs=4), expected)


def test_the_centre_is_half_of_the_columns_and_the_top_share_grows_with_contrast():
    for side in (8, 16, 32):
        mask = centre_columns(side).reshape(side, side, 3)
        assert mask.double().mean() == 0.5
        assert torch.equal(mask, mask.flip(1))
    flat, steep = torch.ones(100), torch.arange(100.0)
    assert abs(top_share(flat) - 0.1) < 1e-6
    assert top_share(steep) > top_share(flat + steep) > top_share(flat)


def test_features_must_do_more_than_the_plain_kernel():
    numbers = {"ntk on features/1": 0.7, "nn/1": 0.4, "ntk/1": 0.6}
    found = beyond_both([{"spec": {"depths": [1]}, "numbers": numbers}])
    assert found == {"ntk on features/beyond both/1": pytest.approx(0.1)}


@pytest.mark.parametrize(("least", "gain"), [(0.5, 0.02), (0.1, math.inf)])
def test_networks_that_are_no_better_than_a_constant_do_not_show_that_depth_does_not_help(least, gain):
    numbers = {"nn/1": least, "nn/2": least + 0.02, "depth/nn": 0.02}
    numbers |= {f"{key}/{depth}": 0.4 for key in ("ntk", "ntk on features") for depth in (1, 2)}
    assert comparisons([{"spec": {"depths": [1, 2]}, "numbers": numbers}])["depth/nn/learned"] == gain


def test_the_machine_on_features_is_compared_with_the_network():
    numbers = {"accuracy/rfm": 0.8, "accuracy/nn": 0.7}
    assert over_network([{"numbers": numbers}]) == {"over network": pytest.approx(0.1)}
