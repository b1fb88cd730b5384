"""The free-probability prediction of paper A against matrices drawn at random."""

import math

import pytest
import torch
from torch.testing import assert_close

from gramian.theory import (
    data_moments,
    decaying_gaussian,
    early_alignment,
    first_denominator,
    haar,
    label_moment,
    limiting_weight_moments,
    moments_of,
    numerator,
    predicted_alignment,
    printed,
    sample_quadratic,
    sampled_weight_moments,
    second_denominator,
    weight_moments,
)
from theory.draws import F64, free_pair, generator, randn, tr

WORDS = {
    "numerator": (numerator, lambda A, B, R: A @ R @ A @ R @ B @ R),
    "first_denominator": (first_denominator, lambda A, B, R: A @ R @ A @ R),
    "second_denominator": (second_denominator, lambda A, B, R: A @ R @ B @ R @ A @ R @ B @ R),
}


@pytest.mark.parametrize("name", WORDS)
def test_traces_of_free_matrices(name):
    """R is rotated by Haar matrices, so freeness holds up to O(1/d²) in the mean and O(1/d) in one draw.

    With d = 200 and 8 draws the standard error is below 1 % of the value; 3 % is asked for.
    """
    formula, word = WORDS[name]
    rng = generator(1)
    A, B, spectrum = free_pair(200, rng)
    draws = []
    for _ in range(8):
        U = haar(200, rng)
        draws.append(tr(word(A, B, (U * spectrum) @ U.mT)))
    predicted = formula(moments_of(A, B), weight_moments(torch.diag(spectrum)))
    assert sum(draws) / 8 == pytest.approx(predicted, rel=0.03)


@pytest.mark.parametrize("name", WORDS)
def test_exact_when_the_weights_are_a_multiple_of_the_identity(name):
    formula, word = WORDS[name]
    A, B, _ = free_pair(12, generator(2))
    R = 1.7 * torch.eye(12, dtype=F64)
    assert formula(moments_of(A, B), weight_moments(R)) == pytest.approx(tr(word(A, B, R)), rel=1e-12)


@pytest.mark.parametrize("name", WORDS)
def test_exact_when_the_data_are_multiples_of_the_identity(name):
    formula, word = WORDS[name]
    R = sample_quadratic(10, 20, generator(3)).weight_kernel()
    A, B = 1.3 * torch.eye(10, dtype=F64), 0.4 * torch.eye(10, dtype=F64)
    assert formula(moments_of(A, B), weight_moments(R)) == pytest.approx(tr(word(A, B, R)), rel=1e-10)


def test_isotropic_data_gives_equation_6():
    A, _, spectrum = free_pair(20, generator(4))
    D, w = moments_of(A, torch.eye(20, dtype=F64)), weight_moments(torch.diag(spectrum))
    assert numerator(D, w) == pytest.approx(D.a**2 * w.r3 + w.r1 * w.r2 * D.aa, rel=1e-12)


LABELS = {
    "random": lambda X, rng: randn(X.shape[0], rng=rng),
    "signs": lambda X, rng: randn(X.shape[0], rng=rng).sign(),
    "norms": lambda X, rng: X.square().sum(1),
}


@pytest.mark.parametrize("labels", LABELS)
def test_prediction_meets_observation_and_the_printed_one_does_not(labels):
    """d = n = k = 400, each network with its own moments; the alignment of one draw scatters by about 0.01.

    Four draws are averaged, so 0.025 is five standard errors; the printed formula is off by 0.03 to 0.15.
    """
    rng = generator(5)
    d = 400
    X, _ = decaying_gaussian(d, d, 0.3, rng)
    y = LABELS[labels](X, rng)
    D = data_moments(X, y)
    gaps, printed_gaps = [], []
    for _ in range(4):
        R = sample_quadratic(d, d, rng).weight_kernel()
        observed, w = early_alignment(X, y, R), weight_moments(R)
        gaps.append(predicted_alignment(D, w) - observed)
        printed_gaps.append(printed.alignment(D, w) - observed)
    assert abs(sum(gaps) / 4) < 0.025
    assert abs(sum(gaps)) < abs(sum(printed_gaps)) / 2


