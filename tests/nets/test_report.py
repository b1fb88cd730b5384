"""The report: spectra, directions, chance level of the alignment, storage in files."""

import pickle

import numpy as np
import pytest
import torch
from torch import nn

from gramian.files import write
from gramian.nets import FeatureReport, InspectOptions, inspect
from gramian.nets.matrices import MATRICES
from nets.models import INPUTS, LABELS, full_report, mlp, seeded


def test_chance_is_that_of_the_columns_and_reproducible():
    report = full_report()
    for entry in report.rows[:2]:
        for power, name in ((0.5, "nfa_half"), (1.0, "nfa")):
            found = report.chance(entry["layer"], power=power)
            assert (found.mean, found.sd) == (entry[f"{name}_chance"], entry[f"{name}_chance_sd"])
            assert 0 < found.mean < 1
            assert found.sd > 0


def test_columns_are_chosen_by_name_or_group():
    report = full_report()
    assert list(report.to_pandas("spectrum").columns) == ["kind", "shape", "depth", "effective_rank", "top_share"]
    assert set(report.metrics(columns=["nc1"])) == {
        f"{layer}/{name}" for layer in report.layers for name in ("depth", "nc1")
    }
    with pytest.raises(ValueError, match="did you mean fact_cos"):
        report.to_pandas(columns=["fact_cosine"])


def test_a_number_is_computed_at_its_first_use_only(monkeypatch):
    report, calls = full_report(), []
    monkeypatch.setattr(
        "gramian.nets.metrics.measure", lambda record, names: calls.append((record.name, *names)) or {"fact_cos": 0.5}
    )
    assert [entry["shape"] for entry in report.rows] == ["7×5", "6×7", "3×6"]
    assert not calls
    assert report.rows[0]["fact_cos"] == report.rows[0]["fact_cos"] == 0.5
    assert calls == [("0", "fact_cos")]
    with pytest.raises(KeyError):
        report.rows[0]["nope"]


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


def adamw_report():
    model = seeded(mlp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(INPUTS), LABELS).backward()
        optimizer.step()
    return inspect(model, (INPUTS, LABELS), "cross_entropy", weight_decay=optimizer, initial=seeded(mlp))


def wide_report():
    return inspect(seeded(mlp), INPUTS, outputs=4, options=InspectOptions(max_dim=4, sketch=3))


@pytest.mark.parametrize("make", [full_report, adamw_report, wide_report])
@pytest.mark.parametrize("how", ["pickle", "file"])
def test_reports_are_stored_and_read_again(make, how, tmp_path):
    report = make()
    if how == "pickle":
        again = pickle.loads(pickle.dumps(report))
    else:
        report.save(tmp_path / "report.gramian")
        again = FeatureReport.load(tmp_path / "report.gramian")
    assert again.settings == report.settings
    assert again.skipped == report.skipped
    assert str(again) == str(report)
    np.testing.assert_equal([dict(row) for row in again.rows], [dict(row) for row in report.rows])


def test_a_file_without_a_report_is_refused(tmp_path):
    write({"a": 1}, tmp_path / "other.gramian")
    with pytest.raises(ValueError, match="holds no report"):
        FeatureReport.load(tmp_path / "other.gramian")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_report_of_half_precision_in_a_file(dtype, tmp_path):
    model, start = seeded(mlp, dtype=dtype), seeded(mlp, seed=3, dtype=dtype)
    report = inspect(model, (INPUTS.to(dtype), LABELS), "cross_entropy", weight_decay=0.1, initial=start)
    report.save(tmp_path / "r.gramian")
    loaded = FeatureReport.load(tmp_path / "r.gramian")
    W = model[0].weight.detach().double()
    np.testing.assert_allclose(report.matrix("0", "nfm"), (W.mT @ W).numpy(), rtol=1e-14)
    for name in MATRICES:
        np.testing.assert_array_equal(loaded.matrix("0", name), report.matrix("0", name), err_msg=name)
