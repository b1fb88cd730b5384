"""Losses: FACT follows the very loss that was trained."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import inspect
from gramian.nets.losses import resolve_loss
from nets.models import mlp, seeded

G = torch.Generator().manual_seed(5)
X = torch.randn(10, 5, generator=G, dtype=torch.float64)
Y = torch.randn(10, 3, generator=G, dtype=torch.float64)
LABELS = torch.randint(0, 3, (10,), generator=G)


def test_a_loss_that_is_not_callable_is_explained():
    with pytest.raises(ValueError, match="loss must be a name"):
        resolve_loss(3)


def gradient(model, loss):
    return torch.autograd.grad(loss(model(X)), model[0].weight)[0]


def fact_of(model, loss, target, lam=0.2, batch_size=256):
    return inspect(model, (X, target), loss, weight_decay=lam, batch_size=batch_size).matrix("0", "fact")


WEIGHTS = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)


@pytest.mark.parametrize(
    ("loss", "trained", "target"),
    [
        ("mse", lambda f: F.mse_loss(f, Y), Y),
        (nn.MSELoss(), lambda f: F.mse_loss(f, Y), Y),
        (nn.MSELoss(reduction="sum"), lambda f: (f - Y).square().sum(), Y),
        (F.l1_loss, lambda f: F.l1_loss(f, Y), Y),
        (lambda f, y: (f - y).square().sum(1), lambda f: (f - Y).square().sum(1).mean(), Y),
        ("cross_entropy", lambda f: F.cross_entropy(f, LABELS), LABELS),
        (nn.CrossEntropyLoss(weight=WEIGHTS), lambda f: F.cross_entropy(f, LABELS, WEIGHTS), LABELS),
        (
            nn.CrossEntropyLoss(label_smoothing=0.1),
            lambda f: F.cross_entropy(f, LABELS, label_smoothing=0.1),
            LABELS,
        ),
        (nn.CrossEntropyLoss(reduction="none"), lambda f: F.cross_entropy(f, LABELS), LABELS),
    ],
)
def test_fact_follows_the_loss_that_was_trained(loss, trained, target):
    model = seeded(mlp)
    expected = -(model[0].weight.mT @ gradient(model, trained)) / 0.2
    np.testing.assert_allclose(fact_of(model, loss, target), expected.detach().numpy(), rtol=1e-9, atol=1e-13)


def test_a_summed_loss_is_averaged_over_batches():
    """With reduction="sum" a training step sees one batch's sum, so the objective is the mean over
    batches."""
    model = seeded(mlp)
    per_batch = [gradient(model, lambda f, s=s: (f[s] - Y[s]).square().sum()) for s in (slice(0, 5), slice(5, 10))]
    expected = -(model[0].weight.mT @ (sum(per_batch) / 2)) / 0.2
    found = fact_of(model, nn.MSELoss(reduction="sum"), Y, batch_size=5)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-9, atol=1e-13)
