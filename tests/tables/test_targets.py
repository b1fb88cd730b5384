"""Target codings and the scales of targets."""

import numpy as np
import pytest

from gramian.tables.targets import ClassTarget, TargetTransform


@pytest.mark.parametrize("name", ["log", "shifted-log"])
def test_transforms_invert_and_stay_bounded(name):
    y = np.exp(2 * np.random.default_rng(0).normal(size=200))
    to = TargetTransform.fit(name, y)
    np.testing.assert_allclose(to.inverse_transform(to.transform(y)), y, rtol=1e-10)
    assert to.inverse_transform(np.array([1e9]))[0] == y.max() + 0.5 * np.ptp(y)
    assert np.isinf(to.inverse_transform(np.array([np.inf]), clip=False)[0])
    order = np.argsort(y)
    assert (np.diff(to.transform(y)[order]) >= 0).all()


def test_classes_are_coded_and_their_weights_multiply_those_of_rows():
    target = ClassTarget(np.array(["a", "b", "c"]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(target.codes(["c", "a"]), [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(target.weights(["c", "a"], np.array([2.0, 2.0])), [6, 2])
    np.testing.assert_array_equal(ClassTarget(np.array([0, 1])).codes([1, 0]), [[1], [-1]])
    np.testing.assert_array_equal(target.unweighted(np.array([6.0, 2.0]), target.codes(["c", "a"])), [2, 2])
