"""The report: spectra, directions, chance level of the alignment."""

import numpy as np

from gramian.nets.matrices import MATRICES
from nets.models import full_report


def test_corrupted_nfa_keeps_the_spectrum_and_is_reproducible():
    report = full_report()
    assert report.corrupted_nfa("0", seed=1) == report.corrupted_nfa("0", seed=1)
    assert report.corrupted_nfa("0", seed=1) != report.corrupted_nfa("0", seed=2)
    assert 0 < report.corrupted_nfa("0") < 1


def test_every_psd_matrix_has_a_spectrum():
    report = full_report()
    for layer in report.layers:
        for name in (name for name, matrix in MATRICES.items() if matrix.psd):
            values = np.linalg.eigvalsh(report.matrix(layer, name))[::-1]
            found = report.spectrum(layer, name)
            np.testing.assert_allclose(found, values[: len(found)], atol=1e-9 * values[0])
            assert np.all(np.abs(values[len(found) :]) <= 1e-9 * values[0])


def test_spectra_and_directions():
    report = full_report()
    values, vectors = np.linalg.eigh(report.matrix("0", "agop"))
    np.testing.assert_allclose(
        report.spectrum("0", "agop"), values[::-1][: len(report.spectrum("0", "agop"))], atol=1e-12
    )
    found = report.directions("0", "agop", 2)
    np.testing.assert_allclose(np.abs(found @ vectors[:, ::-1][:, :2]), np.eye(2), atol=1e-7)
    assert all(row[np.abs(row).argmax()] > 0 for row in found)
