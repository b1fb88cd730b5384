"""The automatic scale and loss of a target: a logarithm or Huber's loss where that predicts better."""

import numpy as np
import pytest

from gramian.rfm.training import target_scale
from gramian.rfm.training.target_scale import _LeftOut, choose_scale

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
SKEWED = np.exp(2 * X[:, 0])
ONES = np.ones(300)


def test_a_skewed_target_that_is_smooth_on_a_logarithm_is_fitted_there():
    assert choose_scale(X, SKEWED, ONES, seed=0).transform.name == "shifted-log"


@pytest.mark.parametrize(
    "y",
    [X[:, 0], np.full(300, 7.0), RNG.exponential(size=300)],
    ids=["not skewed", "constant", "skewed without a relation to X"],
)
def test_other_targets_stay_as_they_are(y):
    assert choose_scale(X, y, ONES, seed=0).transform.name == "none"


def test_few_rows_stay_as_they_are():
    assert choose_scale(X[:29], SKEWED[:29], ONES[:29], seed=0).transform.name == "none"


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda y: y + 1e6, lambda t: t - 1e6),
        (lambda y: 1e-3 * y, lambda t: 1e3 * t),
        (lambda y: -y, lambda t: -t),
    ],
    ids=["offset", "unit", "direction"],
)
def test_offset_unit_and_direction_do_not_matter(change, back):
    reference = choose_scale(X, SKEWED, ONES, seed=0).transform
    found = choose_scale(X, change(SKEWED), ONES, seed=0).transform
    assert found.name == reference.name
    np.testing.assert_allclose(
        back(found.inverse_transform(found.transform(change(SKEWED)))), SKEWED, rtol=1e-4, atol=1e-6
    )


def test_a_tail_to_the_left_is_the_mirror_image_of_one_to_the_right():
    right, left = (choose_scale(X, y, ONES, seed=0).transform for y in (SKEWED, -SKEWED))
    np.testing.assert_allclose(left.transform(-SKEWED), -right.transform(SKEWED), atol=1e-9)


def test_the_common_size_of_all_weights_does_not_matter():
    assert choose_scale(X, SKEWED, 1e-6 * ONES, seed=0).transform == choose_scale(X, SKEWED, ONES, seed=0).transform


class TestHuber:
    """Huber's loss: its minimum, when it is taken, and what does not matter to it."""

    noise = np.random.default_rng(1).standard_cauchy(300)
    smooth = np.sin(2 * X[:, 0]) + X[:, 1]

    def test_heavy_tails_are_pulled_in_and_other_rows_are_not(self):
        y = self.smooth + 0.3 * self.noise
        found = choose_scale(X, y, ONES, seed=0)
        assert found.transform.name == "none"
        moved = found.pulled != y
        assert 0 < moved.mean() < 0.5
        assert np.abs(found.pulled - self.smooth).max() < 0.1 * np.abs(y - self.smooth).max()
        assert np.median(np.abs(y - self.smooth)[moved]) > np.median(np.abs(y - self.smooth)[~moved])

    @pytest.mark.parametrize("y", [smooth + 0.3 * RNG.normal(size=300), np.exp(3 * X[:, 0])], ids=["normal", "skewed"])
    def test_other_targets_keep_the_squared_loss(self, y):
        assert choose_scale(X, y, ONES, seed=0).bound is None

    def test_the_squared_loss_can_be_asked_for(self):
        found = choose_scale(X, self.smooth + 0.3 * self.noise, ONES, seed=0, loss="squared")
        assert found.bound is None
        assert found.pulled is None

    def test_the_fixed_point_minimises_the_loss_of_each_row_given_the_others(self):
        """Leave-one-out by brute force: a ridge regression on the other rows' pulled targets."""
        y = self.smooth[:60] + 0.3 * self.noise[:60]
        rows = _LeftOut(X[:60], ONES[:60], ONES[:60], 0, at=8)
        outputs, bound = rows.pull(0, y)
        pulled = outputs + np.clip(y - outputs, -bound, bound)
        kernel, ridge = rows.settings[0]
        K = kernel(rows.Z).numpy() + ridge * np.eye(60)
        for i in (0, 7, 31):
            others = np.arange(60) != i
            coef = np.linalg.solve(K[np.ix_(others, others)], pulled[others] - pulled.mean())
            assert outputs[i] == pytest.approx(K[i, others] @ coef + pulled.mean(), abs=2e-3 * bound)
        assert bound == pytest.approx(1.345 * np.median(np.abs(y - outputs)) / 0.6745)

    def test_unit_offset_and_weights_of_all_rows_do_not_matter(self):
        y = self.smooth + 0.3 * self.noise
        one = choose_scale(X, y, ONES, seed=0)
        other = choose_scale(X, 1e3 * y + 5e3, 1e-3 * ONES, seed=0)
        np.testing.assert_allclose(other.pulled, 1e3 * one.pulled + 5e3, rtol=1e-6, atol=1e-3)
        assert other.bound == pytest.approx(1e3 * one.bound)

    def test_weights_are_rows(self):
        y, counts = (self.smooth + 0.3 * self.noise)[:60], np.arange(60) % 3 + 1
        one = _LeftOut(X[:60], counts.astype(float), counts.astype(float), 0, at=8)
        outputs, bound = one.pull(0, y)
        repeated = np.repeat(np.arange(60), counts)
        whole = _LeftOut(X[repeated], np.ones(len(repeated)), np.ones(len(repeated)), 0, at=8)
        whole.settings = [(one.settings[0][0], one.settings[0][1])]  # the same bandwidth and ridge
        again, same = whole.pull(0, y[repeated])
        np.testing.assert_allclose(again, outputs[repeated], atol=3e-3 * bound)
        assert same == pytest.approx(bound, rel=1e-2)

    def test_many_rows_are_pulled_towards_the_fit_of_some(self, monkeypatch):
        monkeypatch.setattr(target_scale, "_ROWS", 100)
        monkeypatch.setattr(target_scale, "_PULL_ROWS", 200)
        y = self.smooth + 0.3 * self.noise
        found = choose_scale(X, y, ONES, seed=0)
        assert np.median(np.abs(found.pulled - self.smooth)) < np.median(np.abs(y - self.smooth))
        assert np.abs(found.pulled - self.smooth).max() < 0.1 * np.abs(y - self.smooth).max()
