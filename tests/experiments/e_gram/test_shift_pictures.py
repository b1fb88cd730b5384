"""The diagonal of the AGOP by the tangent kernel, against the gradients themselves."""

import torch

from gramian.experiments.e_gram.shift_pictures import PixelTraining, agop_diagonal, images, train
from gramian.experiments.e_gram.small_nets import perceptron
from gramian.nets import inspect


def test_the_diagonal_of_the_agop_is_that_of_inspect(rng):
    model = perceptron((6, 8, 3), "gelu", rng)
    X = torch.randn(40, 6, generator=rng)
    expected = inspect(model, X, layers=["0"]).matrix("0", "agop").diagonal().copy()
    found = agop_diagonal(model, X, block=7)
    torch.testing.assert_close(found, torch.from_numpy(expected).float(), rtol=1e-4, atol=1e-7)


def test_the_sum_follows_the_change_of_the_gram_matrix():
    model, shift, initial, data, used = train(PixelTraining(200, data="digits", width=16, epochs=2, rate=0.01), seed=0)
    W = model[0].weight.detach()
    change = (W.square().sum(0) - initial.square().sum(0)).double()
    assert len(used) == 200
    assert data is images("digits")
    assert float((shift - change).norm() / change.norm()) < 0.02
