"""Links from scores to probabilities, against brute force."""

import numpy as np
import pytest
from scipy.special import softmax

import gramian.rfm.serialization  # noqa: F401 (it registers types)
from gramian.files import read, write
from gramian.tables.links import PowerLink, SoftmaxLink, fit_link

RNG = np.random.default_rng(0)
LINKS = [SoftmaxLink(0.3), SoftmaxLink(5.0), PowerLink(1.0, 0.01), PowerLink(4.0, 0.3)]
OFFSETS = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]


def smoothed_loss(scores, labels, weights, link):
    """The loss of the docstring, one row at a time: one more row of each class is assumed."""
    classes = max(2, scores.shape[1])
    n = weights.sum() ** 2 / (weights**2).sum()
    rows = [
        -sum((n * (c == label) + 1) / (n + classes) * row[c] for c in range(classes))
        for row, label in zip(link.log_probabilities(scores), labels, strict=True)
    ]
    return np.average(rows, weights=weights)


def draw(classes, size, n=60, seed=0):
    """Scores, and labels whose log odds are proportional to them."""
    rng = np.random.default_rng(seed)
    scores = size * rng.normal(size=(n, 1 if classes == 2 else classes))
    logits = np.column_stack([-scores, scores]) if classes == 2 else scores
    labels = np.array([rng.choice(classes, p=p) for p in softmax(2 * logits / size, axis=1)])
    return scores, labels, rng.uniform(0.5, 2, n)


