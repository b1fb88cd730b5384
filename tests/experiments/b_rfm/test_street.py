"""Fig. 3 and 11: gradients of networks, and shares of a diagonal."""

import torch
from torch.autograd.functional import jacobian

from gramian.experiments.b_rfm.picture_models import bias_free
from gramian.experiments.b_rfm.street import centre_columns, centred_agop_diagonal, top_share


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
