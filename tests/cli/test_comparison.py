"""The comparison behind the demo: the same rows for both models, paired differences, an honest verdict."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from gramian import RFMRegressor
from gramian.cli.comparison import Comparison, Estimate, compare
from gramian.cli.tasks import CROWD_SHAPE, Result, crowded, formula


def comparison(ridge, rfm) -> Comparison:
    return Comparison("accuracy", tuple(ridge), tuple(rfm), model=None, kept_rounds=(0,) * len(rfm))


def test_estimate_is_mean_and_standard_error():
    values = [0.2, 0.5, 0.9, 0.4]
    estimate = Estimate.of(values)
    assert estimate.mean == pytest.approx(0.5)
    assert estimate.error == pytest.approx(np.std(values, ddof=1) / 2)
    assert math.isnan(Estimate.of([1.0]).error)


def test_the_difference_is_paired():
    gain = comparison([0.1, 0.9], [0.2, 1.0]).gain
    assert gain.mean == pytest.approx(0.1)
    assert gain.error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("ridge", "rfm", "verdict"),
    [
        ([0.5, 0.5], [0.6, 0.6], "better"),
        ([0.6, 0.6], [0.5, 0.5], "worse"),
        ([0.5, 0.5], [0.5, 0.5], "a tie"),
        ([0.5, 0.5, 0.5], [0.4, 0.7, 0.5], "a tie"),
        ([0.5, 0.5, 0.5], [0.52, 0.54, 0.56], "a tie"),  # 3.5 standard errors, of three splits
        ([0.5] * 6, [0.52, 0.54, 0.56] * 2, "better"),
    ],
)
def test_verdict(ridge, rfm, verdict):
    assert comparison(ridge, rfm).verdict == verdict


def test_one_split_proves_nothing():
    assert comparison([0.5], [0.9]).verdict == "a tie"


def test_compare_fits_both_on_the_same_rows(rng):
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = X[:, 0] * X[:, 1]
    model = RFMRegressor(n_rounds=2, update="agop", kernel="gaussian")
    ticks = []
    parts = [(X[:40], y[:40], X[40:], y[40:]), (X[40:], y[40:], X[:40], y[:40])]
    result = compare(model, parts, "R²", lambda: ticks.append(1))
    assert len(ticks) == 4
    plain = RFMRegressor(n_rounds=0, update="agop", kernel="gaussian").fit(X[:40], y[:40])
    assert result.ridge_scores[0] == plain.score(X[40:], y[40:])
    assert result.rfm_scores[0] == result.model.score(X[40:], y[40:])
    assert not hasattr(model, "machine_"), "the caller's model stays unfitted"


def test_compare_needs_a_split():
    with pytest.raises(ValueError, match="parts must"):
        compare(Ridge(), [], "R²", lambda: None)


def test_the_known_answer_is_recovered():
    result = formula(seed=1, tick=lambda: None, n=300, held_out=500, draws=3)
    assert result.comparison.verdict == "better"
    assert set(list(result.importances)[:3]) == {"x0", "x1", "x5"}
    assert result.recovered > 0.9
    assert result.unlearned == 3 / 20


def test_recovered_share_of_an_unlearned_matrix_is_the_share_of_directions():
    class Unlearned:
        feature_matrix_ = np.eye(5)

    result = Result("k", "t", "q", Comparison("R²", (0.0,), (0.0,), Unlearned(), (0,)), (), truth=np.eye(5)[:, :2])
    assert result.recovered == pytest.approx(result.unlearned) == pytest.approx(0.4)


def test_crowded_pictures_keep_the_asked_digit_in_the_middle():
    images = load_digits().images[:20]
    rows = crowded(images, np.random.default_rng(0)).reshape(-1, *CROWD_SHAPE)
    np.testing.assert_array_equal(rows[:, :, 8:16], images)
    known = {image.tobytes() for image in images}
    for side in (rows[:, :, :8], rows[:, :, 16:]):
        assert all(np.ascontiguousarray(picture).tobytes() in known for picture in side)
