"""Exported files: small, the same bytes each time, named by their format, and never a part of one."""

import warnings
import zipfile

import numpy as np
import pytest

from exported_models import ONE, fitted, rows
from gramian import RFMRegressor
from gramian.predictor import load, most_bytes
from gramian.rfm.export import NotExportableError
from gramian.rfm.export import files as written


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model, _ = fitted("frame")
    for name in ("a.npz", "b.npz"):
        model.export(tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_float32_is_smaller_and_says_what_it_costs(tmp_path):
    X, y = rows(300)
    smooth = RFMRegressor(kernel="gaussian", update="agop", n_rounds=1, ridge=1e-8).fit(X, y)
    rough = RFMRegressor(kernel="laplace", **ONE).fit(X, y)
    with pytest.warns(UserWarning, match=r'dtype="float32" changes outputs'):
        smooth.export(tmp_path / "smooth.npz", dtype="float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rough.export(tmp_path / "small.npz", dtype="float32")
        rough.export(tmp_path / "whole.npz")
    small, whole = (tmp_path / name for name in ("small.npz", "whole.npz"))
    assert small.stat().st_size < 0.6 * whole.stat().st_size
    np.testing.assert_allclose(load(small).predict(X), rough.predict(X), atol=1e-5 * y.std())


def test_rows_without_a_coefficient_are_left_out(tmp_path):
    from gramian.solvers import Nystrom

    X, y = rows()
    model = RFMRegressor(kernel="gaussian", solver=Nystrom(centers=30), **ONE).fit(X, y)
    model.export(tmp_path / "m.npz")
    (part,) = load(tmp_path / "m.npz").sums
    assert part.points.shape[1] == 30


def test_a_file_that_packs_too_well_is_written_as_it_is(monkeypatch, tmp_path):
    model, new = fitted("laplace")
    monkeypatch.setattr(written, "most_bytes", lambda size: 0)
    model.export(tmp_path / "m.npz")
    with zipfile.ZipFile(tmp_path / "m.npz") as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    assert sum(info.file_size for info in archive.infolist()) <= most_bytes((tmp_path / "m.npz").stat().st_size)
    np.testing.assert_allclose(load(tmp_path / "m.npz").predict(new), model.predict(new))


def test_other_endings_formats_and_too_much_text_are_refused(monkeypatch, tmp_path):
    model, _ = fitted("laplace")
    with pytest.raises(ValueError, match=r"ends with \.npz"):
        model.export(tmp_path / "m.pkl")
    with pytest.raises((TypeError, ValueError), match="float16"):
        model.export(tmp_path / "m.npz", dtype="float16")
    monkeypatch.setattr(written, "MOST_TEXT", 100)
    with pytest.raises(NotExportableError, match="MB of text"):
        model.export(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())
