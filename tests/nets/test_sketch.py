"""Sketches and thin factors against the dense matrices."""

import pytest
import torch

from gramian.core import cosine, psd_eigh
from gramian.nets.sketch import gram_eigh, nystrom_factor, probed_cosine


def draw(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_nystrom_factor_is_exact_up_to_the_number_of_probes():
    Y, probes = draw(4, 30, seed=1), draw(30, 6, seed=2)
    A = Y.mT @ Y
    factor = nystrom_factor(A @ probes, probes)
    assert factor.shape == (4, 30)
    torch.testing.assert_close(factor.mT @ factor, A)


def test_the_probed_cosine_is_within_its_error_bar():
    A, B = (Y.mT @ Y for Y in (draw(20, 30, seed=1), draw(40, 30, seed=2)))
    probes = draw(30, 400, seed=3)
    value, error = probed_cosine(A @ probes, B @ probes)
    assert 0 < error < 0.1
    assert value == pytest.approx(cosine(A, B), abs=4 * error)


@pytest.mark.parametrize("shape", [(3, 8), (8, 3), (5, 5)])
def test_eigenpairs_of_a_gram_matrix_come_from_either_side(shape):
    Y = draw(*shape, seed=4)
    values, vectors = gram_eigh(Y)
    expected = psd_eigh(Y.mT @ Y)
    torch.testing.assert_close(values, expected[0][: len(values)])
    torch.testing.assert_close(vectors, expected[1][:, : len(values)], atol=1e-8, rtol=1e-8)
