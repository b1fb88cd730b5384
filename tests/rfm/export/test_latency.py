"""The number of centres follows from the time of one row, and the compressed model keeps it."""

from dataclasses import replace

import numpy as np
import pytest

from exported_models import ONE, fitted, rows
from gramian import RFMRegressor, load
from gramian.rfm.export import centers_within, latency, predictor_of
from gramian.rfm.export.latency import example_row, row_seconds


@pytest.fixture
def slow_clock(monkeypatch):
    """One row takes a millisecond and a microsecond per centre: a time that does not depend on the computer."""
    monkeypatch.setattr(latency, "row_seconds", lambda predictor: 1e-3 + 1e-6 * predictor.sums[0].points.shape[1])


def test_the_largest_number_of_centres_within_the_limit(slow_clock):
    model = RFMRegressor(kernel="laplace", **ONE).fit(*rows(400)).model_
    found = centers_within(model, 1.25e-3)  # of which a tenth is a margin: 1.125 ms, that is 125 centres
    assert 119 <= found <= 125
    assert centers_within(model, 1.0) == 400
    with pytest.raises(ValueError, match=r"raise max_latency to 0\.0012"):
        centers_within(model, 1e-3)
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="positive"):
            centers_within(model, wrong)


def test_a_compressed_model_states_its_latency_and_its_cost(slow_clock, tmp_path):
    X, y = rows(600, columns=6)
    model = RFMRegressor(kernel="laplace", **ONE).fit(X, y)
    small = model.compressed(max_latency=1.25e-3, X=X)
    record = small.compression_
    assert 119 <= record.n_centers <= 125
    assert record.n_before == 600
    assert record.latency > 0  # measured on the compressed model
    assert 0 < record.typical_change <= record.largest_change
    assert record.function_error == model.compressed(record.n_centers, X).compression_.function_error
    small.save(tmp_path / "m.gramian")
    assert load(tmp_path / "m.gramian").compression_ == record


def test_more_centres_take_longer():
    X, y = rows(3000, columns=20)
    predictor = predictor_of(RFMRegressor(kernel="laplace", n_rounds=0, ridge=1e-2).fit(X, y).model_)
    (part,) = predictor.sums
    few = replace(part, points=part.points[:, :30].copy(), norms=part.norms[:30].copy(), coef=part.coef[:30])
    assert row_seconds(replace(predictor, sums=[few])) < row_seconds(predictor) < 0.1


def test_a_model_that_is_fast_enough_keeps_all_its_centres():
    model = fitted("laplace")[0]
    same = model.compressed(max_latency=1.0)
    assert same.compression_.n_centers == same.compression_.n_before == model.machine_.n
    assert same.compression_.typical_change == 0
    X = rows(20, seed=3)[0]
    assert (same.predict(X) == model.predict(X)).all()


def test_exactly_one_of_two_limits():
    model = fitted("laplace")[0]
    for options in ({}, {"n_centers": 10, "max_latency": 1.0}):
        with pytest.raises(ValueError, match="either n_centers or max_latency"):
            model.compressed(**options)


@pytest.mark.parametrize("name", ["laplace", "frame", "frame, classes", "tree"])
def test_the_example_row_is_accepted_by_predictor_and_model(name):
    model = fitted(name)[0]
    predictor = predictor_of(model.model_)
    row = example_row(predictor)
    assert predictor.predict(row).shape == (1,)
    assert row_seconds(predictor, repeats=3) > 0
    assert np.asarray(row).shape == (1, len(predictor.names))
