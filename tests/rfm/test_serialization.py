"""Files of fitted models: what may be in them, and what ``load`` refuses. Files in general: tests/files."""

import copy
import pickle

import numpy as np
import pytest
import torch

import gramian
from gramian import RFMRegressor
from gramian.files import ModelFileError, read, registered, write
from gramian.kernels import Gaussian, Laplace
from gramian.rfm import serialization
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import FittedRFM
from gramian.rfm.options import TreePartition
from gramian.rfm.training.plan import Plan
from gramian.rfm.tree import TreeMachine
from gramian.rfm.uncertainty.holdout import HoldoutPredictions
from gramian.solvers import Nystrom

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
QUICK = {"kernel": Laplace(3.0), "update": "agop", "n_rounds": 1, "ridge": 1e-2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.gramian"


def test_load_is_the_function_of_the_package():
    assert gramian.load is serialization.load


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": Nystrom(centers=20)},
        {"solver": TreePartition(leaf_rows=30)},
        {"bagging": True},
        {"feature_threshold": 0.05},
        {"kernel": "auto", "update": "auto"},
        {"kernel": Gaussian("median", bandwidth_scale=2.0), "update": "fact"},
    ],
    ids=str,
)
@pytest.mark.parametrize("estimator", [gramian.RFMRegressor, gramian.RFMClassifier])
def test_everything_a_model_knows_is_in_its_file(path, estimator, options):
    y = Y > 0 if estimator is gramian.RFMClassifier else Y
    model = estimator(**QUICK | options).fit(X, y)
    model.save(path)
    back = gramian.load(path)
    assert type(back) is estimator
    assert np.array_equal(back.predict(X), model.predict(X))
    assert np.array_equal(back.gradients(X[:3]), model.gradients(X[:3]))
    assert np.array_equal(back.feature_matrix_, model.feature_matrix_)
    assert repr(back.plan_) == repr(model.plan_)
    assert repr(back.rounds_) == repr(model.rounds_)
    assert back.plan_.memory.peak == model.plan_.memory.peak
    one, other = back.model_.holdout, model.model_.holdout
    assert one.source == other.source
    assert np.array_equal(one.outputs, other.outputs)
    if estimator is gramian.RFMClassifier:
        assert np.array_equal(back.predict_proba(X), model.predict_proba(X))
        assert back.link_ == model.link_


def test_a_compressed_model_has_its_record_in_its_file(path):
    small = gramian.RFMRegressor(**QUICK).fit(X, Y).compressed(20)
    small.save(path)
    back = gramian.load(path)
    assert back.compression_ == small.compression_
    assert np.array_equal(back.predict(X), small.predict(X))


def test_a_fitted_value_can_be_written_but_load_opens_estimators(path):
    value = gramian.RFMRegressor(**QUICK).fit(X, Y).model_
    write(value, path)
    with pytest.raises(ModelFileError, match="holds a FittedRFM, not a model"):
        gramian.load(path)
    assert np.array_equal(read(path).outputs(X), value.outputs(X))


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_a_device_that_is_asked_for_becomes_an_argument_of_the_model(path, device):
    model = gramian.RFMRegressor(**QUICK).fit(X, Y)
    model.device = "no such device"
    model.save(path)
    assert gramian.load(path, device=device).device == "cpu"
    assert gramian.load(path).device == "auto"


def test_the_types_of_a_model_are_registered():
    assert {KernelMachine, TreeMachine, FittedRFM, Plan, HoldoutPredictions} <= set(registered().values())


class TestSkops:
    """skops stores no tensors of torch; it is told what to use instead."""

    def test_a_fitted_model_is_refused_in_words(self):
        X = np.random.default_rng(0).normal(size=(30, 2))
        model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0])
        with pytest.raises(
            TypeError, match=r"write it with model\.save\(path\) and open it with gramian\.load\(path\)"
        ):
            model.model_.__reduce__()

    def test_skops_itself_shows_the_message(self):
        skops = pytest.importorskip("skops.io")
        X = np.random.default_rng(0).normal(size=(30, 2))
        with pytest.raises(TypeError, match=r"model\.save"):
            skops.dumps(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]))

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickles_and_copies_are_not_concerned(self, protocol):
        X = np.random.default_rng(0).normal(size=(30, 2))
        model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0])
        for same in (pickle.loads(pickle.dumps(model, protocol)), copy.deepcopy(model), copy.copy(model)):
            np.testing.assert_array_equal(same.predict(X), model.predict(X))
        assert len(repr(model.model_)) < 100
