"""The tasks of the demonstration."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits

from gramian import RFMRegressor
from gramian.demo import DemoResult, PairedComparison, tasks
from gramian.demo.tasks import CROWD_SHAPE, formula, with_neighbours


def test_the_columns_of_the_known_formula_are_recovered(monkeypatch):
    monkeypatch.setattr(tasks, "RFMRegressor", partial(RFMRegressor, kernel="laplace", update="agop-diagonal"))
    result = formula(seed=1, tick=lambda: None, n=300, held_out=500, draws=3)
    assert result.comparison.verdict == "better"
    assert set(list(result.importances)[:3]) == {"x0", "x1", "x5"}
    assert result.recovered > 0.9
    assert result.unlearned == 3 / 20


def test_recovered_share_of_an_unlearned_matrix_is_the_share_of_directions():
    class Unlearned:
        feature_matrix_ = np.eye(5)

    result = DemoResult(
        "k", "t", "q", PairedComparison("R²", (0.0,), (0.0,), Unlearned(), (0,)), (), truth=np.eye(5)[:, :2]
    )
    assert result.recovered == pytest.approx(result.unlearned) == pytest.approx(0.4)


def test_the_digit_to_classify_is_in_the_middle():
    images = load_digits().images[:20]
    rows = with_neighbours(images, np.random.default_rng(0)).reshape(-1, *CROWD_SHAPE)
    np.testing.assert_array_equal(rows[:, :, 8:16], images)
    known = {image.tobytes() for image in images}
    for side in (rows[:, :, :8], rows[:, :, 16:]):
        assert all(np.ascontiguousarray(picture).tobytes() in known for picture in side)
