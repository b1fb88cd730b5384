"""xRFM with the interface of scikit-learn."""

import numpy as np

from gramian.bench.peers import XRFMClassifier, XRFMRegressor


def test_validation_rows_of_xrfm_are_stratified_where_possible():
    y = np.repeat([0, 1, 2], [40, 50, 10])
    train, valid = XRFMClassifier()._split(y, True)
    assert np.bincount(y[valid]).tolist() == [8, 10, 2]
    y[0] = 3  # a class of one row
    train, valid = XRFMClassifier()._split(y, True)
    assert (len(train), len(valid)) == (80, 20)
    assert len(XRFMRegressor()._split(y / 7, False)[1]) == 20
