"""Features and targets as inspect reads them: pooling, class labels, values, and data that can be read once."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets import InspectOptions, inspect, surrogate, target_linearity
from nets.models import Block, cnn, mlp, seeded


def test_inspect_measures_the_layers_own_features():
    model = seeded(mlp).eval()
    X = torch.randn(60, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.arange(60) % 3
    report = inspect(model, (X, labels), "cross_entropy", batch_size=7, options=InspectOptions(ridge=0.01))
    onehot = nn.functional.one_hot(labels, 3).double()
    with torch.no_grad():
        inputs = {"0": X, "2": model[:2](X), "4": model[:4](X)}
        predicted = model(X).argmax(1)
    for entry in report.rows:
        Hl = inputs[entry["layer"]]
        centred = Hl - Hl.mean(0)
        gamma = 0.01 * float(centred.square().sum()) / Hl.shape[1]
        assert entry["target_linearity_gamma"] == pytest.approx(gamma)
        assert entry["target_linearity"] == pytest.approx(target_linearity(Hl, onehot, gamma), abs=1e-9)
        Z = Hl @ model[int(entry["layer"])].weight.detach().mT
        assert entry["surrogate"] == pytest.approx(surrogate(Z, onehot) / 60**2, rel=1e-8)
        assert entry["surrogate_input"] == pytest.approx(surrogate(Hl, onehot) / 60**2, rel=1e-8)
        means = torch.stack([Hl[labels == c].mean(0) for c in range(3)])
        nearest = torch.cdist(Hl, means).argmin(1)
        assert entry["nc4"] == pytest.approx(float((nearest == predicted).double().mean()))
    assert not math.isnan(report.rows[-1]["nc3"])
    assert math.isnan(report.rows[0]["nc3"])


def test_positions_are_averaged():
    model = seeded(lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.LazyLinear(2)), dtype=torch.float32)
    X = torch.randn(20, 3, 5, 5, generator=torch.Generator().manual_seed(1))
    with torch.no_grad(), torch.random.fork_rng():
        model(X)
    y = torch.randn(20, 2, generator=torch.Generator().manual_seed(2))
    entry = inspect(model, (X, y), "mse").rows[0]
    pooled = X.double().mean((2, 3))
    assert entry["target_linearity"] == pytest.approx(
        target_linearity(pooled, y.double(), entry["target_linearity_gamma"])
    )


def test_attention_features_are_tokens_of_the_right_sample():
    tokens = torch.randint(0, 11, (30, 4), generator=torch.Generator().manual_seed(1))
    labels = torch.arange(30) % 3
    rows = {}
    for first in (True, False):
        model = seeded(lambda first=first: Block(batch_first=first))
        rows[first] = inspect(model, (tokens, labels), "cross_entropy").rows
    for a, b in zip(rows[True], rows[False], strict=True):
        for name in ("target_linearity", "nc1", "nc4", "surrogate"):
            np.testing.assert_allclose(a[name], b[name], rtol=1e-9, err_msg=f"{a['layer']} {name}")


def test_geometry_can_be_switched_off_and_needs_targets():
    model, X = seeded(mlp), torch.zeros(4, 5, dtype=torch.float64)
    assert math.isnan(inspect(model, X).rows[0]["target_linearity"])
    report = inspect(model, (X, torch.zeros(4, 3, dtype=torch.float64)), options=InspectOptions(geometry=False))
    assert math.isnan(report.rows[0]["target_linearity"])


def test_one_pass_data_has_no_nc4():
    X = torch.randn(12, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.arange(12) % 3
    report = inspect(seeded(mlp), iter([(X[:6], labels[:6]), (X[6:], labels[6:])]), "cross_entropy")
    assert math.isnan(report.rows[0]["nc4"])
    assert not math.isnan(report.rows[0]["nc1"])


def test_grouped_convolutions_have_geometry():
    X = torch.randn(8, 4, 7, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def build():
        model = cnn()
        model(X.float())
        return model

    rows = inspect(seeded(build), (X, torch.arange(8) % 3), "cross_entropy").rows
    assert all(not math.isnan(entry["target_linearity"]) for entry in rows)


def test_fewer_samples_than_features_are_warned_about():
    X = torch.randn(6, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with pytest.warns(UserWarning, match="6 samples for up to 7 features in 2 layers"):
        inspect(seeded(mlp), (X, X[:, :3]))


def test_binary_labels_and_flat_targets_are_values():
    model = seeded(lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1)))
    X = torch.randn(30, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = (X[:, 0] > 0).long()
    found = [inspect(model, (X, target)).rows[0]["target_linearity"] for target in (y, y[:, None], y.double())]
    gamma = 1e-3 * float((X - X.mean(0)).square().sum()) / 5
    assert found == pytest.approx([target_linearity(X, y[:, None].double(), gamma)] * 3)


TOKENS = torch.randn(10, 4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
LENGTHS = torch.arange(10) % 4 + 1
MASK = torch.arange(4) < LENGTHS[:, None]


def token_model():
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))


@pytest.mark.parametrize("batch_size", [10, 3, 1])
def test_targets_of_tokens_are_compared_with_the_features_of_tokens(batch_size):
    model, labels = seeded(token_model), (TOKENS[..., 0] > 0).long() + (TOKENS[..., 1] > 0.5)
    labels = labels.where(MASK, -100)
    rows = inspect(model, (TOKENS, labels), batch_size=batch_size).rows
    with torch.no_grad():
        inputs = {"0": TOKENS[MASK], "2": model[:2](TOKENS)[MASK]}
        predicted = model(TOKENS).argmax(2)[MASK]
    onehot = nn.functional.one_hot(labels[MASK], 3).double()
    for entry in rows:
        H = inputs[entry["layer"]]
        expected = target_linearity(H, onehot, entry["target_linearity_gamma"])
        assert entry["target_linearity"] == pytest.approx(expected, abs=1e-9)
        means = torch.stack([H[labels[MASK] == c].mean(0) for c in range(3)])
        nearest = torch.cdist(H, means).argmin(1)
        assert entry["nc4"] == pytest.approx(float((nearest == predicted).double().mean()))
        within = sum(((H[labels[MASK] == c] - means[c]).mT @ (H[labels[MASK] == c] - means[c])) for c in range(3))
        centred = means - means.mean(0)
        nc1 = torch.trace(within / len(H) @ torch.linalg.pinv(centred.mT @ centred / 3)) / 3
        assert entry["nc1"] == pytest.approx(float(nc1), rel=1e-7)


def test_values_of_tokens_are_targets_too():
    y = TOKENS[..., :2].sin()
    model = seeded(lambda: nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 2)))
    entry = inspect(model, [(TOKENS, y), (TOKENS[:, :2], y[:, :2])], outputs=4).rows[0]
    H, Y = (torch.cat([T.flatten(0, 1), T[:, :2].flatten(0, 1)]) for T in (TOKENS, y))
    expected = target_linearity(H, Y, entry["target_linearity_gamma"])
    assert entry["target_linearity"] == pytest.approx(expected, abs=1e-9)


class Padded(nn.Module):
    """A model of Hugging Face's form: keyword arguments with a padding mask."""

    def __init__(self, tokens):
        super().__init__()
        self.body, self.head, self.tokens = nn.Linear(5, 6), nn.Linear(6, 3), tokens

    def forward(self, x, attention_mask=None):
        h = self.body(x).tanh()
        return self.head(h if self.tokens else h[:, 0])


