"""Laws of the polar factor and of the nearest matrix with a given Gram matrix."""

import math
import sys

import pytest
import torch
from torch.testing import assert_close

from gramian.optim import nearest_with_gram, polar

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [1e-14, 1e-9, 1e-6, 1e-3, 1e-1, 1.0])
def test_newton_schulz_finds_the_true_factor_at_every_condition(share, dtype):
    """``share`` is the condition as a share of what the dtype can hold, 1/eps."""
    eps = torch.finfo(dtype).eps
    condition = max(1.0, share / eps / 10)
    U, V = haar(8, 1), haar(8, 2)
    M = U @ torch.diag(torch.logspace(0, -math.log10(condition), 8, dtype=U.dtype)) @ V.mT
    Q = polar(M.to(dtype), "newton-schulz").double()
    assert_close(Q @ Q.mT, torch.eye(8, dtype=Q.dtype), atol=20 * eps, rtol=0)
    # The factor itself moves by about eps · condition when M is rounded to the dtype, which no method can undo.
    assert_close(Q, U @ V.mT, atol=10 * eps * condition + 20 * eps, rtol=0)
    svd = polar(M.to(dtype), "svd").double()
    assert_close(Q, svd, atol=20 * eps * condition + 20 * eps, rtol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_the_factor_has_no_scale(scale, method):
    """Squares of these entries are out of the range of float64."""
    M = draw(5, 5)
    assert_close(polar(scale * M, method), polar(M, method), atol=1e-12, rtol=0)
    W1, W2 = draw(4, 7), draw(4, 7, seed=1)
    expected = nearest_with_gram(W1, W2, method)
    assert_close(nearest_with_gram(scale * W1, W2, method), expected, atol=1e-11, rtol=0)
    assert_close(nearest_with_gram(W1, scale * W2, method) / scale, expected, atol=1e-11, rtol=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_batch_is_its_matrices_one_by_one(shape, method):
    W1, W2 = draw(2, 3, *shape), draw(2, 3, *shape, seed=1)
    W1[0, 1] = 0
    together = nearest_with_gram(W1, W2, method)
    for i in range(2):
        for j in range(3):
            assert_close(together[i, j], nearest_with_gram(W1[i, j], W2[i, j], method), atol=1e-9, rtol=0)


@pytest.mark.parametrize("shape", [(3, 200), (200, 3)])
def test_the_factor_is_taken_on_the_small_side(shape, monkeypatch):
    seen = []

    def record(M):
        seen.append(tuple(M.shape))
        return M

    # The package has a function of the module's name, so that the module is found in sys.modules only.
    monkeypatch.setattr(sys.modules["gramian.optim.polar"], "_newton_schulz", record)
    nearest_with_gram(draw(*shape), draw(*shape, seed=1), "newton-schulz")
    assert seen == [(3, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_newton_schulz_never_looks_at_a_number(shape):
    """A tensor on the meta device has no numbers: whatever waits for one raises."""
    W = torch.empty(*shape, device="meta")
    assert nearest_with_gram(W, W, "newton-schulz").shape == shape
    assert polar(torch.empty(4, 4, device="meta"), "newton-schulz").device.type == "meta"


@pytest.mark.parametrize("method", METHODS)
def test_random_singular_matrices_keep_the_gram_in_float32(method):
    """Weights in training are float32, and a convolution before a dead unit may have any rank."""
    for rank in range(4):
        for seed in range(5):
            low = (draw(12, rank, seed=seed) @ draw(rank, 9, seed=seed + 50)).float()
            for W1, W2 in ((low, low), (low, low + 0.1 * draw(12, 9, seed=9).float()), (draw(12, 9).float(), low)):
                for A, B in ((W1, W2), (W1.mT, W2.mT)):
                    W = nearest_with_gram(A, B, method).double()
                    gram = B.double().mT @ B.double()
                    assert_close(W.mT @ W, gram, atol=2e-5 * max(1.0, gram.abs().max().item()), rtol=0)


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
        W = nearest_with_gram(start, end, method)
        assert_close(W.mT @ W, end.mT @ end, atol=1e-8, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_a_singular_matrix_has_its_factor_on_the_directions_it_has(method):
    U, V = haar(6, 1), haar(6, 2)
    Q = polar(U[:, :4] @ torch.diag(torch.tensor([4.0, 3.0, 2.0, 1.0], dtype=U.dtype)) @ V[:, :4].mT, method)
    assert_close(Q @ V[:, :4], U[:, :4], atol=1e-13, rtol=0)
    assert torch.linalg.matrix_norm(Q, 2) < 1.2
    if method == "svd":
        assert_close(Q.mT @ Q, torch.eye(6, dtype=Q.dtype), atol=1e-13, rtol=0)
    assert bool(polar(torch.zeros(3, 3), method).isfinite().all())


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
