"""Laws of the polar factor and of the nearest matrix with a given Gram matrix."""

import math
import warnings

import pytest
import torch
from torch.testing import assert_close

from gramian.optim import nearest_with_gram, polar

# Newton–Schulz must get there by itself: a silent success of its fallback would test the SVD twice.
pytestmark = pytest.mark.filterwarnings("error:Newton")

METHODS = ["svd", "newton-schulz"]
SHAPES = [(5, 5), (3, 8), (9, 4), (1, 6), (6, 1)]


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def haar(m, seed):
    Q, R = torch.linalg.qr(draw(m, m, seed=seed))
    return Q * R.diagonal().sign()


@pytest.mark.parametrize("method", METHODS)
def test_polar_is_orthogonal_and_leaves_a_psd_factor(method):
    M = draw(6, 6)
    Q = polar(M, method)
    assert_close(Q.mT @ Q, torch.eye(6, dtype=M.dtype), atol=1e-12, rtol=0)
    P = Q.mT @ M
    assert_close(P, P.mT, atol=1e-11, rtol=0)
    assert torch.linalg.eigvalsh((P + P.mT) / 2).min() > -1e-11


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e6])
def test_newton_schulz_agrees_with_the_svd(condition):
    U, V = haar(8, 1), haar(8, 2)
    M = U @ torch.diag(torch.logspace(0, -math.log10(condition), 8, dtype=U.dtype)) @ V.mT
    # The polar factor moves by about eps · condition when M is rounded, so that is the agreement to ask for.
    assert_close(polar(M, "newton-schulz"), polar(M, "svd"), atol=1e-13 * condition + 1e-11, rtol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_gram_is_kept(shape, method):
    W1, W2 = draw(*shape), draw(*shape, seed=1)
    W = nearest_with_gram(W1, W2, method)
    assert_close(W.mT @ W, W2.mT @ W2, atol=1e-11, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_svd_and_newton_schulz_agree(shape):
    W1 = draw(*shape)
    W2 = W1 + 0.1 * draw(*shape, seed=1)
    assert_close(nearest_with_gram(W1, W2, "newton-schulz"), nearest_with_gram(W1, W2, "svd"), atol=1e-9, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_other_matrix_with_this_gram_is_nearer(shape):
    """Every matrix with W2's Gram is QW2 with Q orthogonal; far-off and nearby Q are both tried."""
    W1, W2 = draw(*shape), draw(*shape, seed=1)
    best = nearest_with_gram(W1, W2)
    distance = (best - W1).norm()
    for seed in range(50):
        skew = draw(shape[0], shape[0], seed=seed)
        nearby = torch.linalg.matrix_exp(1e-3 * (skew - skew.mT))
        for competitor in (haar(shape[0], seed) @ W2, nearby @ best):
            assert (competitor - W1).norm() >= distance - 1e-12


def test_thin_route_equals_the_square_one():
    """For m > k the work is done on k × k matrices; the formula itself has an m × m polar factor."""
    W1, W2 = draw(9, 4), draw(9, 4, seed=1)
    U, _, Vh = torch.linalg.svd(W1 @ W2.mT)
    assert_close(nearest_with_gram(W1, W2), U[:, :4] @ Vh[:4] @ W2, atol=1e-10, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_that_did_not_move_stays(method):
    W = draw(4, 6)
    assert_close(nearest_with_gram(W, W, method), W, atol=1e-12, rtol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_zero_start_follows_the_base_unrotated(shape, method):
    W2 = draw(*shape)
    assert_close(nearest_with_gram(torch.zeros_like(W2), W2, method), W2, atol=1e-7, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_zero_end_and_low_rank_are_safe(method):
    W1 = draw(5, 7)
    assert_close(nearest_with_gram(W1, torch.zeros_like(W1), method), torch.zeros_like(W1))
    low = draw(5, 2) @ draw(2, 7, seed=1)
    for start, end in ((low, W1), (W1, low), (low, low + draw(5, 1) @ draw(1, 7, seed=2))):
        with warnings.catch_warnings():
            # A rank-deficient start may be handed to the SVD.
            warnings.simplefilter("ignore", RuntimeWarning)
            W = nearest_with_gram(start, end, method)
        assert_close(W.mT @ W, end.mT @ end, atol=1e-8, rtol=0)


def test_singular_input_is_handed_to_the_svd_with_a_warning():
    with pytest.warns(RuntimeWarning, match="SVD instead"):
        Q = polar(torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64)), "newton-schulz")
    assert_close(Q.mT @ Q, torch.eye(2, dtype=torch.float64))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "tol"), [(torch.float32, 1e-4), (torch.bfloat16, 2e-1)])
def test_lower_precisions_stay_within_their_tolerance(dtype, tol, method):
    """The Gram is kept to the precision of the type: entries are about 8, so 1e-4 is 100 eps of float32."""
    W1, W2 = draw(6, 8).to(dtype), draw(6, 8, seed=1).to(dtype)
    W = nearest_with_gram(W1, W2, method)
    assert W.dtype == dtype
    assert_close(W.double().mT @ W.double(), W2.double().mT @ W2.double(), atol=tol, rtol=0)


def test_unknown_method_is_refused():
    # In the suite the annotation speaks first (a TypeError); without it the function does (a ValueError).
    for call in (
        lambda: polar(torch.eye(2), "qr"),
        lambda: nearest_with_gram(torch.eye(2), torch.eye(2), "qr"),
    ):
        with pytest.raises((ValueError, TypeError), match="newton-schulz"):
            call()
