"""Losses: FACT follows the very loss that was trained."""

from functools import partial

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


@pytest.mark.parametrize("loss", ["mse", nn.MSELoss(), F.mse_loss, nn.L1Loss(), nn.BCEWithLogitsLoss()])
def test_flat_targets_beside_one_output(loss):
    """Targets (n,) beside outputs (n, 1), and outputs (n,), are the same problem."""

    def build(flat):
        return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 1), nn.Flatten(0) if flat else nn.Identity())

    y = Y[:, 0].sigmoid()
    reports = [
        inspect(seeded(lambda f=flat: build(f)), (X, target), loss, weight_decay=0.1)
        for flat in (False, True)
        for target in (y[:, None], y, y.float())
    ]
    for report in reports[1:]:
        for name in ("agop", "enfa", "fact"):
            np.testing.assert_allclose(report.matrix("0", name), reports[0].matrix("0", name), rtol=1e-5, atol=1e-9)
        assert report.rows[0]["target_linearity"] == pytest.approx(reports[0].rows[0]["target_linearity"], rel=1e-6)


def test_labels_of_a_small_type_and_targets_of_another_size():
    model = seeded(mlp)
    assert inspect(model, (X, LABELS.int()), "cross_entropy").settings["loss"] > 0
    with pytest.raises(ValueError, match="do not fit outputs"):
        inspect(model, (X, Y[:, :2]), "mse")


TOKEN_LABELS = torch.randint(0, 3, (10, 4), generator=G)
MASKED = torch.where(torch.rand(10, 4, generator=G) < 0.4, -100, TOKEN_LABELS)
MASKED[4:] = torch.where(torch.rand(6, 4, generator=G) < 0.8, -100, MASKED[4:])
MASKED[9] = -100  # a batch of its own with batch_size=3


@pytest.mark.parametrize(
    "loss",
    [
        nn.CrossEntropyLoss(weight=WEIGHTS),
        nn.CrossEntropyLoss(weight=WEIGHTS, label_smoothing=0.1),
        nn.CrossEntropyLoss(ignore_index=1),
        partial(F.cross_entropy, weight=WEIGHTS),
    ],
)
def test_weighted_means_do_not_depend_on_the_batches(loss):
    model = seeded(mlp)
    whole, parts = (inspect(model, (X, LABELS), loss, weight_decay=0.2, batch_size=b) for b in (10, 3))
    expected = -(model[0].weight.mT @ gradient(model, lambda f: loss(f, LABELS))) / 0.2
    np.testing.assert_allclose(parts.matrix("0", "fact"), expected.detach(), rtol=1e-9, atol=1e-13)
    for name in ("fact", "enfa", "vcs"):
        np.testing.assert_allclose(parts.matrix("0", name), whole.matrix("0", name), rtol=1e-9, atol=1e-13)
    assert parts.settings["loss"] == pytest.approx(float(loss(model(X), LABELS).detach()))


def test_padded_labels_of_tokens_do_not_depend_on_the_batches():
    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))

        def forward(self, x):
            return self.net(x[:, None] * torch.arange(1, 5)[:, None]).mT

    model = seeded(Tokens)
    whole, parts = (
        inspect(model, (X, MASKED), "cross_entropy", weight_decay=0.2, batch_size=b, outputs=4) for b in (10, 3)
    )
    G = torch.autograd.grad(F.cross_entropy(model(X), MASKED), model.net[0].weight)[0]
    expected = -(model.net[0].weight.mT @ G).detach() / 0.2
    np.testing.assert_allclose(parts.matrix("net.0", "fact"), expected, rtol=1e-9, atol=1e-13)
    for name in ("fact", "enfa"):
        np.testing.assert_allclose(parts.matrix("net.0", name), whole.matrix("net.0", name), rtol=1e-9, atol=1e-13)


def test_a_masked_loss_of_the_model_needs_one_batch():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(5, 3)

        def forward(self, x, labels):
            f = self.net(x)
            return {"logits": f, "loss": F.cross_entropy(f, labels)}

    labels = LABELS.clone()
    labels[:3] = -100
    batches = [{"x": X[:5], "labels": labels[:5]}, {"x": X[5:], "labels": labels[5:]}]
    model = seeded(Own)
    with pytest.warns(UserWarning, match="pass all samples as one batch"):
        report = inspect(model, batches, "model", weight_decay=0.1)
    with pytest.raises(ValueError, match="pass all samples as one batch"):
        report.matrix("net", "fact")
    one = inspect(model, [{"x": X, "labels": labels}], "model", weight_decay=0.1)
    assert one.matrix("net", "fact").shape == (5, 5)


class Positions(nn.Module):
    """Outputs (n, T, 3), as language models have."""

    def __init__(self, positions):
        super().__init__()
        self.positions = positions
        self.net = nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))

    def forward(self, x):
        return self.net(x[:, None] * torch.arange(1, self.positions + 1)[:, None])


@pytest.mark.parametrize("positions", [3, 4])
@pytest.mark.parametrize("batch_size", [10, 3])
def test_cross_entropy_of_tokens_with_the_classes_last(positions, batch_size):
    """Also where there are as many positions as classes, so that torch would read them the other way round."""
    model, labels = seeded(lambda: Positions(positions)), MASKED[:, :positions]
    report = inspect(model, (X, labels), "cross_entropy", weight_decay=0.2, batch_size=batch_size)
    loss = F.cross_entropy(model(X).flatten(0, 1), labels.flatten())
    G = torch.autograd.grad(loss, model.net[0].weight)[0]
    assert report.settings["loss"] == pytest.approx(float(loss.detach()))
    expected = -(model.net[0].weight.mT @ G).detach() / 0.2
    np.testing.assert_allclose(report.matrix("net.0", "fact"), expected, rtol=1e-9, atol=1e-13)


