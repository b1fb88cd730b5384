"""Data, losses and weight decay in every form."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gramian.nets import InspectOptions, inspect
from gramian.nets.losses import resolve_loss
from nets.models import mlp, seeded

G = torch.Generator().manual_seed(5)
X = torch.randn(10, 5, generator=G, dtype=torch.float64)
Y = torch.randn(10, 3, generator=G, dtype=torch.float64)
LABELS = torch.randint(0, 3, (10,), generator=G)


class Dictionary(nn.Module):
    """Takes and returns mappings, and computes its own loss, as Hugging Face models do."""

    def __init__(self):
        super().__init__()
        self.net = mlp()

    def forward(self, x, labels=None, mask=None):
        logits = self.net(x if mask is None else x * mask)
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        (X.numpy(), Y.numpy()),
        [(X[:4], Y[:4]), (X[4:], Y[4:])],
        [[X[:4], Y[:4]], [X[4:], Y[4:]]],
        DataLoader(TensorDataset(X, Y), batch_size=3),
        ({"input": x, "target": y} for x, y in zip(X.split(5), Y.split(5), strict=True)),
    ],
    ids=["tensors", "arrays", "tuples", "lists", "loader", "generator of dicts"],
)
def test_every_form_of_data_gives_the_same(data):
    expected = inspect(seeded(mlp), (X, Y), "mse", weight_decay=0.1)
    report = inspect(seeded(mlp), data, "mse", weight_decay=0.1)
    assert report.settings["samples"] == 10
    for name in ("agop", "enfa", "fact"):
        np.testing.assert_allclose(report.matrix("0", name), expected.matrix("0", name), rtol=1e-9, atol=1e-13)


def test_dictionaries_and_the_models_own_loss():
    model = seeded(Dictionary)
    batches = [
        {"x": X[:4], "labels": LABELS[:4], "mask": None},
        {"x": X[4:], "labels": LABELS[4:], "mask": None},
    ]
    expected = inspect(model.net, (X, LABELS), "cross_entropy", weight_decay=0.1)
    for loss in ("model", "cross_entropy", nn.CrossEntropyLoss()):
        report = inspect(model, batches, loss, weight_decay=0.1)
        np.testing.assert_allclose(report.matrix("net.0", "fact"), expected.matrix("0", "fact"), rtol=1e-9, atol=1e-13)
    with pytest.raises(ValueError, match="do the batches hold labels"):
        inspect(model, [{"x": X}], "model")
    with pytest.raises(ValueError, match="wrap a single dict"):
        inspect(model, batches[0])


def test_unpack_output_and_max_samples():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp()

        def forward(self, x, *, scale):
            return None, scale * self.net(x).T

    report = inspect(
        seeded(Two),
        [{"both": (X, 2.0)}],
        max_samples=7,
        options=InspectOptions(
            unpack=lambda b: ((b["both"][0],), {"scale": b["both"][1]}, None), output=lambda out: out[1].T
        ),
    )
    expected = inspect(seeded(mlp), X[:7])
    np.testing.assert_allclose(report.matrix("net.0", "agop"), 4 * expected.matrix("0", "agop"), rtol=1e-10)
    assert report.settings["samples"] == 7


@pytest.mark.parametrize(
    ("data", "loss", "words"),
    [
        (X, "mse", "hold no target"),
        ((X, Y[:3]), "mse", "must agree"),
        (3, None, "iterable of batches"),
        ([], None, "no batch"),
        ([("a", "b")], None, "unpack="),
        ((X, Y), "huber", "loss must be one of"),
        ((X, Y), lambda f, y: (f - y) ** 2, r"return one loss per sample \(10,\)"),
    ],
)
def test_wrong_data_and_losses_are_explained(data, loss, words):
    with pytest.raises(ValueError, match=words):
        inspect(seeded(mlp), data, loss)


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


COUPLED = [torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.NAdam]


@pytest.mark.parametrize("kind", COUPLED)
def test_coupled_optimizers_give_their_weight_decay(kind):
    model = seeded(mlp)
    by_optimizer = fact_of(model, "mse", Y, kind(model.parameters(), lr=0.1, weight_decay=0.2))
    np.testing.assert_array_equal(by_optimizer, fact_of(model, "mse", Y, 0.2))


def test_weight_decay_by_group_and_by_name():
    model = seeded(mlp)
    groups = [
        {"params": model[0].parameters(), "weight_decay": 0.5},
        {"params": model[2].parameters(), "weight_decay": 0.0},
    ]
    report = inspect(model, (X, Y), "mse", weight_decay=torch.optim.SGD(groups, lr=0.1))
    np.testing.assert_allclose(report.matrix("0", "fact"), fact_of(model, "mse", Y, 0.5))
    for layer, words in (("2", "weight decay is 0"), ("4", "does not train this weight")):
        with pytest.raises(ValueError, match=words):
            report.matrix(layer, "fact")
    named = inspect(model, (X, Y), "mse", weight_decay={"0": 0.5})
    np.testing.assert_array_equal(named.matrix("0", "fact"), report.matrix("0", "fact"))
    with pytest.raises(ValueError, match="no entry for layer '2'"):
        named.matrix("2", "fact")


def test_adamw_uses_its_preconditioner():
    model = seeded(mlp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.3)
    report = inspect(model, (X, Y), "mse", weight_decay=optimizer)
    with pytest.raises(ValueError, match="no state yet"):
        report.matrix("0", "fact")
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(X), Y).backward()
        optimizer.step()
    state = optimizer.state[model[0].weight]
    scale = (state["exp_avg_sq"] / (1 - 0.999**3)).sqrt() + 1e-8
    expected = -(model[0].weight.mT @ (gradient(model, lambda f: F.mse_loss(f, Y)) / scale)) / 0.3
    np.testing.assert_allclose(fact_of(model, "mse", Y, optimizer), expected.detach().numpy(), rtol=1e-9)


def test_optimizers_without_a_known_condition_are_refused():
    model = seeded(mlp)

    class Mine(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"weight_decay": 0.1})

    for optimizer in (
        Mine(model.parameters()),
        torch.optim.NAdam(model.parameters(), decoupled_weight_decay=True),
    ):
        with pytest.raises(ValueError, match="not known"):
            inspect(model, (X, Y), "mse", weight_decay=optimizer)
    with pytest.raises(ValueError, match="maximize"):
        inspect(model, (X, Y), "mse", weight_decay=torch.optim.SGD(model.parameters(), lr=1, maximize=True))
    with pytest.raises(ValueError, match="number ≥ 0"):
        inspect(model, (X, Y), "mse", weight_decay=-1.0)
    report = inspect(model, (X, Y), "mse", weight_decay=torch.optim.LBFGS(model.parameters()))
    with pytest.raises(ValueError, match="has no weight decay"):
        report.matrix("0", "fact")


def test_what_was_not_measured_says_what_to_pass():
    report = inspect(seeded(mlp), X)
    for name, words in [("enfa", "loss="), ("fact", "loss="), ("vcs", "loss="), ("nfm_change", "initial="),
                        ("nonsense", "choose one of")]:  # fmt: skip
        with pytest.raises(ValueError, match=words):
            report.matrix("0", name)
    with pytest.raises(ValueError, match="no weight_decay"):
        inspect(seeded(mlp), (X, Y), "mse").matrix("0", "fact")
    with pytest.raises(ValueError, match="was not measured"):
        report.matrix("9", "nfm")
