"""Targets on the command line: reading them, and scores beside a baseline."""

import numpy as np
import pytest

import gramian
from gramian.cli.target import read_target
from quick_models import QUICK, houses

pd = pytest.importorskip("pandas")


def test_numbers_with_a_few_words_are_no_classes():
    with pytest.raises(ValueError, match=r"75% of the target 'y' are numbers.*--missing '\?'"):
        read_target(pd.Series(["1", "2", "?", "4"], name="y"))
    assert read_target(pd.Series(["1", "b", "c", "d"], name="y"))[1].tolist() == ["1", "b", "c", "d"]


def test_the_baseline_is_the_mean_or_the_most_frequent_class():
    frame = houses()
    X = frame[["area", "rooms", "noise"]]
    regressor = gramian.RFMRegressor(**QUICK).fit(X[:80], frame["price"][:80])
    scores = score_with_baseline(regressor, X[80:], frame["price"][80:], frame["price"][:80])
    miss = frame["price"][80:] - frame["price"][:80].mean()
    assert scores["RMSE"]["baseline"] == pytest.approx(np.sqrt((miss**2).mean()))
    assert scores["R²"]["model"] == pytest.approx(regressor.score(X[80:], frame["price"][80:]))
    classifier = gramian.RFMClassifier(**QUICK).fit(X[:80], frame["sold"][:80])
    strange = frame["sold"][80:].replace({"no": "never seen"})
    assert list(score_with_baseline(classifier, X[80:], strange, frame["sold"][:80])) == ["accuracy"]
