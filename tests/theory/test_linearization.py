"""Paper E: the moving target, the growth of the surrogate and its bound on linearity."""

import pytest
import torch
from torch.testing import assert_close

from gramian.nets import surrogate, target_linearity
from gramian.theory import (
    best_linear_predictor,
    linearity_bound,
    moving_target,
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
    expected = 1 - 0.16 * (a + b) ** 2 / (4 * a**2 * b) * size / (surrogate(G, Y) + 0.4 * size)
    assert linearity_bound(G, Y, 0.4) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("share", [1.0, 1e-2, 1e-4])
def test_linearity_bound_is_nearly_attained_where_kantorovich_is_an_equality(share):
    """Columns with equal weight on the extreme eigenvectors: the error is (a² + b²)/(b(a + b)) of what is allowed."""
    Q = torch.linalg.qr(torch.cat([torch.ones(6, 1, dtype=F64), normal(6, 5)], 1))[0]
    b = 2.0
    a = share * b
    G = Q[:, [1, 2]] * torch.tensor([(a - a / 2) ** 0.5, (b - a / 2) ** 0.5], dtype=F64)
    G = torch.cat([G, Q[:, [0, 3, 4, 5]] * (a / 2) ** 0.5], 1)  # A = GGᵀ + a/2 has the eigenvalues a and b
    Y = torch.stack([Q[:, 1] + Q[:, 2], 3 * Q[:, 1] - 3 * Q[:, 2]], 1)  # centred, since Q[:, 0] is constant
    found = (1 - target_linearity(G, Y, a / 2, center=False)) / (1 - linearity_bound(G, Y, a / 2))
    assert found == pytest.approx((a**2 + b**2) / (b * (a + b)), rel=1e-8)
    assert found <= 1 + 1e-12


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
