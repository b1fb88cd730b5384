"""Numbers on the smaller side equal those of full decompositions in float64, in every precision and shape."""

import math

import pytest
import torch

from gramian.core import cosine, effective_rank
from gramian.nets.checkpoints import spectra
from gramian.nets.checkpoints.spectra import (
    change_numbers,
    gram,
    gram_of_change,
    imbalance,
    random_effective_rank,
    spectrum,
    top_inputs,
    weight_numbers,
)
from gramian.nets.geometry import balancedness

SHAPES = [(7, 5), (5, 7), (6, 6), (1500, 9), (9, 1500), (1, 4), (4, 1)]


@pytest.fixture(params=["float64", "float32"])
def precision(request, monkeypatch):
    """The path of small matrices, and that of large ones."""
    if request.param == "float32":
        monkeypatch.setattr(spectra, "EXACT_SIZE", 0)
    return 1e-10 if request.param == "float64" else 3e-5


def pair(shape, dtype=torch.float64):
    rng = torch.Generator().manual_seed(sum(shape))
    W0 = torch.randn(shape, generator=rng, dtype=torch.float64)
    return (W0 + 0.3 * torch.randn(shape, generator=rng, dtype=torch.float64)).to(dtype), W0.to(dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_spectrum_is_that_of_a_singular_value_decomposition(shape, precision):
    W, _ = pair(shape)
    expected = torch.linalg.svdvals(W).square()
    assert torch.allclose(spectrum(W), expected, atol=precision * float(expected[0]))
    numbers = weight_numbers(spectrum(W), 1, *shape)
    assert numbers["norm"] == pytest.approx(float(W.norm()), rel=precision)
    assert numbers["spectral_norm"] == pytest.approx(float(torch.linalg.matrix_norm(W, 2)), rel=precision)
    assert numbers["stable_rank"] == pytest.approx(float(expected.sum() / expected[0]), rel=precision)
    assert numbers["effective_rank"] == pytest.approx(effective_rank(expected), rel=10 * precision)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_change_equals_the_naive_reading(shape, precision):
    W, W0 = pair(shape)
    k = 3
    values, numbers, angles = change_numbers(W, W0, k)
    assert torch.allclose(values, torch.linalg.svdvals(W).square(), atol=precision * float(values[0]))
    assert numbers["weight_change"] == pytest.approx(float((W - W0).norm() / W0.norm()), rel=10 * precision)
    assert numbers["nfm_cos"] == pytest.approx(cosine(W.mT @ W, W0.mT @ W0), rel=10 * precision)
    change = torch.linalg.svdvals(W - W0).square()
    assert numbers["change_rank"] == pytest.approx(effective_rank(change), rel=10 * precision)
    if shape[1] <= k:
        assert math.isnan(numbers["nfm_overlap"])
        assert angles == []
        return
    V, V0 = (torch.linalg.svd(one, full_matrices=False).Vh[:k].mT for one in (W, W0))
    cosines = torch.linalg.svdvals(V.mT @ V0)
    assert numbers["nfm_overlap"] == pytest.approx(float(cosines.square().mean()), rel=1e3 * precision)
    assert angles == pytest.approx(torch.rad2deg(cosines.clamp(max=1).arccos()).tolist(), abs=0.1)
    assert numbers["largest_angle"] == angles[-1]


def test_equal_weights_have_not_changed():
    W, _ = pair((8, 9))
    _, numbers, angles = change_numbers(W, W.clone(), 2)
    assert numbers["weight_change"] == 0
    assert numbers["nfm_cos"] == pytest.approx(1)
    assert math.isnan(numbers["change_rank"]), "a change of 0 has no direction"
    assert max(angles) < 1e-4
    assert numbers["nfm_overlap"] == pytest.approx(1)


def test_weights_of_zero():
    W, Z = torch.ones(4, 6), torch.zeros(4, 6)
    _, numbers, angles = change_numbers(W, Z, 2)
    assert all(math.isnan(numbers[name]) for name in ("weight_change", "nfm_cos", "nfm_overlap", "largest_angle"))
    assert angles == []
    assert numbers["change_rank"] == pytest.approx(1)
    zero = weight_numbers(spectrum(Z), 1, 4, 6)
    assert zero["norm"] == zero["effective_rank"] == 0
    assert math.isnan(zero["stable_rank"])


def test_directions_beyond_the_rank_are_left_out():
    W = torch.outer(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.0, 1.0, 0.0, 0.0]))
    _, V = top_inputs(W, gram(W), 3)
    assert V.shape == (4, 1)
    assert V.abs().flatten().tolist() == pytest.approx([0, 1, 0, 0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_stored_types_are_widened_before_they_are_multiplied(dtype):
    W, W0 = pair((30, 20), dtype)
    assert torch.allclose(gram(W), W.double().mT @ W.double(), rtol=1e-12)
    difference = W.double() - W0.double()
    assert torch.allclose(gram_of_change(W, W0), difference.mT @ difference, rtol=1e-12)


@pytest.mark.parametrize(("first", "second"), [((9, 5), (4, 9)), ((5, 9), (9, 5)), ((1100, 3), (2, 1100))])
def test_imbalance_is_the_balancedness_of_two_layers(first, second, precision):
    rng = torch.Generator().manual_seed(0)
    W, after = (torch.randn(shape, generator=rng, dtype=torch.float64) for shape in (first, second))
    assert imbalance(W, spectrum(W), after, spectrum(after)) == pytest.approx(balancedness(W, after), rel=precision)
    assert imbalance(W, spectrum(W), W.mT, spectrum(W)) < 3e-3
    zero = torch.zeros(2, 2)
    assert math.isnan(imbalance(zero, spectrum(zero), zero, spectrum(zero)))


@pytest.mark.parametrize("shape", [(400, 400), (800, 200), (150, 600)])
def test_the_rank_of_a_random_matrix(shape):
    rng = torch.Generator().manual_seed(1)
    W = torch.randn(shape, generator=rng, dtype=torch.float64)
    assert effective_rank(spectrum(W)) == pytest.approx(random_effective_rank(*shape), rel=0.01)
