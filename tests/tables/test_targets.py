"""Target codings: outputs of a model become targets again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.tables.targets import NAMES, ClassTarget, NumericTarget, TargetTransform, skewness

positive = st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=20).map(np.array)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(y=positive)
def test_a_transform_and_its_inverse_give_the_target(name, y):
    transform = TargetTransform.fit(name, y)
    np.testing.assert_allclose(transform.inverse_transform(transform.transform(y)), y, rtol=1e-6, atol=1e-6 * y.max())


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(y=positive)
def test_transforms_are_increasing(name, y):
    z = TargetTransform.fit(name, y).transform(np.sort(y))
    assert (np.diff(z) >= 0).all()


def test_the_shifted_logarithm_ignores_offset_and_unit():
    y = np.random.default_rng(0).lognormal(size=100)
    expected = TargetTransform.fit("shifted-log", y).transform(y)
    for factor, offset in ((1000.0, 0.0), (1.0, 50.0), (0.01, -7.0)):
        other = factor * y + offset
        found = TargetTransform.fit("shifted-log", other).transform(other)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    mirrored = TargetTransform.fit("shifted-log", -y)
    assert mirrored.sign == -1
    np.testing.assert_allclose(mirrored.transform(-y), -expected, rtol=1e-9, atol=1e-9)


def test_predictions_are_clipped_to_half_the_range_beyond_the_targets():
    y = np.array([1.0, 2.0, 11.0])
    for name, far in (("none", 1e3), ("log", np.inf), ("shifted-log", np.inf)):
        transform = TargetTransform.fit(name, y)
        assert transform.inverse_transform(np.array([1e3])).tolist() == [16.0]
        assert transform.inverse_transform(np.array([1e3]), clip=False) == [far]
    assert TargetTransform.fit("none", y).inverse_transform(np.array([-1e3])).tolist() == [-4.0]
    several = TargetTransform.fit("none", np.stack([y, y], axis=1))
    assert several.inverse_transform(np.array([[1e3, -1e3]])).tolist() == [[1e3, -1e3]]


@pytest.mark.parametrize("y", [[1.0, 2.0, 11.0], [0.5, 6, 6, 6, 6, 4, 5, 10, 11, 3]])
@pytest.mark.parametrize("name", NAMES)
def test_the_prediction_is_inside_its_interval_however_far_the_output(name, y):
    """Without the bound on the centre an interval around a huge output would not contain the clipped prediction."""
    y = np.array(y)
    target = NumericTarget(TargetTransform.fit(name, y), flat=True)
    outputs, reach = np.array([[-50.0], [0.5], [1.0], [80.0]]), np.array([0.25])
    low, high = target.interval(outputs, reach)
    np.testing.assert_allclose(target.predictions(target.bounded(outputs), clip=False), target.predictions(outputs))
    inside = target.predictions(outputs)
    assert ((low <= inside) & (inside <= high)).all()
    middle = outputs[1:3]
    for side, ends in ((-1, low), (1, high)):
        np.testing.assert_allclose(ends[1:3], target.predictions(middle + side * reach, clip=False), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("log", np.array([1.0, 0.0]), 'target_transform="log" needs a positive target, and the smallest is 0'),
        ("shifted-log", np.ones((3, 2)), 'target_transform="shifted-log" takes a single target, and y has 2'),
        ("square", np.ones(3), r"target_transform must be 'auto', None or one of .*, got 'square'"),
    ],
)
def test_targets_that_cannot_be_transformed_are_refused(name, y, message):
    with pytest.raises(ValueError, match=message):
        TargetTransform.fit(name, y)


def test_new_targets_without_a_logarithm_are_refused():
    with pytest.raises(ValueError, match="the target was fitted as a logarithm, and -2 has none"):
        TargetTransform.fit("log", np.array([1.0, 2.0])).transform(np.array([-2.0]))


def test_skewness_is_that_of_scipy_and_zero_for_a_constant():
    from scipy.stats import skew

    y = np.random.default_rng(0).lognormal(size=50)
    assert skewness(y) == pytest.approx(skew(y))
    assert skewness(np.full(5, 0.1)) == 0
    assert skewness(-y) == pytest.approx(-skewness(y))


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 3)])
@pytest.mark.parametrize("name", ["none", "log"])
def test_numeric_targets_have_a_round_trip_of_values_and_shape(shape, name):
    y = np.random.default_rng(0).uniform(1, 2, size=shape)
    target = NumericTarget(TargetTransform.fit(name, y), flat=y.ndim == 1)
    codes = target.codes(y)
    assert codes.shape == (4, 1 if len(shape) == 1 else shape[1])
    back = target.predictions(codes)
    assert back.shape == shape
    np.testing.assert_allclose(back, y, rtol=1e-12)
    assert target.weights(y, None) is None
    assert target.weights(y, [1, 2, 3, 4]).dtype == np.float64


@pytest.mark.parametrize("labels", [["no", "yes", "no"], ["c", "a", "b"], [3, 1, 2], [True, False, True]])
def test_class_targets_have_a_round_trip_of_labels(labels):
    target = ClassTarget(np.unique(labels))
    codes = target.codes(labels)
    assert codes.shape == (3, 1 if len(target.classes) == 2 else len(target.classes))
    assert target.predictions(codes).tolist() == list(labels)
    assert np.array_equal(target.classes[target.indices(codes)], np.array(labels))


def test_codes_are_plus_and_minus_one_or_one_hot():
    assert ClassTarget(np.array([0, 1])).codes([1, 0]).tolist() == [[1], [-1]]
    assert ClassTarget(np.array(["a", "b", "c"])).codes(["c", "a"]).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_class_weights_multiply_sample_weights_and_can_be_divided_out():
    target = ClassTarget(np.array(["a", "b", "c"]), np.array([1.0, 2.0, 3.0]))
    labels = ["c", "a", "b"]
    assert target.weights(labels, None).tolist() == [3, 1, 2]
    weights = target.weights(labels, np.array([2.0, 2.0, 5.0]))
    assert weights.tolist() == [6, 2, 10]
    assert target.unweighted(weights, target.codes(labels)).tolist() == [2, 2, 5]
    plain = ClassTarget(target.classes)
    assert plain.weights(labels, None) is None
    assert plain.unweighted(weights, plain.codes(labels)) is weights


def test_an_unknown_label_is_named():
    with pytest.raises(ValueError, match="y holds the label 'd', which no training row has"):
        ClassTarget(np.array(["a", "b"])).codes(["a", "d"])


def test_targets_are_not_clipped_and_predictions_are():
    target = NumericTarget(TargetTransform.fit("none", np.array([0.0, 2.0])), flat=True)
    far = np.array([[9.0]])
    assert target.targets(far).tolist() == [9.0]
    assert target.predictions(far).tolist() == [3.0]


@pytest.mark.parametrize("name", NAMES)
def test_the_range_of_codes_gives_the_bounds_of_a_fit_to_all_targets(name):
    """A streamed fit learns the transform from a sample, and the range from all rows."""
    y = np.random.default_rng(0).lognormal(size=500)
    whole, sample = TargetTransform.fit(name, y), TargetTransform.fit(name, y[:50])
    codes = sample.transform(y)
    found = NumericTarget(sample, flat=True).with_range(codes.min(keepdims=True), codes.max(keepdims=True)).transform
    assert (found.low, found.high) == pytest.approx((whole.low, whole.high), rel=1e-9, abs=1e-9)
    several = NumericTarget(TargetTransform("none"), flat=False)
    assert several.with_range(np.zeros(2), np.ones(2)) is several


def test_a_single_column_is_bounded_like_a_single_target():
    y = np.array([0.0, 2.0])
    assert TargetTransform.fit("none", y[:, None]) == TargetTransform.fit("none", y)
