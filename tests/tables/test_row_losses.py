"""Losses of held-out rows equal scikit-learn's metrics, whatever the scale on which the target is fitted."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn import metrics

from gramian.tables.links import fit_link
from gramian.tables.row_losses import group_losses, metric_identity, ranking_losses, selection_loss
from gramian.tables.scaling import Scaler
from gramian.tables.targets import ClassTarget, NumericTarget, TargetTransform

CLASSES = np.array(["a", "b", "c"])


@pytest.fixture
def draw():
    return np.random.default_rng(0)


def class_case(draw, classes):
    """Scores in the units of the codes, labels, weights, and the same scores and codes on the scale of a fit."""
    target = ClassTarget(CLASSES[:classes])
    labels = draw.integers(classes, size=80)
    codes = target.codes_at(labels)
    scores = codes * draw.uniform(0, 1, codes.shape) + 0.7 * draw.normal(size=codes.shape)
    scaler = Scaler(codes.mean(axis=0), np.full(codes.shape[1], 0.5))
    weights = draw.uniform(0.5, 2, size=80)
    outputs, Y = (torch.from_numpy(scaler.transform(part)) for part in (scores, codes))
    return target, scaler, scores, labels, weights, outputs, Y


def mean_loss(metric, case):
    target, scaler, _, _, weights, outputs, Y = case
    w = torch.from_numpy(weights)
    losses = selection_loss(metric, target, scaler)(outputs[None], Y, w)
    assert losses.shape == (1, len(weights))
    return float(losses[0] @ w / w.sum())


@pytest.mark.parametrize("classes", [2, 3])
def test_losses_of_classes_are_scikit_learns(draw, classes):
    case = class_case(draw, classes)
    _, _, scores, labels, weights, *_ = case
    probabilities = np.exp(fit_link(scores, labels, weights).log_probabilities(scores))
    found = {name: mean_loss(name, case) for name in ("log_loss", "brier", "auc", "accuracy")}
    chosen = ClassTarget.indices(scores)
    ranked = scores[:, 0] if classes == 2 else probabilities
    one_hot = np.eye(classes)[labels]
    assert found["log_loss"] == pytest.approx(metrics.log_loss(labels, probabilities, sample_weight=weights))
    assert found["brier"] == pytest.approx(np.average(((probabilities - one_hot) ** 2).sum(axis=1), weights=weights))
    assert found["accuracy"] == pytest.approx(1 - metrics.accuracy_score(labels, chosen, sample_weight=weights))
    if classes == 2:
        assert found["auc"] == pytest.approx(1 - metrics.roc_auc_score(labels, ranked, sample_weight=weights))
    else:
        each = [metrics.roc_auc_score(labels == k, scores[:, k], sample_weight=weights) for k in range(3)]
        assert found["auc"] == pytest.approx(1 - np.mean(each))


def test_ties_count_half_and_one_class_alone_has_no_ranking():
    scores = np.array([[1.0], [1.0], [0.0]])
    assert ranking_losses(scores, np.array([1, 0, 0]), np.ones(3)).mean() == pytest.approx(0.25)
    assert not ranking_losses(scores, np.zeros(3, dtype=int), np.ones(3)).any()


@pytest.mark.parametrize("name", ["none", "log"])
def test_losses_of_numbers_are_in_the_units_of_the_target(draw, name):
    y, weights = draw.uniform(1, 9, size=60), draw.uniform(0.5, 2, size=60)
    target = NumericTarget(TargetTransform.fit(name, y), flat=True)
    codes = target.codes_at(y)
    scaler = Scaler.fit(codes, np.ones(60))
    outputs = torch.from_numpy(scaler.transform(codes) + 0.1 * draw.normal(size=codes.shape))
    predicted = target.predictions(scaler.inverse_transform(outputs.numpy()))
    case = target, scaler, None, None, weights, outputs, torch.from_numpy(scaler.transform(codes))
    for metric, expected in (("rmse", metrics.mean_squared_error), ("mae", metrics.mean_absolute_error)):
        assert mean_loss(metric, case) == pytest.approx(expected(y, predicted, sample_weight=weights))


def test_a_function_gets_probabilities_labels_and_weights(draw):
    case = class_case(draw, 3)
    seen = []

    def loss(y, predicted, sample_weight):
        seen.append((set(y), predicted.sum(axis=1), sample_weight))
        return metrics.log_loss(y, predicted, sample_weight=sample_weight, labels=CLASSES)

    target, scaler, _, _, weights, outputs, Y = case
    selection_loss(loss, target, scaler)(outputs[None], Y, torch.from_numpy(weights))
    assert seen[0][0] == set(CLASSES)
    np.testing.assert_allclose(seen[0][1], 1)
    assert np.array_equal(seen[0][2], weights)


def test_losses_of_groups_have_the_mean_and_the_standard_error_of_a_mean(draw):
    """For a function that is a mean over rows both are known."""
    errors, weights = draw.normal(size=400), np.ones(400)
    losses = group_losses(lambda truth, predicted: float(predicted.mean()), errors, errors, weights)
    assert losses.mean() == pytest.approx(errors.mean())
    assert losses.std() / 20 == pytest.approx(errors.std() / 20, rel=0.4)  # twenty groups know it to a sixth


def test_unknown_metrics_are_refused_with_the_names():
    scaler = Scaler(np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match='"auto", "rmse", "mae" or a function for numbers, got \'auc\''):
        selection_loss("auc", NumericTarget(TargetTransform("none"), flat=True), scaler)
    with pytest.raises(ValueError, match='"log_loss", "brier", "auc", "accuracy" or a function for classes, got 3'):
        selection_loss(3, ClassTarget(CLASSES), scaler)
    assert selection_loss("auto", ClassTarget(CLASSES), scaler) is None


@pytest.mark.parametrize("n", [25, 60, 410])
def test_the_weighted_mean_of_group_losses_is_the_loss(draw, n):
    y, predicted, weights = draw.normal(size=n), draw.normal(size=n), np.exp(1.5 * draw.normal(size=n))
    losses = group_losses(metrics.mean_absolute_error, y, predicted, weights)
    expected = metrics.mean_absolute_error(y, predicted, sample_weight=weights)
    assert np.average(losses, weights=weights) == pytest.approx(expected)


def test_a_function_without_weights_sees_equal_rows_as_often_as_they_are():
    y, predicted = np.arange(4.0), np.zeros(4)
    losses = group_losses(lambda t, p: float(np.abs(t - p).mean()), y, predicted, np.array([1.0, 1.0, 1.0, 3.0]))
    assert np.average(losses, weights=[1, 1, 1, 3]) == pytest.approx((0 + 1 + 2 + 9) / 6)
    with pytest.raises(ValueError, match="has no argument sample_weight"):
        group_losses(lambda t, p: 0.0, y, predicted, np.array([1.0, 1.0, 1.0, 0.5]))


def test_values_that_are_no_finite_numbers_are_refused_or_left_out():
    y, predicted, ones = np.arange(40) == 7, np.linspace(0, 1, 40), np.ones(40)
    for bad, message in ((lambda t, p: np.nan, "is nan"), (lambda t, p: None, "must return a number")):
        with pytest.raises(ValueError, match=message):
            group_losses(bad, y, predicted, ones)
    losses = group_losses(lambda t, p: 0.5 if t.any() else np.nan, y, predicted, ones)  # undefined without row 7
    np.testing.assert_allclose(losses, 0.5)


def test_a_metric_has_the_same_identity_in_another_process():
    one, other, same = (eval(text) for text in ("lambda t, p: 1.0", "lambda t, p: 2.0", "lambda t, p: 1.0"))
    assert metric_identity(one) == metric_identity(same) != metric_identity(other)
    assert metric_identity("auc") == "auc"
    with pytest.raises(ValueError, match="checkpoint needs a metric that is a name or a plain function"):
        metric_identity(partial(max))
