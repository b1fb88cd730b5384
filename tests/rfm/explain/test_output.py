"""The argument ``output=``: targets of a regressor, classes of a classifier."""

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.explain import Output

QUICK = {"preset": "fast", "n_rounds": 0, "kernel": "gaussian", "ridge": 1e-2}
X = np.random.default_rng(0).normal(size=(60, 2))


def classifier(labels):
    return RFMClassifier(**QUICK).fit(X, labels).model_


def test_a_single_target_needs_no_number():
    model = RFMRegressor(**QUICK).fit(X, X[:, 0]).model_
    assert Output.of(model, None) == Output(0, 1.0, "prediction")
    assert Output.of(model, 0) == Output(0, 1.0, "prediction", 0)


def test_the_scale_of_the_target_is_named():
    model = RFMRegressor(**QUICK, target_transform="log").fit(X, np.exp(X[:, 0])).model_
    assert Output.of(model, None).name == "prediction on the log scale"


@pytest.mark.parametrize("wanted", [None, 2, -1, "first", 0.0])
def test_one_of_several_targets_must_be_named(wanted):
    model = RFMRegressor(**QUICK).fit(X, X).model_
    assert Output.of(model, 1) == Output(1, 1.0, "prediction of target 1", 1)
    with pytest.raises(ValueError, match=f"output must be the number of a target, 0 to 1, got {wanted!r}"):
        Output.of(model, wanted)


def test_two_classes_share_one_score():
    model = classifier(np.where(X[:, 0] > 0, "yes", "no"))
    assert Output.of(model, None) == Output.of(model, "yes") == Output(0, 1.0, "score of class yes", "yes")
    assert Output.of(model, "no") == Output(0, -1.0, "score of class no", "no")


def test_the_largest_score_selects_one_of_several_classes():
    model = classifier(np.array(list("abc"))[np.digitize(X[:, 0], [-0.5, 0.5])])
    assert Output.of(model, None, np.array([0.1, 0.7, 0.2])) == Output(1, 1.0, "score of class b", "b")
    assert Output.of(model, "c", np.array([0.1, 0.7, 0.2])).index == 2
    with pytest.raises(ValueError, match="output must name one of the classes 'a', 'b', 'c'"):
        Output.of(model, None)


def test_an_error_lists_at_most_eight_classes():
    model = classifier(np.arange(60) % 10)
    with pytest.raises(ValueError, match="one of the classes 0, 1, 2, 3, 4, 5, 6, 7 and 2 more, got 'a'"):
        Output.of(model, "a")
