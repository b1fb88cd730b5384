"""Paper E: the moving target, the growth of the surrogate, its bound on linearity, linear interpolation."""

import itertools

import pytest
import torch
from torch.testing import assert_close

from gramian.nets import surrogate, target_linearity
from gramian.theory import (
    best_linear_predictor,
    beta_vae_loss,
    interpolation_bound,
    interpolation_gap,
    interpolation_split,
    linearity_bound,
    moving_target,
    ols_decoder,
    surrogate_growth,
)

F64 = torch.float64


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


@pytest.mark.parametrize("ridge", [0.3, 7.0])
def test_best_linear_predictor_is_the_normal_equations(ridge):
    H, Y = normal(9, 4), normal(9, 2, seed=1)
    expected = H @ torch.linalg.solve(H.mT @ H + ridge * torch.eye(4, dtype=F64), H.mT @ Y)
    assert_close(best_linear_predictor(H, Y, ridge), expected)


def test_without_a_ridge_it_is_least_squares_also_with_repeated_and_dead_features():
    H, Y = normal(9, 4), normal(9, 2, seed=1)
    wide = torch.cat([H, H[:, :2], torch.zeros(9, 1, dtype=F64)], 1)
    expected = H @ torch.linalg.lstsq(H, Y).solution
    for features in (H, wide):
        assert_close(best_linear_predictor(features, Y), expected)
    assert_close(H @ H.mT @ expected, H @ H.mT @ Y)  # paper E: y and f* coincide under HHᵀ
    with pytest.raises(ValueError, match="ridge must be"):
        best_linear_predictor(H, Y, -1.0)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_moving_target_splits_the_error_sample_by_sample(ridge):
    H, Y, F = normal(11, 3), normal(11, 2, seed=1), normal(11, 2, seed=2)
    split = moving_target(H, Y, F, ridge)
    star = best_linear_predictor(H, Y, ridge)
    sums = [0.0, 0.0, 0.0]
    for y, f, s in zip(Y, F, star, strict=True):
        for j, part in enumerate((y - f, f - s, s - y)):
            sums[j] += sum(float(v) ** 2 for v in part)
    assert [split.error**2, split.chase**2, split.gap**2] == pytest.approx(sums, rel=1e-12)
    assert split.error**2 == pytest.approx(split.chase**2 + split.gap**2 + split.cross, rel=1e-12)
    assert split.error <= split.bound


def test_a_linear_readout_turns_the_triangle_into_pythagoras():
    H, Y = normal(11, 3), normal(11, 2, seed=1)
    F = H @ normal(3, 2, seed=2)
    assert moving_target(H, Y, F).cross == pytest.approx(0.0, abs=1e-12)
    assert abs(moving_target(H, Y, F, ridge=2.0).cross) > 0.1


def test_gap_is_what_target_linearity_measures():
    H, Y = normal(40, 3), normal(40, 2, seed=1)
    H, Y = H - H.mean(0), Y - Y.mean(0)
    split = moving_target(H, Y, torch.zeros_like(Y), ridge=0.7)
    expected = 1 - split.gap**2 / float(Y.square().sum())
    assert target_linearity(H, Y, ridge=0.7) == pytest.approx(expected, rel=1e-12)


def train(width, *, features, steps=400):
    """A two-layer network in the NTK parametrisation; with ``features=False`` the first layer stays as it began."""
    X = normal(30, 4)
    y = X[:, :1] * X[:, 1:2]
    W, a = normal(width, 4, seed=3).requires_grad_(features), (normal(1, width, seed=4) * 0.1).requires_grad_()
    hidden = lambda: torch.relu(X @ W.mT / 2) * (2 / width) ** 0.5  # noqa: E731
    splits = []
    for step in range(steps):
        H = hidden()
        F = H @ a.mT
        if step in (0, steps - 1):
            splits.append(moving_target(H.detach(), y, F.detach()))
        grads = torch.autograd.grad((F - y).square().mean(), [a, W] if features else [a])
        with torch.no_grad():
            for p, g in zip([a, W], grads, strict=False):
                p -= 0.5 * g
    return splits


