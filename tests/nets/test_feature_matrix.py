"""The definition of a matrix: what it needs, its forms, and a new entry in the table."""

import numpy as np
import pytest
import torch

from gramian.nets import InspectOptions, inspect
from gramian.nets.feature_matrix import FeatureMatrix, SimilarityColumn, Unavailable
from gramian.nets.matrices import MATRICES
from nets.models import full_report, mlp, seeded

G = torch.Generator().manual_seed(5)
X = torch.randn(10, 5, generator=G, dtype=torch.float64)
Y = torch.randn(10, 3, generator=G, dtype=torch.float64)


def test_what_was_not_measured_says_what_to_pass():
    report = inspect(seeded(mlp), X)
    for name, words in [("enfa", "loss="), ("fact", "loss="), ("vcs", "loss="), ("nfm_change", "initial="),
                        ("nonsense", "choose one of")]:  # fmt: skip
        with pytest.raises(ValueError, match=words):
            report.matrix("0", name)
    with pytest.raises(ValueError, match="no weight_decay"):
        inspect(seeded(mlp), (X, Y), "mse").matrix("0", "fact")
    with pytest.raises(ValueError, match="was not measured"):
        report.matrix("9", "nfm")


def diagonal_nfm(sums):
    """The diagonal of WᵀW, a matrix that is not in the table."""
    W = sums.W
    return torch.diag_embed((W * W).sum(1))


def test_a_new_entry_reaches_the_report_the_similarities_and_the_rows(monkeypatch):
    column = SimilarityColumn("nfm_diagonal_cos", "cosine of WᵀW and its diagonal")
    entry = FeatureMatrix("nfm_diagonal", "input", diagonal_nfm, columns=(column,))
    monkeypatch.setitem(MATRICES, entry.name, entry)
    report = full_report()
    for layer, row in zip(report.layers, report.rows, strict=True):
        M = report.matrix(layer, "nfm")
        D = np.diag(np.diag(M))
        np.testing.assert_allclose(report.matrix(layer, "nfm_diagonal"), D, rtol=1e-12)
        np.testing.assert_allclose(report.spectrum(layer, "nfm_diagonal"), np.sort(np.diag(M))[::-1], rtol=1e-10)
        assert report.directions(layer, "nfm_diagonal", 2).shape == (2, len(M))
        cosine = (M * D).sum() / np.linalg.norm(M) / np.linalg.norm(D)
        assert report.similarity(layer, "nfm", "nfm_diagonal") == pytest.approx(cosine)
        root = (M * np.sqrt(D)).sum() / np.linalg.norm(M) / np.linalg.norm(np.sqrt(D))
        assert report.similarity(layer, "nfm", "nfm_diagonal", power=0.5) == pytest.approx(root)
        assert row["nfm_diagonal_cos"] == pytest.approx(cosine)
        assert report.metrics()[f"{layer}/nfm_diagonal_cos"] == row["nfm_diagonal_cos"]
    assert report.describe()["nfm_diagonal_cos"] == "cosine of WᵀW and its diagonal"
    assert list(report.to_pandas().columns)[-1] == "nfm_diagonal_cos"


def test_a_matrix_without_other_forms_asks_for_a_larger_max_dim(monkeypatch):
    monkeypatch.setitem(MATRICES, "nfm_diagonal", FeatureMatrix("nfm_diagonal", "input", diagonal_nfm))
    X = torch.ones(4, 5, dtype=torch.float64)
    wide = inspect(seeded(lambda: torch.nn.Linear(5, 2)), X, options=InspectOptions(max_dim=3))
    sketched = inspect(seeded(mlp), X, options=InspectOptions(max_dim=3, sketch=8))
    for report, layer in ((wide, "model"), (sketched, "0")):
        with pytest.raises(Unavailable, match="max_dim"):
            report.similarity(layer, "nfm", "nfm_diagonal")
        with pytest.raises(Unavailable, match="max_dim"):
            report.matrix(layer, "nfm_diagonal")


def test_every_entry_has_the_size_and_definiteness_it_states():
    report = full_report()
    for layer in report.layers:
        m, k = report.record(layer).weight.shape[1:]
        for name, matrix in MATRICES.items():
            A = report.matrix(layer, name)
            assert A.shape == ((k, k) if matrix.side == "input" else (m, m))
            if matrix.psd:
                assert np.linalg.eigvalsh((A + A.T) / 2).min() >= -1e-12 * np.abs(A).max()
                np.testing.assert_allclose(A, A.T, atol=1e-12 * np.abs(A).max())


def test_forms_of_a_matrix_agree():
    """Thin form and factor give the dense matrix: WᵀX = A, YᵀY = A."""
    sums = full_report().record("4").sums  # 3 outputs, 6 inputs
    for matrix in MATRICES.values():
        A = matrix.blocks(sums)[0]
        if matrix.thin is not None:
            torch.testing.assert_close(sums.W[0].mT @ matrix.thin_form(sums)[0], A)
        if matrix.psd:
            Y = matrix.factor_form(sums)
            torch.testing.assert_close(Y.mT @ Y, A, atol=1e-12, rtol=1e-9)
        else:
            with pytest.raises(Unavailable, match="no factor"):
                matrix.factor_form(sums)


def test_a_zero_matrix_has_no_direction():
    X = torch.ones(4, 5, dtype=torch.float64)
    model = seeded(lambda: torch.nn.Linear(5, 2))
    report = inspect(model, (X, model(X).detach()), "mse")
    assert report.spectrum("model", "enfa").shape == (0,)
    assert report.directions("model", "enfa", 2).shape == (0, 5)
