"""Data in every form."""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gramian.nets import InspectOptions, inspect
from gramian.nets.batches import Batch, batches, output_tensor
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


class BagModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(9, 4), nn.Linear(4, 2)

    def forward(self, ids, offsets=None, weights=None):
        return self.head(self.bag(ids, offsets, weights).tanh())


def test_bags_with_offsets_equal_bags_as_rows():
    ids = torch.randint(0, 9, (6, 3), generator=torch.Generator().manual_seed(1))
    offsets, labels = torch.arange(0, 18, 3), torch.arange(6) % 2
    model = seeded(BagModel)
    rows = inspect(model, (ids, labels), "cross_entropy", weight_decay=0.1)
    flat = [
        inspect(model, [(ids.flatten(), offsets, labels)], "cross_entropy", weight_decay=0.1),
        inspect(
            model,
            [(ids.flatten(), offsets, labels)],
            "cross_entropy",
            weight_decay=0.1,
            options=InspectOptions(unpack=lambda batch: (batch[:2], {}, batch[2], 6)),
        ),
    ]
    for report in flat:
        for name in ("agop", "ptk", "enfa", "fact", "vcs"):
            np.testing.assert_allclose(report.matrix("bag", name), rows.matrix("bag", name), rtol=1e-10, atol=1e-14)


def test_the_number_of_samples_can_be_stated():
    ids, offsets = torch.arange(8), torch.tensor([0, 3, 5])
    options = InspectOptions(unpack=lambda batch: (batch, {}, None, 3))
    report = inspect(seeded(BagModel), [(ids, offsets)], options=options)
    assert report.settings["samples"] == 3
    with pytest.raises(ValueError, match="unpack returned 2 values"):
        inspect(seeded(BagModel), [(ids, offsets)], options=InspectOptions(unpack=lambda batch: (batch, {})))


def test_samples_with_offsets_are_not_torn_apart():
    ids, offsets, y = torch.arange(8), torch.tensor([0, 3, 5]), torch.zeros(3)
    assert [batch.size for batch in batches([(ids, offsets, y)] * 2, max_samples=4)] == [3]


def test_padding_masks_are_read():
    mask = torch.tensor([[1, 0], [1, 1]])
    batch = next(iter(batches([{"x": torch.zeros(2, 2, 3), "attention_mask": mask}])))
    assert batch.mask.tolist() == [[True, False], [True, True]]
    assert batch.sample(0).mask.tolist() == [[True, False]]
    assert batch.unmasked_positions is None
    additive = next(iter(batches([{"x": torch.zeros(2, 2, 3), "attention_mask": mask.float()}])))
    assert additive.mask is None
    both = {"x": torch.zeros(2, 2, 3), "attention_mask": mask, "decoder_input_ids": torch.zeros(2, 2)}
    assert next(iter(batches([both]))).unmasked_positions == 2


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor
    loss: torch.Tensor | None = None


class Answers(torch.nn.Module):
    """Returns a dataclass, as models of some libraries do."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x, labels=None):
        logits = self.head(x)
        return Answer(logits, None if labels is None else torch.nn.functional.cross_entropy(logits, labels))


def test_a_dataclass_with_logits_and_a_loss_is_read():
    model, X = seeded(Answers).float(), torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    plain = inspect(model.head, X)
    np.testing.assert_allclose(inspect(model, X).matrix("head", "agop"), plain.matrix("model", "agop"))
    batches = [{"x": X, "labels": torch.arange(12) % 3}]
    assert inspect(model, batches, "model", weight_decay=0.1).matrix("head", "fact").shape == (4, 4)
    with pytest.raises(ValueError, match="no floating-point tensor"):
        output_tensor(object(), 2)


def test_copies_for_a_forward_pass():
    x = torch.zeros(3, 2)
    copied = Batch((x, [x]), {"key": x}, x, 3).copied()
    assert copied.args[0] is copied.args[1][0] is copied.kwargs["key"]  # one tensor stays one
    assert copied.args[0] is not x
    assert copied.target is x