def test_prediction_does_not_depend_on_scales():
    rng = generator(6)
    X, y = randn(30, 20, rng=rng), randn(30, rng=rng)
    w = limiting_weight_moments(0.5)
    assert predicted_alignment(data_moments(3 * X, -7 * y), w) == pytest.approx(
        predicted_alignment(data_moments(X, y), w), rel=1e-10
    )


def test_data_moments_by_hand():
    rng = generator(7)
    X, y = randn(9, 5, rng=rng), randn(9, rng=rng)
    S = sum(yi * torch.outer(xi, xi) for xi, yi in zip(X, y, strict=True))
    assert_close(label_moment(X, y), S)
    eye = torch.eye(5, dtype=F64)
    A, B = S @ S, X.mT @ X
    A, B = A - tr(A) * eye, B - tr(B) * eye
    D = data_moments(X, y)
    for name, M in {"aa": A @ A, "bb": B @ B, "ab": A @ B, "aab": A @ A @ B, "abb": A @ B @ B}.items():
        assert getattr(D, name) == pytest.approx(tr(M), rel=1e-9)
    assert D.abab == pytest.approx(tr(A @ B @ A @ B), rel=1e-9)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 2.5])
def test_limiting_moments_obey_the_moment_cumulant_recursion(ratio):
    """``m_n = Σ_s κ_s Σ_{i₁+…+i_s = n−s} m_{i₁}…m_{i_s}``, the definition of free cumulants (Speicher)."""
    cumulants = [ratio ** (p - 1) * math.prod(range(1, 2 * p, 2)) for p in range(1, 5)]

    def compositions(total, parts):
        if parts == 1:
            return [(total,)]
        return [(i, *rest) for i in range(total + 1) for rest in compositions(total - i, parts - 1)]

    moments = [1.0]
    for n in range(1, 5):
        moments.append(
            sum(
                cumulants[s - 1] * sum(math.prod(moments[i] for i in split) for split in compositions(n - s, s))
                for s in range(1, n + 1)
            )
        )
    w = limiting_weight_moments(ratio)
    assert [w.r1, w.r2, w.r3, w.r4] == pytest.approx(moments[1:], rel=1e-12)


@pytest.mark.parametrize(("d", "k"), [(8, 8), (6, 24)])
def test_sampled_second_moment_has_its_exact_mean(d, k):
    """By Wick's rule ``E tr[R] = 1`` and ``E tr[R²] = 1 + (3d + 5)/k`` at any size; five errors allowed."""
    rng = generator(8)
    draws = [weight_moments(sample_quadratic(d, k, rng).weight_kernel()) for _ in range(3000)]
    for name, exact in (("r1", 1.0), ("r2", 1 + (3 * d + 5) / k)):
        values = torch.tensor([getattr(w, name) for w in draws])
        assert abs(values.mean() - exact) < 5 * values.std() / len(draws) ** 0.5


def test_sampled_moments_approach_the_limit():
    """At d = k = 300 the finite-size excess is O(1/d), and a¹⁶ makes single draws of r₄ scatter by 40 %."""
    w, limit = sampled_weight_moments(300, 300, generator(9), draws=20), limiting_weight_moments(1.0)
    assert w.r1 == pytest.approx(limit.r1, rel=0.05)
    assert w.r2 == pytest.approx(limit.r2, rel=0.10)
    assert w.r3 == pytest.approx(limit.r3, rel=0.20)
    assert w.r4 == pytest.approx(limit.r4, rel=0.35)


def test_negative_ratio_is_refused():
    with pytest.raises(ValueError, match="ratio"):
        limiting_weight_moments(-1.0)
