"""The fitted layer equals the rounds in inner products, also for new rows, and its directions are those of the AGOP."""

import pytest
import torch

from gramian.concepts.gram_rounds import centred_gram, unit_gram
from gramian.concepts.layer_machine import ThinPlusIdentity, fit_layer
from gramian.concepts.probe import ProbeOptions, Selected, fold_outputs
from gramian.concepts.row_space import RowSpace
from gramian.core import psd_eigh
from gramian.features import agop
from gramian.kernels import Gaussian, Laplace

OPTIONS = ProbeOptions(ridges=(0.3, 1.0), feature_ridge=1.0, share=0.5)


def sample(n=24, d=40):
    rng = torch.Generator().manual_seed(0)
    X = torch.randn(n, d, generator=rng)
    return X, torch.stack([X[:, 0] + X[:, 1] ** 2, X[:, 2]], dim=1)


def selected(kernel=None, flatten=0.0, index=2):
    return Selected(Laplace("median") if kernel is None else kernel, flatten, 0.3, index, 0.0, torch.zeros(1, 1))


@pytest.mark.parametrize("kernel", [Laplace("median"), Gaussian("median", bandwidth_scale=2.0)])
@pytest.mark.parametrize("flatten", [0.0, 0.5])
@pytest.mark.parametrize("index", [0, 2])
def test_outputs_equal_those_of_the_rounds(kernel, flatten, index):
    X, Y = sample()
    train, new = torch.arange(20), torch.arange(20, 24)
    space = RowSpace.of(X[train])
    fit = fit_layer(X[train], space, Y[train], selected(kernel, flatten, index), OPTIONS)
    # The flattening and the scale are those of the training rows; inner products with new rows use the same map.
    rows = X if not flatten else space.flattening(X[train], flatten).apply(X)
    rows = (rows - rows[train].mean(dim=0)).double()
    G = rows @ rows.mT / rows[train].square().sum(dim=1).mean()
    N = fold_like(G, Y.double(), train, kernel, index)
    torch.testing.assert_close(fit.outputs(X[new]), N[new].float(), rtol=1e-3, atol=1e-3)


def fold_like(G, Y, train, kernel, index):
    """The rounds with scales taken from the training rows only, as for a machine that has seen no other rows."""
    from gramian.concepts.gram_rounds import fit_round, gradient_weights

    ridges = torch.tensor([1.0, 0.3], dtype=torch.float64)
    N = G
    for number in range(index + 1):
        fit = fit_round(N, Y, train, kernel, ridges)
        if number < index:
            P = torch.cat([N[:, train] @ b.mT for b in gradient_weights(fit, 0)], dim=1)
            learned = P @ P.mT
            N = 0.5 * learned / learned.diagonal()[train].mean() + 0.5 * G
    return fit.outputs[1]


@pytest.mark.parametrize("flatten", [0.0, 0.5])
def test_directions_are_leading_eigenvectors_of_the_agop_of_the_outputs(flatten):
    X, Y = sample()
    X, Y = X, Y
    fit = fit_layer(X, RowSpace.of(X), Y, selected(flatten=flatten), OPTIONS)
    x = X.double().clone().requires_grad_()
    rows = x
    if fit.flattening is not None:
        flat = fit.flattening
        centred = x - flat.centre
        rows = flat.rest * centred + (centred @ flat.basis.double() * flat.extra) @ flat.basis.double().mT
    u = rows - fit.machine.X.double().mean(dim=0)
    metric = fit.machine.metric
    z = (fit.machine.X - fit.machine.X.mean(dim=0)).double()
    coordinates = [torch.cat([v @ metric.factor.double(), v * metric.identity**0.5], dim=1) for v in (u, z)]
    square = (coordinates[0][:, None] - coordinates[1][None]).square().sum(dim=2)
    square = square + torch.eye(len(X)) * 1e9  # no gradient at distance 0
    values = torch.exp(-square.sqrt() / fit.machine.kernel.length) @ fit.machine.coef
    for c in range(2):
        (G,) = torch.autograd.grad(values[:, c].sum(), x, retain_graph=True)
        leading = psd_eigh(agop(G[:, None, :]))[1][:, 0]
        found = fit.directions[:, c].double()
        assert float(found.norm()) == pytest.approx(1.0, abs=1e-5)
        assert float((found @ leading).abs()) == pytest.approx(1.0, abs=1e-3)
        assert float(G.mean(dim=0) @ found) > 0


def test_the_machine_of_few_rows_equals_the_folds_of_all():
    X, Y = sample()
    fit = fit_layer(X, RowSpace.of(X), Y, selected(), OPTIONS)
    every = torch.arange(len(X))
    expected = fold_outputs(unit_gram(centred_gram(X.double())), Y.double(), every, Laplace("median"), OPTIONS)[2, 0]
    torch.testing.assert_close(fit.outputs(X), expected.float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("identity", [0.0, 2.0])
def test_the_metric_is_its_matrix(identity):
    rng = torch.Generator().manual_seed(0)
    X, V = (torch.randn(5, k, generator=rng, dtype=torch.float64) for k in (5, 2))
    metric = ThinPlusIdentity(V, identity)
    u = metric.transform(X)
    assert u.shape[1] == metric.rank
    torch.testing.assert_close(u @ u.mT, X @ metric.matrix() @ X.mT)
    torch.testing.assert_close(metric.pull(u), X @ metric.matrix())