@pytest.mark.parametrize("by", ["key", "option"])
def test_padding_does_not_count_in_the_mean_over_positions(by):
    model, labels = seeded(lambda: Padded(False)), torch.arange(10) % 3
    noise = TOKENS.where(MASK[..., None], 100.0)
    if by == "key":
        data, options = [{"x": noise, "attention_mask": MASK.long(), "labels": labels}], InspectOptions()
    else:
        data = [(noise, labels)]
        options = InspectOptions(mask=lambda batch: batch[0][..., 0] != 100.0)
    entry = inspect(model, data, options=options).rows[0]
    pooled = torch.stack([x[: int(n)].mean(0) for x, n in zip(TOKENS, LENGTHS, strict=True)])
    onehot = nn.functional.one_hot(labels, 3).double()
    expected = target_linearity(pooled, onehot, entry["target_linearity_gamma"])
    assert entry["target_linearity"] == pytest.approx(expected, abs=1e-9)


def test_padding_does_not_count_among_tokens():
    labels = (TOKENS[..., 0] > 0).long()
    noise = TOKENS.where(MASK[..., None], 100.0)
    model = seeded(lambda: Padded(True))
    masked = inspect(model, [{"x": noise, "attention_mask": MASK, "labels": labels}]).rows
    ignored = inspect(model, [{"x": TOKENS, "labels": labels.where(MASK, -100)}]).rows
    for a, b in zip(masked, ignored, strict=True):
        for name in ("target_linearity", "nc1", "nc4", "surrogate"):
            assert a[name] == pytest.approx(b[name], rel=1e-9), name


