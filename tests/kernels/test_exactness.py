"""Where kernels go wrong in float32: the diagonal, near pairs, offsets, zero distance."""

import itertools
import math

import pytest
import torch

import twins
from gramian.kernels import NTK, Exponential, Gaussian, KernelOperator, Laplace, Lp, Matern, Polynomial, as_metric
from gramian.kernels.points import Points, squared_distances

RADIAL = [Laplace(1.0), Gaussian(1.0), Exponential(1.0, 0.7), Matern(1.0, 1.5), Matern(1.0, 2.5), Lp(1.0)]


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_diagonal_is_exactly_one_in_float32(kernel, rng):
    X = 100 * torch.randn(2000, 8, generator=rng)
    assert torch.equal(KernelOperator(kernel, X).dense().diagonal(), torch.ones(2000))
    # also where the equal row is not known to be the same one
    metric = (
        as_metric(torch.rand(8, generator=rng)) if kernel.needs_axis_aligned_metric else twins.metric("full", 8, rng)
    )
    operator = KernelOperator(kernel, X, metric)
    ones = torch.zeros(2000, 1)
    ones[1234] = 1
    assert float(operator.predict(X[1234:1235], ones)) == 1.0


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_an_offset_of_a_million_loses_nothing(kernel, rng):
    """Coordinates on a grid that float32 can hold at 1e6: differences are exact, and so must be the kernel."""
    steps = torch.randint(-64, 64, (200, 5), generator=rng).float() / 8
    torch.testing.assert_close(kernel(steps + 2.0**20), kernel(steps), rtol=1e-5, atol=1e-6)


def test_near_pairs_keep_their_digits(rng):
    X = torch.randn(50, 10, generator=rng, dtype=torch.float64)
    gap = 1e-7
    Z = X.clone()
    Z[:, 0] += gap
    square = squared_distances(Points(X), Points(Z)).square.diagonal()
    torch.testing.assert_close(square.sqrt(), (Z - X)[:, 0], rtol=1e-9, atol=0)


def test_gradient_of_near_pairs_in_float32(rng):
    """Two rows 1e-5 apart pull with full force in float64; float32 must not turn that into noise."""
    X = torch.randn(40, 6, generator=rng)
    X[1] = X[0] + 1e-5 * torch.randn(6, generator=rng)
    coef = torch.randn(40, 2, generator=rng, dtype=torch.float64)
    narrow = KernelOperator(Laplace(2.0), X).gradient(X, coef)
    wide = KernelOperator(Laplace(2.0), X.double()).gradient(X.double(), coef)
    torch.testing.assert_close(narrow.double(), wide, rtol=1e-3, atol=1e-4)


def test_collapsed_rows_give_finite_gradients(rng):
    """A metric that sees one coordinate puts many rows at distance zero."""
    X = torch.sign(torch.randn(100, 5, generator=rng))
    operator = KernelOperator(Laplace(1.0), X, as_metric(torch.tensor([1.0, 0, 0, 0, 0])))
    G = operator.gradient(X, torch.ones(100, 1))
    assert torch.isfinite(G).all()
    assert torch.equal(G[:, :, 1:], torch.zeros_like(G[:, :, 1:]))


@pytest.mark.parametrize("depth", [1, 3])
def test_ntk_equals_a_wide_network(depth):
    """The empirical tangent kernel of a finite network of He-initialised layers, averaged over draws."""
    rng = torch.Generator().manual_seed(1)
    X = torch.randn(4, 3, generator=rng, dtype=torch.float64)
    width, draws = 512, 12
    total = torch.zeros(4, 4, dtype=torch.float64)
    for _ in range(draws):
        sizes = [3, *[width] * depth, 1]
        weights = [
            torch.randn(o, i, generator=rng, dtype=torch.float64).requires_grad_(True)
            for i, o in itertools.pairwise(sizes)
        ]
        rows = []
        for x in X:
            h = x
            for layer, W in enumerate(weights):
                last = layer == depth
                # the first layer reads the data itself, later ones an average over their width
                h = W @ h / math.sqrt(1 if layer == 0 else width)
                h = h if last else math.sqrt(2) * torch.relu(h)
            rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(h.squeeze(), weights)]))
        J = torch.stack(rows)
        total += J @ J.T
    torch.testing.assert_close(total / draws, NTK(depth)(X), rtol=0.12, atol=0.12 * float(NTK(depth)(X).max()))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Laplace(-1.0), "bandwidth"),
        (lambda: Laplace("medium"), "bandwidth"),
        (lambda: Laplace(1.0, bandwidth_scale=0.0), "bandwidth_scale"),
        (lambda: Exponential(1.0, 2.5), "exponent"),
        (lambda: Matern(1.0, 0.5), "nu"),
        (lambda: Lp(1.0, 1.0, 1.5), "exponent"),
        (lambda: NTK(6), "depth"),
        (lambda: as_metric(torch.tensor([float("nan")])), "finite"),
        (lambda: Lp(1.0)(torch.ones(2, 2), metric=twins.metric("full", 2, torch.Generator())), "diagonal=True"),
        (lambda: Laplace()(torch.ones(2, 2)), "with_bandwidth"),
        (lambda: Laplace().with_params(width=1.0), "no option 'width'"),
    ],
)
def test_bad_options_are_named(make, word):
    with pytest.raises(ValueError, match=word):
        make()


def test_nothing_needs_a_particular_device():
    """Values and gradients run on the meta device: no step reads a number where shapes would do... except distances,
    whose care for near pairs depends on the data; inner-product kernels have no such step."""
    X = torch.empty(10, 3, device="meta")
    x = Polynomial(2).prepare(X, twins.k.Identity(3, "meta"))
    assert Polynomial(2).block(x, x).device.type == "meta"
    assert Polynomial(2).gradient(x, x, torch.empty(10, 2, device="meta")).shape == (10, 2, 3)
