"""The kernel operator: four fields, and prepared rows that are a cache."""

import importlib
import pickle
from dataclasses import FrozenInstanceError

import pytest
import torch

from gramian import files
from gramian.core.pool import Threads
from gramian.kernels import Gaussian, Identity, KernelOperator, Laplace, Lp, as_metric


@pytest.fixture(params=[torch.float32, torch.float64], ids=str)
def operator(request, rng):
    A = torch.randn(4, 4, generator=rng, dtype=torch.float64)
    X = torch.randn(300, 4, generator=rng, dtype=torch.float64).to(request.param)
    return KernelOperator(Laplace(2.0), X, as_metric(A @ A.mT), max_bytes=10**8)


def prepared(operator):
    return len(operator.__dict__) > 4


def test_rows_are_prepared_when_first_needed(operator):
    assert not prepared(operator)
    operator.diagonal()
    assert prepared(operator)


def test_a_released_operator_shares_rows_and_gives_the_same_bits(operator, rng):
    coef = torch.randn(300, 2, generator=rng, dtype=torch.float64)
    before = operator.predict(operator.X, coef), operator.gradient(operator.X, coef), operator.matmul(coef)
    released = operator.released()
    assert prepared(operator)
    assert not prepared(released)
    assert released.X is operator.X
    assert released.metric is operator.metric
    assert released.max_bytes == operator.max_bytes
    after = released.predict(operator.X, coef), released.gradient(operator.X, coef), released.matmul(coef)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_pickles_and_files_hold_the_four_fields(operator, tmp_path):
    bare = pickle.dumps(operator)
    K = operator.dense()
    assert len(pickle.dumps(operator)) == len(bare)
    importlib.import_module("gramian.rfm")  # registers the types of model files
    files.write(operator, tmp_path / "operator.gramian")
    for copied in (pickle.loads(bare), files.read(tmp_path / "operator.gramian")):
        assert not prepared(copied)
        assert torch.equal(copied.dense(), K)


def test_threads_that_share_an_operator_prepare_its_rows_once(operator):
    points = [found for _, found in Threads(4).run(lambda shared, _: shared.points, operator, range(16))]
    assert all(one is points[0] for one in points)


def test_an_operator_is_frozen_and_checks_its_metric(rng):
    X = torch.randn(5, 2, generator=rng)
    operator = KernelOperator(Gaussian(1.0), X)
    assert isinstance(operator.metric, Identity)
    with pytest.raises(FrozenInstanceError):
        operator.X = X
    with pytest.raises(ValueError, match="Lp needs a metric that only rescales coordinates"):
        KernelOperator(Lp(1.0), X, as_metric(torch.tensor([[2.0, 1.0], [1.0, 2.0]])))
