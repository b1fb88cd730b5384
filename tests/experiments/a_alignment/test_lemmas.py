"""Lemmas (12)–(15) by brute force, and the construction of appendix F."""

import pytest
import torch

from gramian.core import haar
from gramian.experiments.a_alignment.appendix_f_why import Scales, scales
from gramian.experiments.a_alignment.lemmas import (
    Construction,
    CovarianceShare,
    FreeWords,
    construction,
    covariance_share,
    word_formula,
    words,
)


def test_formulas_are_exact_where_one_side_is_a_multiple_of_the_identity():
    rng = torch.Generator().manual_seed(0)
    C = [torch.randn(6, 6, generator=rng, dtype=torch.float64) for _ in range(4)]
    C = [A - A.trace() / 6 * torch.eye(6) for A in C]
    R = [k * torch.eye(6, dtype=torch.float64) for k in (1, 2, 3, 4)]
    for length in (2, 3, 4):
        product = C[0] @ R[0]
        for A, B in zip(C[1:length], R[1:length], strict=True):
            product = product @ A @ B
        assert word_formula(C[:length], R[:length]) == pytest.approx(float(product.trace() / 6))


def test_the_formula_of_four_factors_is_the_mean_over_rotations():
    """Centred diagonal matrices with moments of their own; the mean over 200 rotations is within a few per cent."""
    rng = torch.Generator().manual_seed(1)
    size = 60
    C = [torch.randn(size, generator=rng, dtype=torch.float64).diag() for _ in range(2)]
    C = [A - A.trace() / size * torch.eye(size) for A in C]
    C = [C[0], C[0], C[1], C[1]]
    R = [(1 + torch.rand(size, generator=rng, dtype=torch.float64)).diag() for _ in range(2)] * 2
    mean = 0.0
    for _ in range(200):
        U = haar(size, rng)
        turned = [U @ M @ U.mT for M in R]
        word = torch.eye(size, dtype=torch.float64)
        for A, B in zip(C, turned, strict=True):
            word = word @ A @ B
        mean += float(word.trace()) / size / 200
    assert mean == pytest.approx(word_formula(C, R), rel=0.1)


def test_words_with_common_eigenvectors_do_not_follow_the_formulas():
    numbers = words(FreeWords(60, 2), 0).numbers
    assert numbers["12/aligned"] > 0.5
    assert all(numbers[f"{name}/aligned"] > 3 for name in ("13", "14", "15"))


def test_the_covariance_term_falls_with_the_width():
    numbers = covariance_share(CovarianceShare(widths=(8, 256), draws=400), 0).numbers
    assert numbers["narrow"] > 0.3 > numbers["wide"]


def test_the_construction_needs_an_inverse_and_a_small_first_part():
    assert construction(Construction(16, 8, 0.25, printed=False), 0).numbers["invertible/square"] < 1e-8
    assert construction(Construction(16), 0).numbers["printed/square"] > 0.9
    numbers = scales(Scales(16), 0).numbers
    assert numbers["identity/printed"] < 0.3 < 0.99 < numbers["identity/smallest"]
