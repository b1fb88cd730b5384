"""Arguments of the estimators: names are resolved, and wrong values are named in errors."""

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.rfm.options import PRESETS, preset
from gramian.tables import TableEncoder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - 2 * X[:, 1]


@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"kernel": "cubic"}, 'kernel must be one of "laplace"'),
        ({"update": "magic"}, "update must be one of"),
        ({"solver": "qr"}, "solver must be one of"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": "some"}, "ridge"),
        ({"ridge": np.nan}, "ridge"),
        ({"n_rounds": -1}, "n_rounds"),
        ({"n_rounds": 1.5}, "n_rounds"),
        ({"select_round": "first"}, "select_round"),
        ({"ridge_scaling": "d"}, "ridge_scaling"),
        ({"feature_threshold": 1.0}, "feature_threshold"),
        ({"dtype": "float16"}, "dtype"),
        ({"device": "abacus"}, "device"),
        ({"max_memory": "lots"}, "memory"),
        ({"max_memory": 10}, "raise max_memory"),
        ({"n_threads": 0}, "n_threads"),
        ({"n_threads": 1.5}, "n_threads"),
        ({"ridge": None}, "ridge"),
        ({"feature_threshold": "a"}, "feature_threshold"),
        ({"device": "meta"}, "holds no numbers"),
        ({"max_memory": float("inf")}, "memory"),
        ({"random_state": -1}, "random_state"),
        ({"time_limit": 0}, "time_limit must be a positive number"),
        ({"preset": "quick"}, "'fast', 'default', 'best'"),
        ({"encoder": "one-hot"}, 'encoder must be "auto" or a TableEncoder'),
    ],
)
def test_bad_parameters_are_named(params, word):
    with pytest.raises(ValueError, match=word):
        RFMRegressor(**params).fit(X, Y)


def test_names_of_presets_are_listed():
    assert list(PRESETS) == ["fast", "default", "best"]
    with pytest.raises(ValueError, match="'fast', 'default', 'best'"):
        preset("quick")


def test_options_of_an_encoder_can_be_set():
    model = RFMRegressor(encoder=TableEncoder()).set_params(encoder__max_categories=5)
    assert model.encoder.max_categories == 5
    assert model.set_params(**model.get_params()).encoder.max_categories == 5