def test_lazy_training_chases_a_target_that_stands_still_and_feature_learning_moves_it():
    """Paper E, Fig. 8: the gap falls only where features are learned; the chase falls in both."""
    lazy, rich = train(8, features=False), train(8, features=True)
    assert lazy[1].gap == pytest.approx(lazy[0].gap, rel=1e-12)
    assert rich[1].gap < 0.8 * rich[0].gap
    for first, last in (lazy, rich):
        assert last.chase < 0.8 * first.chase


def stepped(H, y, v, W, phi, step):
    """S before and after one step of gradient descent on the mean squared loss in W alone."""
    W = W.clone().requires_grad_()
    f = phi(H @ W.mT) @ v
    (grad,) = torch.autograd.grad((f - y).square().mean(), W)
    S = [float((V @ H.mT @ y).square().sum()) for V in (W.detach(), W.detach() - step * grad)]
    return f.detach(), S[1] - S[0]


def test_surrogate_grows_as_theorem_3_says_for_a_linear_network():
    H, y, v, W = normal(12, 4), normal(12, seed=1), normal(5, seed=2), normal(5, 4, seed=3)
    errors = []
    for step in (1e-3, 1e-4):
        f, growth = stepped(H, y, v, W, lambda z: z, step)
        predicted = surrogate_growth(H, y, f, 2 * (f - y), step)
        errors.append(abs(growth / predicted - 1))
    assert errors[1] < 1e-2
    assert errors[1] == pytest.approx(errors[0] / 10, rel=0.05)  # what is left is the next order in η
    star = best_linear_predictor(H, y[:, None])[:, 0]
    assert surrogate_growth(H, y, f, 2 * (f - star), 1e-4) == pytest.approx(predicted, rel=1e-10)


def test_surrogate_growth_is_first_order_near_one_sample_for_a_homogeneous_network():
    """ReLU is piecewise linear: samples in one region behave as in a linear network, exactly."""
    H = normal(1, 4) + 1e-3 * normal(12, 4, seed=5)
    y, v, W = 1 + normal(12, seed=1).abs(), normal(6, seed=2), normal(6, 4, seed=3)
    f, growth = stepped(H, y, v, W, torch.relu, 1e-7)
    assert surrogate_growth(H, y, f, 2 * (f - y), 1e-7) == pytest.approx(growth, rel=1e-2)


@pytest.mark.parametrize(("n", "m"), [(7, 4), (7, 7), (7, 12)])
@pytest.mark.parametrize("ridge", [0.1, 3.0])
def test_linearity_is_above_its_bound(n, m, ridge):
    for seed in range(20):
        G, Y = normal(n, m, seed=seed), normal(n, 2, seed=100 + seed)
        Y = Y - Y.mean(0)
        assert linearity_bound(G, Y, ridge) <= target_linearity(G, Y, ridge, center=False)


def test_linearity_bound_is_the_formula_and_attained_by_one_eigenvalue():
    Y = normal(5, 2)
    Y = Y - Y.mean(0)
    G = 1.7 * torch.eye(5, dtype=F64)
    assert linearity_bound(G, Y, 0.4) == pytest.approx(target_linearity(G, Y, 0.4, center=False), rel=1e-10)
    G = normal(5, 3, seed=2)
    values = torch.linalg.eigvalsh(G @ G.mT + 0.4 * torch.eye(5, dtype=F64))
    a, b, size = float(values[0]), float(values[-1]), float(Y.square().sum())
    kappa = (a**2 + b**2) ** 2 / (4 * a**2 * b**2)
    expected = 1 - 0.16 * kappa * size**2 / (surrogate(G, Y) + 0.4 * size) ** 2
    assert linearity_bound(G, Y, 0.4) == pytest.approx(expected, rel=1e-10)


def test_linearity_bound_explains_its_mistakes():
    with pytest.raises(ValueError, match="ridge must be positive"):
        linearity_bound(normal(3, 2), normal(3, 1), 0.0)
    with pytest.raises(ValueError, match="constant"):
        linearity_bound(normal(3, 2), torch.ones(3, 1, dtype=F64), 1.0)


