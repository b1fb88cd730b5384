"""Contributions add up and equal their naive twins."""

from dataclasses import replace

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Gaussian, Laplace, Lp, Polynomial
from gramian.rfm.explain import explain, explain_standardised
from gramian.rfm.model import Ensemble
from rfm.explain.models import QUICK, quick

KERNELS = [Laplace(3.0), Gaussian(3.0), Lp(6.0), Lp(6.0, 1.5, 1.2), Polynomial(2)]


@pytest.fixture(scope="module", params=KERNELS, ids=str)
def each(data, request):
    """One model per kernel."""
    X, y, _ = data
    return quick(request.param).fit(X, y)


@pytest.mark.parametrize("count", [0, 3, 100, 1000])
def test_as_many_rows_are_listed_as_asked_for(data, each, count):
    new = data[2][:3]
    for explanation, expected in zip(each.explain(new, n_influential=count), each.predict(new), strict=True):
        assert len(explanation.influence.rows) == min(count, 100)
        assert explanation.prediction == pytest.approx(expected, rel=1e-10)


def test_contributions_add_up_to_the_difference_within_a_small_gap(data, each):
    X, _, new = data
    at_mean = each.predict(X.mean(axis=0, keepdims=True))[0]
    for explanation, value in zip(each.explain(new), each.predict(new), strict=True):
        assert explanation.reference_score == pytest.approx(at_mean, abs=1e-8)
        assert explanation.contributions.sum() + explanation.gap == pytest.approx(value - at_mean, abs=1e-8)
        size = np.abs(explanation.contributions).sum()
        assert abs(explanation.gap) <= max(0.01 * abs(value - at_mean), 1e-3 * size)


def test_path_equals_a_naive_mean_of_gradients(data, each):
    new = data[2]
    z = each.model_.preprocessing.transform(new[:1])[0]
    t = (np.arange(4000) + 0.5) / 4000
    naive = each.model_.gradients_at(t[:, None] * z)[:, 0].mean(axis=0) * z
    found = each.explain(new[0]).contributions
    np.testing.assert_allclose(found, naive, atol=5e-3 * np.abs(naive).sum())


def test_gradient_method_equals_finite_differences(data, each):
    X, _, new = data
    step = 1e-5 * X.std(axis=0)
    slopes = [
        (each.predict([new[0] + step[j] * e]) - each.predict([new[0] - step[j] * e]))[0] / (2 * step[j])
        for j, e in enumerate(np.eye(5))
    ]
    explanation = each.explain(new[0], method="gradient")
    np.testing.assert_allclose(explanation.sensitivity, slopes, rtol=1e-4)
    np.testing.assert_allclose(explanation.contributions, slopes * (new[0] - X.mean(axis=0)), rtol=1e-4)
    np.testing.assert_allclose(each.explain(new[0]).sensitivity, slopes, rtol=1e-4)


def test_contributions_to_an_additive_function_are_its_terms():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(500, 3))
    terms = np.stack([2 * X[:, 0], np.sin(X[:, 1]), 0 * X[:, 2]], axis=1)
    model = RFMRegressor(preset="fast", kernel=Gaussian(), ridge=1e-6, n_rounds=0, dtype="float64").fit(
        X, terms.sum(axis=1)
    )
    mean = X.mean(axis=0)
    at_mean = np.array([2 * mean[0], np.sin(mean[1]), 0])
    found = np.stack([e.contributions for e in model.explain(X[:20])])
    np.testing.assert_allclose(found, terms[:20] - at_mean, atol=0.02)


def test_permuted_columns_permute_contributions(data):
    X, y, new = data
    order = [3, 0, 4, 1, 2]
    one, other = (quick(Laplace(3.0)).fit(A, y).explain(B) for A, B in ((X, new[0]), (X[:, order], new[0, order])))
    np.testing.assert_allclose(other.contributions, one.contributions[order], rtol=1e-6)
    np.testing.assert_allclose(other.sensitivity, one.sensitivity[order], rtol=1e-6)
    assert other.values == tuple(np.array(one.values)[order])


def test_the_reversed_path_reverses_contributions(data, model):
    new = data[2]
    there, back = model.explain(new[0], reference=new[1]), model.explain(new[1], reference=new[0])
    np.testing.assert_allclose(there.contributions, -back.contributions, rtol=1e-9)
    itself = model.explain(new[0], reference=new[0])
    assert not itself.contributions.any()
    assert itself.gap == 0


def test_the_reference_is_the_mean_row_where_columns_are_not_centred(data):
    X, y, new = data
    model = quick(Polynomial(2), standardize=False).fit(X, y)
    assert model.explain(new[0]).reference_score == pytest.approx(model.predict([X.mean(axis=0)])[0], rel=1e-9)


def test_similarity_of_a_kernel_of_inner_products_is_a_cosine(data):
    X, y, _ = data
    found = quick(Polynomial(2)).fit(X, y).explain(X[7], n_influential=100).influence
    assert found.similarity[list(found.rows).index(7)] == pytest.approx(1.0)
    assert np.abs(found.similarity).max() <= 1 + 1e-12


