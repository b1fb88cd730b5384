"""Sums over batches: random projections of many outputs, sides of wide layers, flat memory."""

import gc
import weakref

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets import InspectOptions, inspect
from nets.models import mlp, seeded

SHARED = InspectOptions(projections="shared")


def data(n, d, seed=1):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def wide_head(outputs=40):
    return nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, outputs))


def distance(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_projections_are_unbiased_and_the_error_bar_is_honest():
    model, X = seeded(wide_head), data(12, 6)
    exact = inspect(model, X).matrix("0", "agop")
    found = [inspect(model, X, outputs=8, seed=seed) for seed in range(60)]
    estimates = [report.matrix("0", "agop") for report in found]
    errors = np.array([distance(estimate, exact) for estimate in estimates])
    bars = np.array([report.rows[0]["agop_error"] for report in found])
    # the mean of 60 runs has an error √60 smaller than one run's: unbiased
    assert distance(np.mean(estimates, 0), exact) < 2.5 * errors.mean() / np.sqrt(60)
    # the bar estimates the root mean square error
    assert np.sqrt((bars**2).mean()) == pytest.approx(np.sqrt((errors**2).mean()), rel=0.2)
    more = np.mean([distance(inspect(model, X, outputs=128, seed=s).matrix("0", "agop"), exact) for s in range(8)])
    assert more < 0.5 * errors.mean()


def test_shared_projections_centre_without_bias():
    model, X = seeded(wide_head), data(12, 6)
    exact = inspect(model, X)
    found = [inspect(model, X, outputs=9, seed=seed, options=SHARED) for seed in range(60)]
    for name in ("agop", "agop_centered"):
        estimates = [report.matrix("0", name) for report in found]
        errors = np.array([distance(estimate, exact.matrix("0", name)) for estimate in estimates])
        assert distance(np.mean(estimates, 0), exact.matrix("0", name)) < 2.5 * errors.mean() / np.sqrt(60)
    for estimate in estimates:  # each is itself a centred second moment
        assert np.linalg.eigvalsh(estimate).min() > -1e-12
    assert distance(exact.matrix("0", "agop_centered"), exact.matrix("0", "agop")) > 0.05
    bars = np.array([report.rows[0]["agop_error"] for report in found])
    errors = np.array([distance(report.matrix("0", "agop"), exact.matrix("0", "agop")) for report in found])
    assert np.sqrt((bars**2).mean()) == pytest.approx(np.sqrt((errors**2).mean()), rel=0.25)


def test_shared_projections_are_one_combination_for_all_batches():
    """A model with one output: any ±1 is the output itself, so every batch must meet the same sign to be exact."""
    model, X = seeded(lambda: wide_head(1)), data(12, 6)
    exact = inspect(model, X).matrix("0", "agop_centered")
    found = inspect(model, X, outputs=3, batch_size=5, options=SHARED).matrix("0", "agop_centered")
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-14)
    batches = [data(3, 5)[:, None].repeat(1, t, 1) for t in (2, 3)]
    report = inspect(seeded(lambda: nn.Linear(5, 2)), batches, outputs=8, options=SHARED)
    assert np.isfinite(report.matrix("model", "agop_centered")).all()
    with pytest.raises(ValueError, match='"fresh" or "shared"'):
        InspectOptions(projections="same")


def test_projections_leave_the_loss_matrices_exact_and_refuse_centring():
    model, X = seeded(wide_head), data(12, 6)
    y = data(12, 40, seed=2)
    one, two = (inspect(model, (X, y), "mse", weight_decay=0.1, outputs=how) for how in ("all", 4))
    for name in ("enfa", "fact", "vcs", "nfm"):
        np.testing.assert_allclose(one.matrix("0", name), two.matrix("0", name), rtol=1e-10, atol=1e-14)
    with pytest.raises(ValueError, match="projections='shared'"):
        two.matrix("0", "agop_centered")
    assert "by 4 random projections" in str(two)
    assert "AGOP ±" in str(two)
    assert "AGOP ±" not in str(one)


def test_a_vocabulary_is_projected_with_a_warning():
    model = seeded(lambda: wide_head(600))
    with pytest.warns(UserWarning, match="600 outputs were sampled with 64 random projections"):
        report = inspect(model, data(5, 6))
    assert 0 < report.rows[0]["agop_error"] < 0.5


def test_projections_with_initial_weights():
    model, start = seeded(wide_head), seeded(wide_head, seed=3)
    X = data(30, 6)
    exact, sampled = (inspect(model, X, initial=start, outputs=how) for how in ("all", 400))
    assert distance(sampled.matrix("0", "ptk_change"), exact.matrix("0", "ptk_change")) < 0.15


@pytest.mark.parametrize(
    ("outputs", "words"), [(1, "at least 2"), ([], "must be"), ("some", "must be"), ([99], "0 to 2")]
)
def test_wrong_outputs_are_explained(outputs, words):
    with pytest.raises(ValueError, match=words):
        inspect(seeded(mlp), data(4, 5), outputs=outputs)


def test_outputs_of_different_length_ask_for_projections():
    model = seeded(lambda: nn.Linear(5, 2))
    batches = [data(3, 5)[:, None].repeat(1, t, 1) for t in (2, 3)]
    with pytest.raises(ValueError, match="different length"):
        inspect(model, batches)
    report = inspect(model, batches, outputs=64)
    assert report.record("model").sums.rows == 3 * 2 + 3 * 3


def test_layers_with_a_wide_output_are_stored_on_the_input_side():
    model, X = seeded(wide_head), data(12, 6)
    y = data(12, 40, seed=2)
    one, two = (inspect(model, (X, y), "mse", weight_decay=0.1, options=InspectOptions(max_dim=d)) for d in (64, 20))
    for name in ("agop", "agop_centered", "enfa", "fact"):
        np.testing.assert_allclose(one.matrix("2", name), two.matrix("2", name), rtol=1e-9, atol=1e-13)
    with pytest.raises(ValueError, match="max_dim=20"):
        two.matrix("2", "ptk")


def test_memory_does_not_grow_with_samples():
    """No tensor of an earlier batch is alive when the next one is asked for."""
    model = seeded(mlp)
    alive: list[weakref.ref] = []
    counts = []

    def stream(n):
        for seed in range(n):
            gc.collect()
            counts.append(sum(ref() is not None for ref in alive))
            batch = data(64, 5, seed)
            alive.append(weakref.ref(batch))
            yield batch, batch[:, :3].clone()
            del batch

    inspect(model, stream(8), "mse", weight_decay=0.1)
    assert len(counts) == 8
    assert max(counts) <= 1
