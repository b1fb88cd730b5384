"""Sections on scores and calibration."""

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from report.model_pages import read, rows

pytestmark = pytest.mark.usefixtures("without_curves")


def test_calibration_is_that_of_the_classifier(tmp_path):
    X, y = rows(150)
    weights = np.where(np.arange(150) % 3, 1.0, 20.0)
    model = RFMClassifier(preset="fast", n_rounds=1).fit(X, y > 0, sample_weight=weights)
    _, checked = read(model, tmp_path)
    curve = model.reliability(level=0.95)
    assert f"Calibration error {curve.error:.3f}" in checked.text
    alt = next(found["aria-label"] for _, found in checked.elements if "Reliability" in found.get("aria-label", ""))
    said = [f"predicted {a:.0%}, correct {b:.0%}" for a, b in zip(curve.confidence, curve.accuracy, strict=True)]
    assert alt == "Reliability curve. " + "; ".join(said)


def test_the_page_of_several_targets_has_a_score_for_each(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, np.column_stack([y, X[:, 1], np.ones(90)]))
    _, checked = read(model, tmp_path, X=X[:20], y=np.column_stack([y, X[:, 1], np.ones(90)])[:20])
    assert "R² (mean over targets)" in checked.text
    assert "prediction of target 0" in checked.text
    assert "target 2 –" in checked.text  # constant: no R²


def test_a_single_class_has_no_auc(tmp_path):
    X, y = rows()
    model = RFMClassifier(preset="fast", n_rounds=0).fit(X, y > 0)
    _, checked = read(model, tmp_path, X=X[y > 0][:25], y=y[y > 0][:25] > 0)
    assert "AUC (one class only)" in checked.text
    assert "nan" not in checked.text