def test_an_ensemble_is_explained_like_one_machine(data):
    X, y, new = data
    one, other = (quick(kernel).fit(X, y).model_ for kernel in (Laplace(3.0), Lp(6.0)))
    single = [explain(model, new[0], n_influential=0) for model in (one, other)]
    average = replace(one, ensemble=Ensemble((one.machine, other.machine), (0.25, 0.75)))
    both = explain(average, new[0], n_influential=0)
    np.testing.assert_allclose(both.contributions, 0.25 * single[0].contributions + 0.75 * single[1].contributions)
    assert both.score == pytest.approx(average.outputs(new[:1])[0, 0], rel=1e-10)


def test_several_targets_are_explained_one_at_a_time(data):
    X, y, new = data
    model = quick(Laplace(3.0)).fit(X, np.stack([y, -2 * y + X[:, 2]], axis=1))
    for output in (0, 1):
        explanation = model.explain(new[0], output=output)
        assert explanation.prediction == pytest.approx(model.predict(new[:1])[0, output], rel=1e-10)
        np.testing.assert_allclose(explanation.sensitivity, model.gradients(new[:1])[0, output], rtol=1e-6)
    with pytest.raises(ValueError, match="output must be the number of a target, 0 to 1, got None"):
        model.explain(new[0])


class TestClasses:
    def test_prediction_and_probabilities_are_those_of_the_model(self, data, classifiers):
        new = data[2]
        for model in classifiers:
            for explanation, label, shares in zip(
                model.explain(new), model.predict(new), model.predict_proba(new), strict=True
            ):
                assert explanation.prediction == label
                np.testing.assert_allclose(list(explanation.probabilities.values()), shares, rtol=1e-8)
                assert list(explanation.probabilities) == model.classes_.tolist()

    def test_two_classes_share_the_decision_score(self, data, classifiers):
        new, model = data[2], classifiers[0]
        plain, second, first = (model.explain(new[0], output=label) for label in (None, "yes", "no"))
        assert plain.score == pytest.approx(model.decision_function(new[:1])[0], rel=1e-9)
        np.testing.assert_array_equal(plain.contributions, second.contributions)
        np.testing.assert_array_equal(plain.contributions, -first.contributions)
        assert first.score == -second.score

    def test_the_predicted_one_of_several_classes_is_explained(self, data, classifiers):
        new, model = data[2], classifiers[1]
        scores = model.decision_function(new)
        for explanation, row in zip(model.explain(new), scores, strict=True):
            assert explanation.output.label == explanation.prediction
            assert explanation.score == pytest.approx(row.max(), rel=1e-8)
        low = model.explain(new[0], output="low")
        assert low.score == pytest.approx(scores[0, model.classes_.tolist().index("low")], rel=1e-8)

    def test_labels_that_look_like_numbers_are_labels(self, data):
        X, y, new = data
        model = RFMClassifier(**QUICK).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.7])) + 5)
        assert model.explain(new[0], output=7).output.index == 2
        with pytest.raises(ValueError, match=r"output must be one of the classes 5, 6, 7, got 0"):
            model.explain(new[0], output=0)


def test_columns_below_the_feature_threshold_contribute_nothing(data):
    X, _, new = data
    model = RFMRegressor(kernel=Laplace(3.0), feature_threshold=0.3, **QUICK).fit(X, X[:, 0] + 0.5 * X[:, 4])
    assert 0 < model.support_.sum() < 5
    explanation = model.explain(new[0])
    assert not explanation.contributions[~model.support_].any()
    assert explanation.score == pytest.approx(model.predict(new[:1])[0], rel=1e-10)
    unused = np.flatnonzero(~model.support_)
    assert np.isnan([[entries[j] for j in unused] for entries in explanation.influence.entries]).all()
    assert abs(explanation.gap) <= 0.01 * abs(explanation.score - explanation.reference_score)


@pytest.mark.parametrize("estimator", [RFMRegressor, RFMClassifier])
def test_standardised_rows_are_explained_like_rows_of_the_user(estimator):
    rng = np.random.default_rng(0)
    X = 5 + 3 * rng.normal(size=(60, 3))
    y = X[:, 0] * X[:, 1]
    fitted = estimator(preset="fast", n_rounds=1).fit(X, y if estimator is RFMRegressor else y > np.median(y))
    Z, _ = fitted.model_.center_rows(60)
    row = X[fitted.row_index_[1]]
    standardised, plain = explain_standardised(fitted.model_, Z[:2])[1], fitted.explain(row)
    assert standardised.score == pytest.approx(plain.score)
    assert standardised.contributions == pytest.approx(plain.contributions, rel=1e-6, abs=1e-9)
    assert standardised.values == pytest.approx(row.tolist(), rel=1e-5)
    assert standardised.influence.rows.tolist() == plain.influence.rows.tolist()
