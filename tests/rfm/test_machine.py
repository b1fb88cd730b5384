"""A kernel machine: one sum over training rows, its gradients and its averages."""

import dataclasses
import pickle

import pytest
import torch

import twins
from gramian.features import agop
from gramian.features.updates import Source
from gramian.kernels import Gaussian, KernelOperator, Laplace, as_metric
from gramian.rfm.machine import KernelMachine, sampled_agop
from small_training import make_rows

N, D, C = 30, 3, 2


@pytest.fixture(params=[False, True], ids=["", "weights"])
def machine(request, rng):
    data = make_rows(N, D, C, weighted=request.param)
    B = torch.randn(D, D, generator=rng, dtype=torch.float64)
    coef = torch.randn(N, C, generator=rng, dtype=torch.float64)
    return KernelMachine(KernelOperator(Gaussian(2.0), data.X, as_metric(B @ B.mT)), coef, data.weights)


def new_rows(n=7):
    return make_rows(n, D, seed=1).X


def test_it_is_a_sum_over_training_rows(machine):
    X = new_rows()
    K = twins.matrix(machine.kernel, machine.matrix(), X, machine.X)
    torch.testing.assert_close(machine.predict(X), K @ machine.coef, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(machine.predict(X, batch_invariant=False), K @ machine.coef, rtol=1e-9, atol=1e-10)


def test_gradients_are_those_of_the_twin(machine):
    X = new_rows()
    expected = twins.gradients(machine.kernel, machine.matrix(), X, machine.X, machine.coef)
    torch.testing.assert_close(machine.gradient(X), expected, rtol=1e-8, atol=1e-9)


def test_moments_are_sums_over_training_rows(machine):
    G = machine.gradient(machine.X)
    weights = torch.ones(N, dtype=torch.float64) if machine.weights is None else machine.weights
    for rows in (None, torch.tensor([3, 1, 20])):
        at = torch.arange(N) if rows is None else rows
        second, mean, count = machine.moments(rows)
        w = weights[at]
        torch.testing.assert_close(second, torch.einsum("n,ncd,nce->de", w, G[at], G[at]))
        torch.testing.assert_close(mean, torch.einsum("n,ncd->cd", w, G[at]) / w.sum())
        assert count == pytest.approx(float(w.sum()))
    torch.testing.assert_close(machine.agop, torch.einsum("n,ncd,nce->de", weights, G, G) / weights.sum())


def test_the_mean_gradient_on_a_line_gives_the_difference_of_its_ends(machine):
    ends = new_rows(2)
    difference = (machine.predict(ends[1:]) - machine.predict(ends[:1]))[0]
    for output in range(C):
        mean = machine.mean_gradient(ends, output, 64)
        torch.testing.assert_close(mean @ (ends[1] - ends[0]), difference[output], rtol=1e-6, atol=1e-8)
    same = ends[[0, 0]]
    torch.testing.assert_close(machine.mean_gradient(same, 1, 8), machine.gradient(ends[:1])[0, 1])


def test_the_similarity_is_the_kernel_divided_by_that_of_equal_rows(machine):
    rows = torch.tensor([4, 9])
    K = twins.matrix(machine.kernel, machine.matrix(), machine.X[4:5], machine.X[rows])
    torch.testing.assert_close(machine.similarity(machine.X[4:5], rows), K[0], rtol=1e-9, atol=1e-10)
    assert float(machine.similarity(machine.X[4:5], rows)[0]) == 1


def test_a_machine_on_more_rows_is_the_same_function(machine):
    more = make_rows(50, D, seed=2)
    rows = torch.arange(5, 5 + N)
    more.X[rows] = machine.X
    larger = machine.embedded(more.X, rows, None)
    assert larger.n == 50
    torch.testing.assert_close(larger.predict(new_rows()), machine.predict(new_rows()))
    assert int((larger.coef == 0).all(dim=1).sum()) == 20


def test_it_is_frozen_and_a_released_copy_predicts_the_same_bits(machine):
    with pytest.raises(dataclasses.FrozenInstanceError):
        machine.coef = machine.coef
    before = machine.predict(new_rows())
    released = machine.released()
    assert released.X is machine.X
    assert torch.equal(released.predict(new_rows()), before)
    assert torch.equal(pickle.loads(pickle.dumps(machine)).predict(new_rows()), before)


def test_updates_may_read_it(machine):
    assert isinstance(machine, Source)
    assert machine.n == N
    assert machine.max_bytes is None


def test_float32_rows_are_summed_in_float64():
    data = make_rows(40, dtype=torch.float32)
    machine = KernelMachine(KernelOperator(Laplace(2.0), data.X), data.Y)
    assert machine.predict(data.X[:3]).dtype == torch.float64
    assert machine.predict(data.X[:3].double()).dtype == torch.float64


class TestSampledAgop:
    def gradient(self, X):
        return X[:, None, :]

    def test_up_to_2000_rows_it_is_the_average_over_all(self):
        data = make_rows(300, weighted=True)
        torch.testing.assert_close(sampled_agop(self.gradient, data.X, None), agop(data.X[:, None, :]))
        expected = torch.einsum("n,nd,ne->de", data.weights, data.X, data.X) / data.weights.sum()
        torch.testing.assert_close(sampled_agop(self.gradient, data.X, data.weights), expected)

    def test_beyond_it_is_over_random_rows_and_the_same_ones_each_time(self, monkeypatch):
        monkeypatch.setattr("gramian.rfm.machine._AGOP_ROWS", 50)
        data = make_rows(300)
        one, same = (sampled_agop(self.gradient, data.X, None) for _ in range(2))
        assert torch.equal(one, same)
        assert not torch.allclose(one, agop(data.X[:50, None, :]))
        assert not torch.allclose(one, agop(data.X[:, None, :]))