def test_a_mask_of_another_form_is_refused():
    options = InspectOptions(mask=lambda batch: torch.ones(3, 4))
    with pytest.raises(ValueError, match="mask must return"):
        inspect(seeded(lambda: Padded(False)), [(TOKENS, LENGTHS % 3)], options=options)


def test_labels_that_a_causal_model_shifts_are_not_targets_of_their_positions():
    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(7, 5), nn.Linear(5, 7)

        def forward(self, input_ids):
            return self.head(self.embed(input_ids).cumsum(1))

    ids = torch.randint(0, 7, (10, 4), generator=torch.Generator().manual_seed(1))
    model = seeded(Causal)
    entry = inspect(model, [{"input_ids": ids, "labels": ids}]).rows[-1]
    assert math.isnan(entry["target_linearity"])
    entry = inspect(model, [{"input_ids": ids, "labels": ids.roll(-1, 1)}]).rows[-1]
    assert not math.isnan(entry["target_linearity"])


def test_collapse_of_constant_features_does_not_exist():
    X = torch.randn(90, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for bias in (-1.0, 0.3):  # dead units, and units that are on for every sample
        model = seeded(lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)))
        nn.init.zeros_(model[0].weight)
        nn.init.constant_(model[0].bias, bias)
        rows = inspect(model, (X, torch.arange(90) % 3)).rows
        assert all(math.isnan(rows[1][name]) for name in ("nc1", "nc2_norm", "nc2_angle", "nc3"))
        assert not math.isnan(rows[0]["nc1"])


def test_only_the_last_layer_is_a_classifier():
    X = torch.randn(90, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    model = seeded(lambda: nn.Sequential(nn.Linear(6, 3), nn.ReLU(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)))
    found = [entry["nc3"] for entry in inspect(model, (X, torch.arange(90) % 3)).rows]
    assert [math.isnan(value) for value in found] == [True, True, False]


def test_too_few_features_for_a_simplex_have_no_collapse():
    X = torch.randn(40, 1, 4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    model = seeded(lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)))
    rows = inspect(model, (X, torch.arange(40) % 3)).rows
    assert math.isnan(rows[0]["nc1"])
    assert not math.isnan(rows[1]["nc1"])


@pytest.mark.parametrize("batch_size", [60, 20, 7, 1])
def test_labels_of_minus_100_do_not_count_in_any_batch(batch_size):
    model = seeded(mlp).eval()
    X = torch.randn(60, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.arange(60) % 3
    labels[[3, 4, 31, *range(40, 47)]] = -100  # one batch of 7 has no label at all
    report = inspect(model, (X, labels), "cross_entropy", batch_size=batch_size)
    kept = labels != -100
    onehot = nn.functional.one_hot(labels[kept], 3).double()
    with torch.no_grad():
        H, predicted = model[:2](X)[kept], model(X)[kept].argmax(1)
    entry = next(row for row in report.rows if row["layer"] == "2")
    assert entry["target_linearity"] == pytest.approx(
        target_linearity(H, onehot, entry["target_linearity_gamma"]), abs=1e-9
    )
    means = torch.stack([H[labels[kept] == c].mean(0) for c in range(3)])
    nearest = torch.cdist(H, means).argmin(1)
    assert entry["nc4"] == pytest.approx(float((nearest == predicted).double().mean()))
    within = H - means[labels[kept]]
    between = (means - means.mean(0)).mT @ (means - means.mean(0)) / 3
    nc1 = float((within.mT @ within / len(H) @ torch.linalg.pinv(between, rtol=1e-10)).trace()) / 3
    assert entry["nc1"] == pytest.approx(nc1, rel=1e-6)


@pytest.mark.parametrize("where", [0, 2])
def test_a_batch_whose_targets_cannot_be_read_leaves_all_features_out(where):
    """A part of the samples must not stand for all of them."""
    X = torch.randn(60, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.arange(60) % 3
    labels[20 * where] = 255
    with pytest.warns(UserWarning, match="targets of 1 of 3 batches cannot be read"):
        report = inspect(seeded(mlp), (X, labels), batch_size=20)
    assert all(math.isnan(row[name]) for row in report.rows for name in ("target_linearity", "nc1", "nc4"))


def test_targets_without_any_label_are_no_error():
    X = torch.randn(6, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    row = inspect(seeded(mlp), (X, torch.full((6,), -100))).rows[0]
    assert math.isnan(row["target_linearity"])
