"""Shared decompositions agree with the matrices themselves, for every architecture and side of a layer."""

import pytest
import torch

from gramian.core import cosine, pearson, psd_power
from gramian.nets import InspectOptions, inspect
from gramian.nets.decompositions import Decompositions, agop_error, small_gram
from gramian.nets.feature_matrix import Unavailable
from nets.models import INPUTS, LABELS, mlp, seeded


@pytest.mark.parametrize("power", [0.3, 1.0])
def test_families_of_powers_agree_with_the_matrices(case, power):
    model, X = case
    report = inspect(model, X)
    for layer in report.layers:
        record = report.record(layer)
        family = Decompositions(record.sums).family("agop")
        S, A = record.blocks("nfm"), record.blocks("agop")
        B = torch.stack([psd_power(block, power) for block in A])
        # psd_power keeps eigenvalues of rounding errors, and (1e-17)^0.3 is 1e-5.
        assert family.cosine(power) == pytest.approx(cosine(S, B), abs=1e-5)
        whole = [torch.block_diag(*blocks) for blocks in (S, B)]
        assert family.pearson(power) == pytest.approx(pearson(*whole), abs=1e-5)
        spectra = torch.cat(Decompositions(record.sums).spectra).sort(descending=True).values
        expected = torch.cat([torch.linalg.svdvals(W) for W in record.W]).square().sort(descending=True).values
        torch.testing.assert_close(spectra, expected, atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("max_dim", [4096, 6, 4])
def test_every_storage_has_the_same_family(max_dim):
    """Sums on the output side, on the input side, and sketched with as many probes as there are directions."""
    options = InspectOptions(max_dim=max_dim, sketch=64)
    data, model = (INPUTS, LABELS), seeded(mlp)
    report = inspect(model, data, "cross_entropy", options=options)
    dense = inspect(model, data, "cross_entropy")
    for layer in report.layers:
        for name in ("agop", "enfa"):
            found, expected = (Decompositions(one.record(layer).sums).family(name) for one in (report, dense))
            for power in (0.5, 1.0):
                assert found.cosine(power) == pytest.approx(expected.cosine(power), abs=1e-6)


def test_a_family_that_was_not_measured_is_refused():
    with pytest.raises(Unavailable, match="needs the loss"):
        Decompositions(inspect(seeded(mlp), INPUTS).record("0").sums).family("enfa")


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (5, 5)])
def test_the_small_gram_matrix_is_summed_in_pieces(monkeypatch, shape):
    W = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    wide = W.double()
    expected = wide.mT @ wide if shape[1] <= shape[0] else wide @ wide.mT
    monkeypatch.setattr("gramian.nets.decompositions.PIECE", 4)
    torch.testing.assert_close(small_gram(W), expected)


@pytest.mark.parametrize("max_dim", [4096, 6])
def test_the_error_of_projections_is_the_distance_of_its_halves(max_dim):
    report = inspect(seeded(mlp), INPUTS, outputs=4, options=InspectOptions(max_dim=max_dim))
    for layer in report.layers:
        sums = report.record(layer).sums
        one, two = sums.agop_halves
        if sums.stored_side == "output":
            one, two = (sums.W.mT @ M @ sums.W for M in (one, two))
        expected = float((one - two).norm() / (one + two).norm())
        assert agop_error(Decompositions(sums)) == pytest.approx(expected, rel=1e-4)
    assert agop_error(Decompositions(inspect(seeded(mlp), INPUTS).record("0").sums)) == 0