def estimates(classes, n, seed=0, shares=0.3):
    """Scores that estimate probabilities with some noise, and labels that are drawn with these probabilities."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([shares] * classes, size=n)
    labels = np.array([rng.choice(classes, p=row) for row in p])
    scores = p + 0.05 * rng.normal(size=p.shape)
    return (2 * scores[:, 1:] - 1 if classes == 2 else scores), labels, rng.uniform(0.5, 2, n)


class TestLinks:
    @pytest.mark.parametrize("link", LINKS, ids=str)
    def test_probabilities_sum_to_1(self, link):
        p = np.exp(link.log_probabilities(3 * RNG.normal(size=(50, 4))))
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
        assert (p > 0).all()

    @pytest.mark.parametrize("link", LINKS, ids=str)
    def test_the_order_of_scores_is_kept(self, link):
        """A power cannot tell scores below 0 apart; all others keep their order, and the largest stays the largest."""
        scores = RNG.normal(size=(200, 4))
        log_p = link.log_probabilities(scores)
        larger = scores[:, :, None] > scores[:, None, :]
        difference = log_p[:, :, None] - log_p[:, None, :]
        assert (difference[larger] >= 0).all()
        seen = np.maximum(scores, 0) if isinstance(link, PowerLink) else scores
        assert (difference[seen[:, :, None] > seen[:, None, :]] > 0).all()
        some = scores.max(axis=1) > 0
        assert (log_p.argmax(axis=1) == scores.argmax(axis=1))[some].all()

    @pytest.mark.parametrize("link", LINKS, ids=str)
    def test_extreme_scores_have_finite_log_probabilities(self, link):
        scores = np.array([[1e8, 0.0, -1e8], [-1e8, -1e8, -1e8], [0.0, 0.0, 0.0]])
        log_p = link.log_probabilities(scores)
        assert np.isfinite(log_p).all()
        np.testing.assert_allclose(log_p[1:], np.log(1 / 3))

    def test_a_power_is_its_formula(self):
        scores = RNG.normal(size=(20, 3))
        p = (np.maximum(scores, 0) + 0.1) ** 2.5
        found = np.exp(PowerLink(2.5, 0.1).log_probabilities(scores))
        np.testing.assert_allclose(found, p / p.sum(axis=1, keepdims=True))

    def test_two_classes_are_a_softmax_of_two_scores(self):
        score = RNG.normal(size=(8, 1))
        both = np.column_stack([-score[:, 0] / 2, score[:, 0] / 2])
        link = SoftmaxLink(1 / 3)
        np.testing.assert_allclose(link.log_probabilities(score), link.log_probabilities(both))
        assert np.isfinite(SoftmaxLink(1.0).log_probabilities(np.array([[1e4], [-1e4]]))).all()

    def test_a_power_of_two_classes_is_that_of_the_estimates_from_their_codes(self):
        """Codes −1 and 1 have the mean 2q − 1 if the second class has the probability q."""
        score = 1.5 * RNG.normal(size=(30, 1))
        link = PowerLink(2.5, 0.1)
        found = link.log_probabilities(score)
        np.testing.assert_allclose(found, link.log_probabilities(np.hstack([1 - score, 1 + score]) / 2))
        np.testing.assert_allclose(np.exp(PowerLink(1.0, 0.0).log_probabilities(np.array([[0.4]]))), [[0.3, 0.7]])

    @pytest.mark.parametrize("link", LINKS, ids=str)
    def test_the_second_of_two_classes_is_more_probable_where_the_score_is_positive(self, link):
        score = np.concatenate([RNG.normal(size=40), [-5.0, -1e-6, 1e-6, 5.0]])[:, None]
        p = np.exp(link.log_probabilities(score))
        np.testing.assert_array_equal(p.argmax(axis=1), score[:, 0] > 0)
        np.testing.assert_allclose(np.exp(link.log_probabilities(-score)), p[:, ::-1], rtol=1e-12)

    @pytest.mark.parametrize("link", LINKS, ids=str)
    def test_a_link_is_found_again_in_a_file(self, link, tmp_path):
        write(link, tmp_path / "link", "link")
        assert read(tmp_path / "link") == link

    def test_a_link_is_described_by_its_numbers(self):
        assert SoftmaxLink(0.25).description() == "exp(f / 0.25)"
        assert PowerLink(2.0, 0.01).description() == "(max(q, 0) + 0.01)^2 with estimates q by least squares"


class TestFit:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("classes", [2, 3])
    @pytest.mark.parametrize("kind", ["softmax", "power"])
    def test_no_link_on_a_fine_grid_has_a_smaller_loss(self, kind, classes, seed):
        """Labels are drawn by a softmax of the scores, or by scores that are probabilities."""
        if kind == "softmax":
            scores, labels, weights = draw(classes, 1.0, 80, seed)
        else:
            scores, labels, weights = estimates(classes, 80, seed)
        found = smoothed_loss(scores, labels, weights, fit_link(scores, labels, weights))
        temperatures = np.exp(np.linspace(np.log(0.01), np.log(100), 60))
        exponents = np.exp(np.linspace(np.log(0.2), np.log(20), 40))
        grid = [SoftmaxLink(t) for t in temperatures] + [PowerLink(a, e) for a in exponents for e in OFFSETS]
        assert found <= min(smoothed_loss(scores, labels, weights, link) for link in grid) + 1e-7

    @pytest.mark.parametrize("classes", [2, 4])
    def test_scores_that_are_probabilities_get_a_power_near_1(self, classes):
        rng = np.random.default_rng(0)
        p = rng.dirichlet([0.5] * classes, size=4000)
        labels = np.array([rng.choice(classes, p=row) for row in p])
        link = fit_link(2 * p[:, 1:] - 1 if classes == 2 else p, labels, np.ones(4000))
        assert isinstance(link, PowerLink)
        assert link.exponent == pytest.approx(1, abs=0.1)
        assert link.offset <= 0.03

    def test_logits_get_their_temperature(self):
        scores, labels, _ = draw(3, 1.0, 4000)
        link = fit_link(scores, labels, np.ones(4000))
        assert isinstance(link, SoftmaxLink)
        assert link.temperature == pytest.approx(0.5, abs=0.05)

    @pytest.mark.parametrize("draws", [draw, estimates])
    def test_the_order_of_two_classes_does_not_matter(self, draws):
        scores, labels, weights = draws(2, 1.0) if draws is draw else draws(2, 60)
        one, other = fit_link(scores, labels, weights), fit_link(-scores, 1 - labels, weights)
        np.testing.assert_allclose(other.log_probabilities(-scores)[:, ::-1], one.log_probabilities(scores), rtol=1e-4)

    @pytest.mark.parametrize("size", [1e-4, 1e4])
    def test_scores_of_any_size_have_a_link(self, size):
        """The best temperature is at a bound: it is found, and nothing overflows."""
        scores, labels, weights = draw(3, size)
        link = fit_link(scores, labels, weights)
        assert np.isfinite(smoothed_loss(scores, labels, weights, link))
        assert smoothed_loss(scores, labels, weights, link) <= np.log(3) + 0.1

    @pytest.mark.parametrize("classes", [2, 3])
    def test_the_unit_of_weights_does_not_matter(self, classes):
        scores, labels, _ = draw(classes, 1.0)
        one, seven = (fit_link(scores, labels, np.full(60, unit)) for unit in (1.0, 7.0))
        np.testing.assert_allclose(one.log_probabilities(scores), seven.log_probabilities(scores), rtol=1e-4)

    @pytest.mark.parametrize("classes", [2, 3])
    def test_the_order_of_rows_does_not_matter(self, classes):
        scores, labels, weights = draw(classes, 1.0)
        order = np.random.default_rng(1).permutation(60)
        one, other = fit_link(scores, labels, weights), fit_link(scores[order], labels[order], weights[order])
        np.testing.assert_allclose(one.log_probabilities(scores), other.log_probabilities(scores), rtol=1e-3)

    def test_a_dozen_correct_rows_are_no_reason_for_certainty(self):
        scores = np.where(np.arange(12) % 2, 1.0, -1.0)[:, None]
        link = fit_link(scores, np.arange(12) % 2, np.ones(12))
        assert np.exp(link.log_probabilities(scores)).max() == pytest.approx(13 / 14, rel=1e-3)
