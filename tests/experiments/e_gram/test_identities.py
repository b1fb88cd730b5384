"""The layers of eq. 1 and Theorem 1 are what they say: gradients at patches, and at both uses of a shared weight."""

import torch

from gramian.experiments.e_gram import identities
from gramian.experiments.e_gram.identities import Sizes


def test_the_convolution_on_patches_is_that_of_torch(rng):
    layer = identities.convolution(Sizes(3, 4, 5), rng)
    assert layer.W.shape == (4, 27)
    assert layer.H.shape == layer.V.shape == (3 * 36, 27)
    # every gradient at a patch is Wᵀ times one at the output, so the rows of V lie in the span of W
    residual = layer.V - layer.V @ torch.linalg.pinv(layer.W) @ layer.W
    assert residual.norm() < 1e-12 * layer.V.norm()


def test_the_error_of_the_shift_is_its_second_order(rng):
    layer = identities.dense_layers(Sizes(12, 3, 4), rng)[1]
    expected = 0.25 * (layer.G.mT @ layer.G - layer.V.mT @ layer.V / 12**2)
    torch.testing.assert_close(identities.shift_error(layer, 0.5), expected)


def test_the_total_gradient_contains_the_skip_connection(rng):
    layer, total = identities.tied(Sizes(5, 3, 4), rng)
    assert not torch.allclose(layer.V, total)
    assert identities.equation_error(layer) < 1e-12