def test_a_criterion_of_torch_keeps_the_layout_of_torch():
    model, labels = seeded(lambda: Positions(3)), TOKEN_LABELS[:, :3]
    report = inspect(model, (X, labels), nn.CrossEntropyLoss())
    assert report.settings["loss"] == pytest.approx(float(F.cross_entropy(model(X), labels).detach()))
    for loss in (nn.CrossEntropyLoss(), F.cross_entropy, partial(F.cross_entropy, label_smoothing=0.1)):
        with pytest.raises(ValueError, match="pass loss='cross_entropy', which takes classes last"):
            inspect(seeded(lambda: Positions(4)), (X, TOKEN_LABELS), loss)


@pytest.mark.parametrize(
    ("given", "criterion"),
    [
        (partial(F.cross_entropy, reduction="sum"), nn.CrossEntropyLoss(reduction="sum")),
        (partial(F.cross_entropy, weight=WEIGHTS, reduction="sum"), nn.CrossEntropyLoss(WEIGHTS, reduction="sum")),
        (partial(F.cross_entropy, weight=WEIGHTS), nn.CrossEntropyLoss(WEIGHTS)),
        (partial(F.cross_entropy, reduction="none"), nn.CrossEntropyLoss(reduction="none")),
        (partial(partial(F.nll_loss, reduction="sum"), ignore_index=1), nn.NLLLoss(reduction="sum", ignore_index=1)),
        (partial(nn.CrossEntropyLoss(WEIGHTS, reduction="sum")), nn.CrossEntropyLoss(WEIGHTS, reduction="sum")),
    ],
)
@pytest.mark.parametrize("batch_size", [10, 4])
def test_a_partial_function_is_the_criterion_with_these_options(given, criterion, batch_size):
    model = seeded(mlp)
    found, expected = (
        inspect(model, (X, LABELS), loss, weight_decay=0.2, batch_size=batch_size) for loss in (given, criterion)
    )
    assert found.settings["loss"] == pytest.approx(expected.settings["loss"])
    for name in ("fact", "enfa", "vcs"):
        np.testing.assert_allclose(found.matrix("0", name), expected.matrix("0", name), rtol=1e-12)


def test_a_summed_partial_loss_follows_the_sum():
    model = seeded(mlp)
    report = inspect(model, (X, LABELS), partial(F.cross_entropy, reduction="sum"), weight_decay=0.2)
    G = gradient(model, lambda f: F.cross_entropy(f, LABELS, reduction="sum"))
    expected = -(model[0].weight.mT @ G).detach() / 0.2
    np.testing.assert_allclose(report.matrix("0", "fact"), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize(
    "loss",
    [
        partial(F.mse_loss),
        partial(F.huber_loss, delta=0.5),
        nn.PoissonNLLLoss(),
        F.poisson_nll_loss,
        partial(nn.PoissonNLLLoss()),
        F.binary_cross_entropy_with_logits,
        partial(F.binary_cross_entropy_with_logits, pos_weight=torch.tensor(2.0)),
        partial(F.gaussian_nll_loss, var=torch.full((10, 1), 0.5, dtype=torch.float64)),
        F.soft_margin_loss,
    ],
)
def test_flat_targets_do_not_broadcast_beside_one_output(loss):
    model = seeded(lambda: nn.Sequential(nn.Linear(5, 4), nn.Sigmoid(), nn.Linear(4, 1)))
    y = Y[:, 0].sigmoid()
    report = inspect(model, (X, y), loss, weight_decay=0.2)
    value = loss(model(X), y[:, None])
    G = torch.autograd.grad(value, model[0].weight)[0]
    assert report.settings["loss"] == pytest.approx(float(value.detach()))
    expected = -(model[0].weight.mT @ G).detach() / 0.2
    np.testing.assert_allclose(report.matrix("0", "fact"), expected, rtol=1e-9, atol=1e-13)
    with pytest.raises(ValueError, match="do not fit outputs"):
        inspect(model, (X, Y[:, :2]), loss)


def test_cross_entropy_of_probabilities_of_tokens():
    model = seeded(lambda: Positions(4))
    P = torch.softmax(torch.randn(10, 4, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64), 2)
    report = inspect(model, (X, P), "cross_entropy")
    expected = F.cross_entropy(model(X).flatten(0, 1), P.flatten(0, 1))
    assert report.settings["loss"] == pytest.approx(float(expected.detach()))


class TokenCriterion(nn.CrossEntropyLoss):
    def forward(self, output, target):
        return super().forward(output.mT, target)


class VarianceCriterion(nn.GaussianNLLLoss):
    def forward(self, output, target):
        return super().forward(output[:, :1], target[:, None], output[:, 1:].exp())


def test_a_criterion_with_a_forward_of_its_own_takes_the_shapes_that_it_wants():
    model = seeded(lambda: Positions(4))
    report = inspect(model, (X, TOKEN_LABELS), TokenCriterion())
    assert report.settings["loss"] == pytest.approx(float(F.cross_entropy(model(X).mT, TOKEN_LABELS).detach()))
    two = seeded(lambda: nn.Linear(5, 2))
    f = two(X)
    expected = F.gaussian_nll_loss(f[:, :1], X[:, :1], f[:, 1:].exp())
    assert inspect(two, (X, X[:, 0]), VarianceCriterion()).settings["loss"] == pytest.approx(float(expected.detach()))
