"""Training rows, explained from what a model keeps of them."""

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.explain import explain_standardised
from gramian.rfm.importance import training_rows


@pytest.mark.parametrize("kind", [RFMRegressor, RFMClassifier])
def test_they_are_explained_as_if_given_by_the_user(kind):
    rng = np.random.default_rng(0)
    X = 5 + 3 * rng.normal(size=(60, 3))
    y = X[:, 0] * X[:, 1]
    model = kind(preset="fast", n_rounds=1).fit(X, y if kind is RFMRegressor else y > np.median(y))
    Z, _ = training_rows(model, 60)
    row = X[model.row_index_[1]]
    mine, theirs = explain_standardised(model, Z[:2])[1], model.explain(row)
    assert mine.score == pytest.approx(theirs.score)
    assert mine.contributions == pytest.approx(theirs.contributions, rel=1e-6, abs=1e-9)
    assert mine.values == pytest.approx(row.tolist())
    assert mine.neighbours.rows.tolist() == theirs.neighbours.rows.tolist()