def test_collapsed_classes_saturate_the_surrogate():
    """Proposition 2: tr(YᵀGY) = ⟨G, YYᵀ⟩ is largest for its norm when G ∝ YYᵀ, as NC1 and NC2 make it."""
    labels = torch.arange(12) % 3
    Y = torch.nn.functional.one_hot(labels, 3).double()
    Y = Y - Y.mean(0)
    basis = torch.linalg.qr(normal(6, 3))[0]
    simplex = (torch.eye(3, dtype=F64) - 1 / 3) @ basis.mT  # class means: a simplex ETF
    for spread, saturated in ((0.0, True), (0.3, False)):
        H = simplex[labels] + spread * normal(12, 6, seed=1)
        H = H - H.mean(0)
        most = float((H @ H.mT).norm() * (Y @ Y.mT).norm())
        assert surrogate(H, Y) <= most * (1 + 1e-12)
        assert (surrogate(H, Y) == pytest.approx(most, rel=1e-10)) is saturated


def codes():
    Z = normal(10, 2)
    X = Z @ normal(2, 5, seed=1) + 0.5 * normal(10, 5, seed=2) + 3
    return Z, X


def bent(z):
    return torch.cat([z.sin(), z.square(), z[:, :1]], 1) + 3


def naive_gap(decode, Z, X, weight, pairs):
    total = 0.0
    for i, j in pairs:
        z = weight * Z[i] + (1 - weight) * Z[j]
        total += float((decode(z[None])[0] - weight * X[i] - (1 - weight) * X[j]).square().sum())
    return (total / len(pairs)) ** 0.5


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5])
def test_interpolation_gap_equals_a_loop_over_pairs(weight):
    Z, X = codes()
    every = list(itertools.product(range(10), repeat=2))
    some = [(0, 3), (7, 2), (2, 2)]
    assert interpolation_gap(bent, Z, X, weight) == pytest.approx(naive_gap(bent, Z, X, weight, every), rel=1e-12)
    found = interpolation_gap(bent, Z, X, weight, torch.tensor(some))
    assert found == pytest.approx(naive_gap(bent, Z, X, weight, some), rel=1e-12)


def test_bound_is_least_squares_and_the_root_of_what_linearity_leaves():
    Z, X = codes()
    A = torch.cat([Z, torch.ones(10, 1, dtype=F64)], 1)
    residual = X - A @ torch.linalg.lstsq(A, X).solution
    bound = interpolation_bound(Z, X)
    assert bound == pytest.approx(float(residual.square().sum(1).mean().sqrt()), rel=1e-12)
    spread = float((X - X.mean(0)).square().sum(1).mean())
    assert bound**2 == pytest.approx((1 - target_linearity(Z, X, ridge=0.0)) * spread, rel=1e-10)


@pytest.mark.parametrize("weight", [0.0, 0.2, 0.5, 1.0])
def test_proposition_3(weight):
    """The least-squares map interpolates at √(λ² + (1 − λ)²) of its reconstruction error; others depart from it."""
    Z, X = codes()
    bound = interpolation_bound(Z, X)
    gap = interpolation_gap(ols_decoder(Z, X), Z, X, weight)
    assert gap == pytest.approx((weight**2 + (1 - weight) ** 2) ** 0.5 * bound, rel=1e-10)
    split = interpolation_split(bent, Z, X, weight)
    assert split.linear == pytest.approx(gap, rel=1e-12)
    assert split.bound == bound
    assert split.gap == pytest.approx(interpolation_gap(bent, Z, X, weight), rel=1e-12)
    assert split.gap <= split.departure + split.linear
    assert split.linear <= split.bound * (1 + 1e-12)


def test_a_weight_outside_the_segment_is_refused():
    Z, X = codes()
    with pytest.raises(ValueError, match=r"weight must lie in \[0, 1\]"):
        interpolation_gap(bent, Z, X, 1.5)


def test_beta_vae_loss_is_its_distributions_divergence():
    X, D, mean, log_variance = normal(4, 3), normal(4, 3, seed=1), normal(4, 2, seed=2), normal(4, 2, seed=3)
    one = torch.distributions.Normal(mean, (log_variance / 2).exp())
    kl = torch.distributions.kl_divergence(one, torch.distributions.Normal(0.0, 1.0)).sum(1)
    assert_close(beta_vae_loss(X, D, mean, log_variance, beta=0.7), (X - D).square().sum(1) + 0.7 * kl)
