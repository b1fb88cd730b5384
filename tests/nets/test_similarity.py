"""Similarities: dense, through thin factors and through sketches."""

import numpy as np
import pytest
import torch
from torch import nn

from gramian.core import cosine, psd_power
from gramian.nets import InspectOptions, inspect
from nets.models import Block, full_report, seeded


def data(n, d, seed=1):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


PAIRS = [("nfm", "agop"), ("nfm", "fact"), ("agop", "enfa"), ("nfm", "agop_centered"), ("nfm", "nfm")]


@pytest.mark.parametrize("measure", ["cosine", "pearson"])
def test_wide_layers_agree_with_dense_ones_exactly(measure):
    model, tokens = seeded(Block), torch.randint(0, 11, (6, 4), generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([0, 1, 2, 0, 1, 2])
    dense, thin = (
        inspect(model, (tokens, labels), "cross_entropy", weight_decay=0.1, options=InspectOptions(max_dim=d))
        for d in (64, 10)
    )
    for a, b in PAIRS:
        assert thin.similarity("embed", a, b, measure=measure) == pytest.approx(
            dense.similarity("embed", a, b, measure=measure)
        )
    for power in (0.5, 0.3):
        expected = dense.similarity("embed", "nfm", "agop", power, measure)
        assert thin.similarity("embed", "nfm", "agop", power, measure) == pytest.approx(expected)
    for column in (
        "nfa_half_pearson",
        "fact_residual",
        "best_power",
        "effective_rank",
        "bfact_cos",
        "agop_error",
    ):
        assert thin.rows[0][column] == pytest.approx(dense.rows[0][column], rel=1e-6)
    np.testing.assert_allclose(thin.spectrum("embed", "agop"), dense.spectrum("embed", "agop"), rtol=1e-8)
    np.testing.assert_allclose(thin.directions("embed", "agop", 3), dense.directions("embed", "agop", 3), atol=1e-8)
    with pytest.raises(ValueError, match="max_dim=10"):
        thin.matrix("embed", "agop")


def test_sketched_layers_are_close_and_their_probes_exact_in_the_limit():
    model = seeded(lambda: nn.Sequential(nn.Linear(30, 40), nn.Tanh(), nn.Linear(40, 3)))
    X, y = data(50, 30), data(50, 3, seed=2)
    dense = inspect(model, (X, y), "mse", weight_decay=0.1)
    thin = inspect(model, (X, y), "mse", weight_decay=0.1, options=InspectOptions(max_dim=20, sketch=600))
    assert thin.record("0").sums.sketched
    for a, b in [("nfm", "agop"), ("nfm", "fact"), ("bnfm", "ptk"), ("bnfm", "bfact"), ("nfm", "enfa")]:
        assert thin.similarity("0", a, b) == pytest.approx(dense.similarity("0", a, b), abs=0.05)
    # more probes than rank: Nyström's factor is exact, and with it powers, spectra and directions
    np.testing.assert_allclose(thin.spectrum("0", "agop")[:10], dense.spectrum("0", "agop")[:10], rtol=1e-6)
    assert thin.similarity("0", "nfm", "agop", power=0.5) == pytest.approx(
        dense.similarity("0", "nfm", "agop", 0.5), abs=0.05
    )
    assert thin.rows[0]["nfa_half_cos"] == pytest.approx(dense.rows[0]["nfa_half_cos"], abs=1e-4)
    with pytest.raises(ValueError, match="cosines only"):
        thin.similarity("0", "nfm", "agop", measure="pearson")
    with pytest.raises(ValueError, match="max_dim"):
        thin.matrix("0", "agop")


def test_similarity_names_its_mistakes():
    report = full_report()
    for arguments, words in [
        (("0", "nfm", "ptk"), "no common size"),
        (("0", "nfm", "agop", 0.0), "power must be positive"),
        (("0", "nfm", "vcs", 0.5), "only power=1"),
    ]:
        with pytest.raises(ValueError, match=words):
            report.similarity(*arguments)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        report.spectrum("0", "fact")
    assert report.similarity("0", "nfm", "fact", power=0.5) == pytest.approx(
        cosine(
            torch.from_numpy(report.matrix("0", "nfm")),
            psd_power(torch.from_numpy(report.matrix("0", "fact_polar")), 0.5),
        )
    )
