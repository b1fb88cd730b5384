"""Networks of the pictures."""

import numpy as np
import pytest
import torch

from gramian.experiments.b_rfm.picture_models import (
    NetworkTraining,
    bias_free,
    first_weight,
    gram,
    gram_diagonal,
    train_network,
)


@pytest.fixture
def rows():
    rng = torch.Generator().manual_seed(0)
    X = torch.rand(12, 5, generator=rng, dtype=torch.float64)
    return X, torch.nn.functional.one_hot((X[:, 0] > 0.5).long(), 2).double()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training_lowers_the_loss_and_depends_on_the_generator_only(rows, optimizer):
    X, Y = (part.float() for part in rows)
    fit = NetworkTraining(hidden=2, width=16, optimizer=optimizer, rate=0.05, batch=4, epochs=40)
    one, two = (train_network(X, Y, fit, torch.Generator().manual_seed(3)) for _ in range(2))
    start = bias_free((5, 16, 16, 2), torch.Generator().manual_seed(3))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    loss = [float((model(X) - Y).detach().square().mean()) for model in (start, one)]
    assert loss[1] < 0.8 * loss[0]
    seen = []
    train_network(X, Y, fit, torch.Generator().manual_seed(3), lambda epoch, _: seen.append(epoch))
    assert seen == list(range(41))


def test_the_first_layer_has_the_given_spread_and_gram_its_diagonal():
    net = bias_free((200, 300, 2), torch.Generator().manual_seed(0), first_std=5e-3)
    assert float(first_weight(net).std()) == pytest.approx(5e-3, rel=0.02)
    np.testing.assert_allclose(gram(net).diagonal().numpy(), gram_diagonal(net).numpy(), rtol=1e-4)
