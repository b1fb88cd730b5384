"""Files of fitted models: what may be in them, and what ``load`` refuses. Files in general: tests/files."""

from dataclasses import is_dataclass

import numpy as np
import pytest
import torch

import gramian
from gramian.files import ModelFileError, read, registered, write
from gramian.kernels import Gaussian, Laplace
from gramian.rfm import serialization
from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import FittedRFM
from gramian.rfm.options import TreePartition
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
        assert back.temperature_ == model.temperature_


def test_a_compressed_model_has_its_record_in_its_file(path):
    small = gramian.RFMRegressor(**QUICK).fit(X, Y).compressed(20)
    small.save(path)
    back = gramian.load(path)
    assert back.compression_ == small.compression_
    assert np.array_equal(back.predict(X), small.predict(X))


def test_callbacks_and_computed_values_are_no_part_of_a_file(path):
    model = gramian.RFMRegressor(**QUICK).fit(X, Y)
    model.save(path)
    before = path.read_bytes()
    _ = model.agop_, model.components_, model.predict(X)
    model.save(path)
    assert path.read_bytes() == before


def test_a_file_of_something_else_is_refused(path):
    write({"a": 1}, path)
    with pytest.raises(ModelFileError, match="holds a dict, not a model: gramian.load opens fitted models"):
        gramian.load(path)
    write(gramian.RFMRegressor(**QUICK).fit(X, Y).model_, path)
    with pytest.raises(ModelFileError, match="holds a FittedRFM"):
        gramian.load(path)
    assert isinstance(read(path), FittedRFM)


def test_the_device_of_a_loaded_model(path):
    model = gramian.RFMRegressor(**QUICK).fit(X, Y)
    model.save(path)
    assert gramian.load(path).device == "auto"
    assert gramian.load(path, device="cpu").device == "cpu"
    assert gramian.load(path, device=torch.device("cpu")).device == "cpu"
    model.device = "no such device"
    model.save(path)
    assert gramian.load(path).device == "auto"


def test_every_type_of_a_model_file_is_one_of_ours_and_harmless():
    types = registered().values()
    assert KernelMachine in types
    assert FittedRFM in types
    for cls in types:
        assert cls.__module__.startswith("gramian.")
        if not is_dataclass(cls):
            cls()
