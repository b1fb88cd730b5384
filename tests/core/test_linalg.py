"""Laws of powers, factors and similarities of symmetric matrices."""

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings

from gramian.core import (
    cosine,
    effective_rank,
    pearson,
    psd_eigh,
    psd_factor,
    psd_power,
)

matrices = hnp.arrays(np.float64, (4, 4), elements=st.floats(-10, 10, allow_subnormal=False))


@given(matrices, st.sampled_from([0.25, 0.5, 1.0, 2.0]))
@settings(max_examples=50)
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
@settings(max_examples=50)
def test_similarities_are_invariant_to_scale_and_offset(B, scale, offset):
    A = torch.from_numpy(B + 20 * np.eye(4))
    B = torch.from_numpy(B.T - 20 * np.eye(4))
    assert cosine(A, scale * A) == pytest.approx(1)
    assert cosine(A, B) == pytest.approx(cosine(B, A))
    assert pearson(A, B) == pytest.approx(pearson(scale * A + offset, B), abs=1e-9)
    assert cosine(1e200 * A, 1e-200 * B) == pytest.approx(cosine(A, B))


def test_the_effective_rank_of_one_direction_is_one_and_of_none_is_zero():
    assert effective_rank(torch.tensor([1.0, 0, 0])) == pytest.approx(1)
    assert effective_rank(torch.zeros(3)) == 0
