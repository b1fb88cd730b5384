"""The search selects by held-out rows only, finds features that round 0 misses, and does not depend on the axes."""

from dataclasses import replace

import pytest
import torch

from gramian.concepts.probe import ProbeOptions, flattened_gram, fold_outputs, select
from gramian.concepts.row_space import RowSpace
from gramian.concepts.scores import auc
from gramian.kernels import Gaussian, Laplace

QUICK = ProbeOptions(kernels=(Laplace("median"), Gaussian("median")), ridges=(0.1, 1.0, 10.0), rounds=2)


def sample(n=60, d=80, seed=0):
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(n, d, generator=rng)
    y = (X[:, 0] + 0.3 * torch.randn(n, generator=rng) > 0).float()[:, None]
    rows = torch.arange(n)
    return X, y, [(rows[rows % 5 != k], rows[rows % 5 == k]) for k in range(5)]


def test_selected_outputs_are_those_of_the_selected_setting():
    X, y, folds = sample()
    space = RowSpace.of(X)
    found = select(space, y, folds, QUICK, dtype=torch.float64)
    G = flattened_gram(space, found.flatten)
    for train, held_out in folds:
        every = fold_outputs(G, y.double(), train, found.kernel, QUICK)
        expected = every[found.round, QUICK.ridges.index(found.ridge)]
        torch.testing.assert_close(found.outputs[held_out], expected[held_out])
    assert found.error == pytest.approx(float((found.outputs - y).square().mean()))


def test_no_candidate_is_better_by_more_than_a_standard_error():
    X, y, folds = sample()
    space = RowSpace.of(X)
    found = select(space, y, folds, QUICK)
    for kernel in QUICK.kernels:
        other = select(space, y, folds, replace(QUICK, kernels=(kernel,)))
        gaps = ((found.outputs - y).square() - (other.outputs - y).square()).squeeze()
        assert float(gaps.mean()) <= float(gaps.std(correction=0)) / len(gaps) ** 0.5 + 1e-9


def test_float32_and_a_rotation_give_the_same_outputs():
    X, y, folds = sample()
    Q = torch.linalg.qr(torch.randn(80, 80, generator=torch.Generator().manual_seed(1))).Q
    exact = select(RowSpace.of(X), y, folds, QUICK, dtype=torch.float64)
    for rows in (X, X @ Q + 3):
        found = select(RowSpace.of(rows), y, folds, QUICK)
        assert (found.kernel, found.ridge, found.round) == (exact.kernel, exact.ridge, exact.round)
        torch.testing.assert_close(found.outputs, exact.outputs.float(), rtol=1e-3, atol=1e-3)


def test_learned_features_help_where_one_direction_matters():
    X, y, folds = sample(n=120, d=40)
    plain, learned = (
        select(RowSpace.of(X), y, folds, replace(QUICK, rounds=rounds, kernels=QUICK.kernels[:1])) for rounds in (0, 2)
    )
    assert learned.round > 0
    assert auc(learned.outputs, y) > auc(plain.outputs, y)


def test_labels_without_relation_are_not_predicted():
    X, y, folds = sample(n=200)
    shuffled = y[torch.randperm(200, generator=torch.Generator().manual_seed(2))]
    assert abs(auc(select(RowSpace.of(X), shuffled, folds, QUICK).outputs, shuffled) - 0.5) < 0.12


def test_bad_options_are_named():
    for name, value in (
        ("kernels", ()),
        ("ridges", ()),
        ("ridges", (0.0, 1.0)),
        ("feature_ridge", 2.0),
        ("rounds", -1),
        ("share", 1.0),
        ("flatten", ()),
        ("flatten", (1.5,)),
    ):
        with pytest.raises(ValueError, match=name):
            ProbeOptions(**{name: value})
