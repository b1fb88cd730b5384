"""Sections on learned features."""

from importlib import import_module

import numpy as np

from gramian import RFMRegressor
from gramian.report.model.learned import importances_section
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


class TestImportances:
    def fitted(self):
        X = np.random.default_rng(0).normal(size=(90, 20))
        X[:, 1] = np.exp(X[:, 0])
        return RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0] + X[:, 2]), X

    def test_sensitivity_and_permutation_are_side_by_side_and_the_interval_is_named(self):
        model, _ = self.fitted()
        found = model.importances()
        body = importances_section(found).body
        assert "loss if shuffled" in body
        assert f"{found.permutation.drop[2]:.3f}" in body
        assert "A fit to as many other rows is expected within the interval in 90% of cases" in body
        given = importances_section(model.importances("given this fit")).body
        assert "The interval is given this fit" in given
        assert "loss if shuffled" not in given

    def test_rows_that_are_given_replace_the_rows_of_refits(self):
        model, X = self.fitted()
        own = model.permutation_importances(X, X[:, 0] + X[:, 2], n_repeats=2)
        body = importances_section(model.importances(), own).body
        assert "permuted in given rows" in body
        assert f"{own.drop[2]:.3f}" in body

    def test_correlated_columns_are_shown_together_and_small_ones_are_folded(self):
        model, _ = self.fitted()
        body = importances_section(model.importances()).body
        assert "x0, x1" in body
        assert "5 more columns" in body
        assert "rank correlations above 0.85" in body
