"""Compression is the projection onto the centres it selects, and its recorded error is true."""

import numpy as np
import pytest
import torch
from jaxtyping import config

from gramian import RFMClassifier, RFMRegressor, load
from gramian.kernels import Gaussian, Laplace
from gramian.rfm import TreePartition
from gramian.rfm.compression import compress


def rows(n=150, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


@pytest.fixture(scope="module")
def fitted():
    options = {"update": "agop", "n_rounds": 1, "select_round": "last", "ridge": 1e-2}
    return RFMRegressor(kernel=Laplace(3.0), **options).fit(*rows())


def twin(machine, chosen):
    """``K_ZZ β = f(Z)`` and ``‖f − f̃‖/‖f‖``, computed naively."""
    K = machine.kernel(machine.X.double(), metric=machine.metric)
    values = K @ machine.coef
    beta = torch.linalg.solve(K[chosen][:, chosen], values[chosen])
    full = torch.zeros_like(values)
    full[chosen] = beta
    gap = machine.coef - full
    return beta, float(((gap * (K @ gap)).sum() / (machine.coef * values).sum()).sqrt())


def test_it_is_the_projection_onto_its_centres(fitted):
    small = fitted.compressed(40)
    chosen = torch.tensor([int(np.flatnonzero(fitted.row_index_ == i)[0]) for i in small.row_index_])
    beta, error = twin(fitted.machine_, chosen)
    torch.testing.assert_close(small.machine_.coef, beta, rtol=1e-8, atol=1e-10)
    assert small.compression_.function_error == pytest.approx(error, rel=1e-8)
    assert torch.equal(small.machine_.X, fitted.machine_.X[chosen])


def test_each_centre_is_the_best_one_to_add(fitted):
    first = fitted.compressed(1)
    errors = [twin(fitted.machine_, torch.tensor([i]))[1] for i in range(fitted.machine_.n)]
    assert fitted.row_index_[int(np.argmin(errors))] == first.row_index_[0]
    three = fitted.compressed(3).row_index_
    at = [int(np.flatnonzero(fitted.row_index_ == i)[0]) for i in three[:2]]
    errors = {i: twin(fitted.machine_, torch.tensor([*at, i]))[1] for i in range(fitted.machine_.n) if i not in at}
    assert fitted.row_index_[min(errors, key=errors.get)] == three[2]


def test_the_error_falls_with_the_number_of_centres_and_is_zero_for_all_rows(fitted):
    X = rows(60, seed=1)[0]
    records = [fitted.compressed(m, X).compression_ for m in (10, 50, 100, 150)]
    errors = [record.function_error for record in records]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-6
    np.testing.assert_allclose(fitted.compressed(150).predict(X), fitted.predict(X), rtol=1e-7)


def test_the_recorded_change_is_that_of_predictions_and_within_the_bound(fitted):
    X = rows(60, seed=1)[0]
    small = fitted.compressed(30, X)
    change = np.abs(small.predict(X) - fitted.predict(X))
    spread = fitted.predict(X).std()
    assert small.compression_.largest_change == pytest.approx(change.max() / spread)
    assert small.compression_.typical_change == pytest.approx(np.sqrt(np.mean(change**2)) / spread)
    machine = fitted.machine_
    norm = float((machine.coef * machine.operator.matmul(machine.coef)).sum()) ** 0.5  # and k(x, x) = 1
    assert change.max() <= small.compression_.function_error * norm * fitted.model_.target_scaler.scale[0]


def test_fewer_centres_are_returned_where_they_represent_all_rows():
    """Many rows are nearly the same to a smooth kernel: more centres would only add noise, in float32 above all."""
    X = np.linspace(-1, 1, 400)[:, None]
    model = RFMRegressor(kernel=Gaussian(1.0), ridge=1e-3, n_rounds=0, dtype="float32").fit(X, X[:, 0] ** 3)
    small = model.compressed(300, X)
    assert small.compression_.n_centers == len(small.machine_.X) < 30
    assert small.compression_.largest_change < 1e-2


def test_members_of_an_ensemble_share_their_centres(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", bagging=True).fit(X, y)
    assert len(model.ensemble_.machines) == 6
    small = model.compressed(80, X)
    assert len({tuple(machine.X.shape) for machine in small.ensemble_.machines}) == 1
    assert small.compression_.typical_change < 0.2
    assert small.compression_.function_error < model.compressed(20).compression_.function_error
    small.save(tmp_path / "small.gramian")
    model.save(tmp_path / "whole.gramian")
    again = load(tmp_path / "small.gramian")
    np.testing.assert_array_equal(again.predict(X), small.predict(X))
    assert again.compression_ == small.compression_
    assert (tmp_path / "small.gramian").stat().st_size < (tmp_path / "whole.gramian").stat().st_size
    assert len(model.machine_.X) == 150, "the model itself must not change"
    assert not hasattr(again.fit(X, y), "compression_")


def test_probabilities_use_the_calibration_of_the_whole_model():
    X, y = rows()
    labels = np.digitize(y, [-0.5, 0.5])
    model = RFMClassifier(preset="fast").fit(X, labels)
    small = model.compressed(150)
    assert small.link_ == model.link_
    np.testing.assert_allclose(small.predict_proba(X), model.predict_proba(X), atol=1e-5)
    few = model.compressed(60, X)
    assert (few.predict(X) == model.predict(X)).mean() > 0.9


def test_a_constant_function_needs_one_centre():
    X = rows(30)[0]
    small = RFMRegressor(n_rounds=0).fit(X, np.ones(30)).compressed(5)
    assert small.compression_.n_centers == 1
    np.testing.assert_allclose(small.predict(X), 1.0)


@pytest.mark.parametrize("bad", [0, 151, 2.5, "all"])
def test_an_invalid_number_of_centres_is_named(fitted, bad, monkeypatch):
    monkeypatch.setattr(config, "jaxtyping_disable", True)  # wrong types reach our own check, as outside the tests
    with pytest.raises(ValueError, match="n_centers must be an integer from 1 to 150"):
        fitted.compressed(bad)


def test_a_tree_cannot_be_compressed():
    X, y = rows()
    tree = RFMRegressor(kernel="laplace", update="agop", n_rounds=0, solver=TreePartition(leaf_rows=60)).fit(X, y)
    with pytest.raises(ValueError, match="a tree of kernel machines cannot be compressed"):
        tree.compressed(20)


def test_held_out_predictions_are_those_of_the_whole_model(fitted):
    assert compress(fitted.model_, 20).held_out is fitted.model_.holdout
