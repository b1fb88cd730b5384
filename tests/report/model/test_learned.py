"""Sections on learned features."""

from importlib import import_module

from gramian import RFMRegressor
from gramian.report.web import number
from report.model_pages import read, rows


def test_directions_are_computed_once(tmp_path, monkeypatch):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    wanted = model.partial_dependence_along(1, grid=30, rows=100)
    directions = import_module("gramian.rfm.explain.directions")
    seen, original = [], directions.psd_eigh
    monkeypatch.setattr(directions, "psd_eigh", lambda *given: seen.append(1) or original(*given))
    _, checked = read(model, tmp_path)
    assert len(seen) == 1
    ends = f"from {number(float(wanted.mean[0]))} to {number(float(wanted.mean[-1]))}"
    assert any(found.get("aria-label", "").endswith(f"direction 2: {ends}") for _, found in checked.elements)
