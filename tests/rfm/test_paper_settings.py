"""The papers' own experiments with kernel machines, each in the paper's setting (or a smaller twin where marked)."""

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.core import cosine
from gramian.datasets import gated_product, hermite_index, low_rank_product, modular_arithmetic, sparse_parity
from gramian.features import Agop, Fact
from gramian.kernels import NTK, Gaussian, Laplace, Polynomial

PAPER = {"select_round": "last", "standardize": False}


@pytest.mark.parametrize("task", [low_rank_product, hermite_index])
def test_figure_16_of_paper_b(task):
    """1,000 rows, Laplace kernel of bandwidth 10, no ridge: features take over where fixed kernels fail."""
    data = task(n=3000, seed=0)
    train, test = slice(0, 1000), slice(1000, 3000)
    score = lambda model: model.fit(data.X[train], data.y[train]).score(data.X[test], data.y[test])  # noqa: E731
    options = {"update": Agop(), "ridge": 1e-8, "dtype": "float64", **PAPER}
    laplace = score(RFMRegressor(kernel=Laplace(10.0), n_rounds=0, **options))
    ntk = score(RFMRegressor(kernel=NTK(1), n_rounds=0, **options))
    rfm = RFMRegressor(kernel=Laplace(10.0), n_rounds=5, **options)
    learned = score(rfm)
    assert learned > 0.85
    assert 1 - learned < 0.2 * (1 - max(laplace, ntk))  # of the variance that the better of the two leaves unexplained
    assert cosine(torch.from_numpy(rfm.feature_matrix_), torch.from_numpy(data.egop)) >= 0.95


def test_gated_product():
    """Test error falls from .0123 to .0020 in five rounds, within what a draw of the data changes."""
    n = 4000
    data = gated_product(n=n + 4000, seed=0)
    options = {"kernel": Laplace(10.0), "update": Agop(), "ridge": 1e-3, **PAPER}
    errors = []
    for n_rounds in (0, 5):
        model = RFMRegressor(n_rounds=n_rounds, **options).fit(data.X[:n], data.y[:n])
        errors.append(np.mean((model.predict(data.X[n:]) - data.y[n:]) ** 2))
    assert errors[0] == pytest.approx(0.0123, rel=0.3)
    assert errors[1] == pytest.approx(0.0020, rel=0.3)
    assert sorted(np.argsort(model.feature_importances_)[-3:]) == [0, 1, 5]


paper_size = pytest.mark.slow


@pytest.mark.parametrize(
    ("p", "fraction", "operation"),
    [
        pytest.param(31, 0.7, "+"),
        pytest.param(61, 0.5, "+", marks=paper_size),
        pytest.param(61, 0.5, "-", marks=paper_size),
    ],
)
@pytest.mark.parametrize(
    ("update", "early", "late"),
    [(Agop(power=0.5, scale="mean"), 5, 30), (Fact(geometric=True, scale="mean"), 15, 60)],
    ids=["agop", "fact-geometric"],
)
def test_modular_arithmetic_groks(update, early, late, p, fraction, operation):
    """(x ± y) mod p from a part of the table: chance for many rounds, then everything.

    The AGOP is faster than FACT: by the round at which FACT is still at chance, it has learned, so that neither
    update passes in the other's place.
    """
    data = modular_arithmetic(p=p, operation=operation, fraction=fraction, seed=0)
    split = data.splits[0]
    model = RFMClassifier(kernel=Polynomial(2), update=update, n_rounds=late, ridge=1e-6, **PAPER)
    model.fit(data.X[split.train], data.y[split.train])
    assert model.score(data.X[split.test], data.y[split.test]) >= 0.98
    young = RFMClassifier(kernel=Polynomial(2), update=update, n_rounds=early, ridge=1e-6, **PAPER)
    young.fit(data.X[split.train], data.y[split.train])
    assert young.score(data.X[split.test], data.y[split.test]) < 0.1


@pytest.mark.parametrize("update", [Agop(power=0.5, scale="mean"), Fact(geometric=True, scale="mean")], ids=str)
@pytest.mark.parametrize(("k", "n", "d"), [(2, 500, 50), (3, 1500, 25), pytest.param(3, 5000, 50, marks=paper_size)])
def test_sparse_parity(update, k, n, d):
    """Perfect accuracy where the fixed kernel has errors, with the parity's support on top of the diagonal of M."""
    data = sparse_parity(n=n + 2000, d=d, k=k, seed=0)
    model = RFMClassifier(kernel=Gaussian(5.0), update=update, n_rounds=3, ridge=1e-5, **PAPER)
    model.fit(data.X[:n], data.y[:n])
    assert model.score(data.X[n:], data.y[n:]) >= 0.99
    support = np.flatnonzero(np.diag(data.egop))
    assert sorted(np.argsort(np.diag(model.feature_matrix_))[-k:]) == sorted(support)
    fixed = RFMClassifier(kernel=Gaussian(5.0), n_rounds=0, ridge=1e-5, **PAPER).fit(data.X[:n], data.y[:n])
    assert fixed.score(data.X[n:], data.y[n:]) < 0.95
