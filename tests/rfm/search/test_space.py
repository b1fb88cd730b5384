"""Search spaces."""

import pytest

from gramian import RFMRegressor
from gramian.kernels import Lp
from gramian.rfm.search import published_space

optuna = pytest.importorskip("optuna")


def test_the_published_space_has_the_published_bounds():
    kernels = []
    for seed in range(40):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        params = published_space(study.ask())
        RFMRegressor().set_params(**params)
        kernel = params["kernel"]
        kernels.append(type(kernel).__name__)
        assert 0.7 <= kernel.exponent <= 1.4
        assert 1 / 16 <= kernel.bandwidth_scale <= 16
        assert 1e-6 <= params["ridge"] <= 10
        if isinstance(kernel, Lp):
            assert max(1, kernel.exponent) <= kernel.p <= 2
            assert params["update"].diagonal
    assert set(kernels) == {"Exponential", "Lp"}
