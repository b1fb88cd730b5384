"""Random small modules equal the naive reading, or their layers are skipped with a reason; batches do not matter.

``GRAMIAN_FUZZ=1000`` compares that many modules instead of a quick selection, and the slow tests compare 500 others.
"""

import copy
import os
import warnings

import numpy as np
import pytest
import torch

from gramian.nets import inspect
from nets import naive
from nets.fuzz import random_model

COUNT = int(os.environ.get("GRAMIAN_FUZZ", "40"))
LAM = 0.1
MATRICES = ("nfm", "agop", "agop_centered", "ptk", "enfa", "benfa", "fact", "bfact", "vcs")


def expected(model, X, y):
    rows, weights = naive.measure(model, [x[None] for x in X], y, lambda f, y: (f - y).square().mean())
    merged = {}
    for name in rows:
        found = naive.matrices(rows[name], weights[name], LAM)
        merged.setdefault(name[0] if isinstance(name, tuple) else name, []).append(found)
    return {
        name: {key: torch.block_diag(*(part[key] for part in parts)).detach().numpy() for key in parts[0]}
        for name, parts in merged.items()
    }


def difference(found, twin, whole=None, floor=1e-12):
    """Relative to the size of the matrix, or of the ``whole`` from which it is a difference."""
    size = max(np.linalg.norm(twin if whole is None else whole), floor)
    return float(np.linalg.norm(found - twin) / size)


def compare(seed):
    """Compare a random module with its twin in float64, at two batch sizes, and in float32 where that is its type."""
    model, X, dtype = random_model(seed)
    model, X = model.eval().to(dtype), X.to(dtype) if X.is_floating_point() else X
    wide, inputs = copy.deepcopy(model).double(), X.double() if X.is_floating_point() else X
    with torch.no_grad():
        y = (torch.sin(3 * wide(inputs)) / 2).to(dtype)
    twin = expected(wide, inputs, y.double())
    report = check(seed, wide, inputs, y.double(), twin, 1e-6, 1e-12)
    if dtype == torch.float32:
        # Gradients in float32 have rounding errors of about 1e-7, which FACT divides by the weight decay.
        assert check(seed, model, X, y, twin, 2e-3, 1e-3).skipped == report.skipped
    return report


def check(seed, model, X, y, twin, tolerance, floor):
    report, other = (
        inspect(model, (X, y), "mse", weight_decay=LAM, batch_size=size) for size in (len(X), (3, 1)[seed % 2])
    )
    assert set(twin) <= set(report.layers) | set(report.skipped), set(twin) - set(report.layers) - set(report.skipped)
    assert all(report.skipped.values())
    for layer in report.layers:
        assert layer in twin, f"{layer} has no twin"
        record = report.record(layer)
        for name in MATRICES:
            tied = record.sums.tied_to is not None and name in ("fact", "bfact", "vcs")
            try:
                found = report.matrix(layer, name)
            except ValueError:
                assert name in ("fact", "bfact", "vcs"), name
                continue
            whole = found if tied else twin[layer]["agop" if name == "agop_centered" else name]
            if not tied:
                error = difference(found, twin[layer][name], whole, floor)
                assert error <= tolerance, (seed, layer, record.kind, name, error)
            if name in ("agop_centered", "enfa", "fact"):
                error = difference(other.matrix(layer, name), found, whole, floor)
                assert error <= tolerance, (seed, layer, record.kind, name, error, "batches")
    assert other.skipped == report.skipped
    return report


def compare_all(seeds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # single samples, few of them, projections without oneDNN
        return [compare(seed) for seed in seeds]


@pytest.mark.parametrize("block", range(0, COUNT, 10))
def test_random_modules_equal_the_naive_reading_or_are_skipped_with_a_reason(block):
    compare_all(range(block, min(block + 10, COUNT)))


@pytest.mark.slow
def test_500_random_modules_equal_the_naive_reading_or_are_skipped_with_a_reason():
    reports = compare_all(range(10_000, 10_500))
    kinds = {report.record(layer).kind for report in reports for layer in report.layers}
    assert kinds >= {"Linear", "LSTM", "GRU", "RNN", "attention", "Embedding", "EmbeddingBag", "Experts", "Bilinear",
                     "Conv2d", "ConvTranspose2d", "LSTMCell", "Low, effective weight"}  # fmt: skip


def test_a_wrong_number_would_be_found():
    model, X, _ = random_model(3)
    twin = expected(model.double().eval(), X, torch.zeros(len(X), 3))
    for found in twin.values():
        assert difference(1.00001 * found["agop"], found["agop"]) > 1e-6
