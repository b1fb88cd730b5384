import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from gramian.core import (
    cosine,
    effective_rank,
    parse_bytes,
    pearson,
    psd_eigh,
    psd_factor,
    psd_power,
    resolve_device,
    resolve_dtype,
    threads,
)
from gramian.core.tiles import rowwise_matmul, spans, upper_tiles

matrices = hnp.arrays(np.float64, (4, 4), elements=st.floats(-10, 10, allow_subnormal=False))


@given(matrices, st.sampled_from([0.25, 0.5, 1.0, 2.0]))
@settings(max_examples=50, deadline=None)
def test_powers_and_factors_of_a_gram_matrix(B, power):
    A = torch.from_numpy(B @ B.T)
    size = float(A.abs().max()) ** power
    P = psd_power(A, power)
    torch.testing.assert_close(P, P.T, rtol=0, atol=1e-9 * (1 + size))
    F = psd_factor(A, power)
    torch.testing.assert_close(F @ F.T, P, rtol=1e-6, atol=1e-6 * (1 + size))
    values, vectors = psd_eigh(A)
    assert bool((values[:-1] >= values[1:]).all())
    assert bool((vectors.gather(0, vectors.abs().argmax(0, keepdim=True)) > 0).all())


@given(matrices, st.floats(0.1, 10), st.floats(-5, 5))
@settings(max_examples=50, deadline=None)
def test_similarities_are_invariant_as_they_should_be(B, scale, offset):
    A = torch.from_numpy(B + 20 * np.eye(4))
    B = torch.from_numpy(B.T - 20 * np.eye(4))
    assert cosine(A, scale * A) == pytest.approx(1)
    assert cosine(A, B) == pytest.approx(cosine(B, A))
    assert pearson(A, B) == pytest.approx(pearson(scale * A + offset, B), abs=1e-9)
    assert cosine(1e200 * A, 1e-200 * B) == pytest.approx(cosine(A, B))


def test_effective_rank():
    assert effective_rank(torch.tensor([1.0, 0, 0])) == pytest.approx(1)
    assert effective_rank(torch.zeros(3)) == 0


@given(st.integers(1, 40), st.integers(1, 12))
def test_tiles_cover_everything_once(n, size):
    assert [i for s in spans(n, size) for i in range(s.start, s.stop)] == list(range(n))
    seen = np.zeros((n, n), dtype=int)
    for rows, cols in upper_tiles(n, size):
        seen[rows, cols] += 1
        if rows != cols:
            seen[cols, rows] += 1
    assert (seen == 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("k", [1, 3, 17, 40])
def test_rowwise_products_do_not_depend_on_the_batch(dtype, k, rng):
    X, A = torch.randn(300, 20, generator=rng, dtype=dtype), torch.randn(20, k, generator=rng, dtype=dtype)
    whole = rowwise_matmul(X, A)
    torch.testing.assert_close(whole, X @ A, rtol=1e-4, atol=1e-4)
    for rows in (slice(0, 1), slice(5, 9), slice(127, 129), slice(128, 300)):
        assert torch.equal(rowwise_matmul(X[rows], A), whole[rows])


def test_machine_questions():
    assert parse_bytes("1 KiB") == 1024
    assert parse_bytes(5) == 5
    for bad in ("much", "-1GB", 0):
        with pytest.raises(ValueError, match="memory size"):
            parse_bytes(bad)
    with pytest.raises(ValueError, match="device"):
        resolve_device("abacus")
    with pytest.raises(ValueError, match="dtype"):
        resolve_dtype("float16", 10, torch.device("cpu"))
    with pytest.raises(ValueError, match="float64"):
        resolve_dtype("float64", 10, torch.device("mps"))
    assert resolve_dtype("auto", 10**6, torch.device("cpu")) == torch.float32
    with pytest.raises(ValueError, match="n_threads"), threads(0):
        pass


def test_threads_are_put_back_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(KeyError), threads(1):
        raise KeyError
    assert torch.get_num_threads() == before
