"""Fits on three machines with addresses of their own: the same bits, also when one of them is lost."""

import threading

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from gramian import RFMRegressor
from gramian.distributed.rows import ClusterRows
from gramian.kernels import Laplace
from gramian.solvers import Nystrom
from machines import Machines, addresses, why_not

ROWS, COLUMNS = 12_000, 30
FEW, MANY = 21_000, 81_000
"""Numbers of rows beyond the largest part from which features are learned."""


@pytest.fixture(scope="module")
def three():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with Machines(3) as machines:
        yield machines


def table(rows=ROWS):
    X = np.random.default_rng(0).normal(size=(rows, COLUMNS))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def model(**options):
    """A model for many rows, whose passes over the rows are the workers' own."""
    given = {"solver": Nystrom(centers=100), "kernel": Laplace(5.0), "ridge": 0.01, "n_rounds": 1, "n_threads": 1}
    return RFMRegressor(**given, **options)


def fitted(machines):
    X, y = table()
    with machines.client.as_current():
        return model().fit(X, y).predict(X[:500])


@pytest.fixture(scope="module")
def predictions(three):
    """Predictions of the model that was fitted on the three machines."""
    return fitted(three)


def test_every_machine_has_its_own_address(three):
    assert len(addresses(three)) == 3


def test_the_fit_is_that_of_one_computer(predictions):
    X, y = table()
    alone = model(cluster=None).fit(X, y).predict(X[:500])
    # Sums in another order, within a solver that stops at a relative error of 1e-3.
    assert np.sqrt(np.mean((predictions - alone) ** 2)) < 3e-3 * alone.std()


def test_a_second_fit_gives_the_same_bits(three, predictions):
    np.testing.assert_array_equal(fitted(three), predictions)


@pytest.mark.slow
def test_one_machine_gives_the_same_bits_as_three(predictions):
    with Machines(1) as one:
        np.testing.assert_array_equal(fitted(one), predictions)


def test_rows_are_sent_once(three, predictions):
    """Each row passes the cable of the scheduler and that of one worker once; the rest does not grow with the rows."""
    sent = []
    for rows in FEW, MANY:
        X, y = table(rows)
        before = three.traffic()
        with three.client.as_current():
            model().fit(X, y)
        received = [now.received - old.received for now, old in zip(three.traffic(), before, strict=True)]
        sent.append((received[0], sum(received[1:])))
    row = 4 * COLUMNS + 8  # in float32, and its target in float64
    to_scheduler, to_workers = ((many - few) / (MANY - FEW) / row for few, many in zip(*sent, strict=True))
    assert 0.8 < to_scheduler < 1.4
    assert 0.8 < to_workers < 2  # before a block is held, an idle worker may take it from another


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["kill_worker", "lose"])
def test_a_machine_lost_in_the_middle_of_a_fit_changes_no_bit(predictions, loss, monkeypatch):
    with Machines(3) as machines:
        real, calls = ClusterRows.reduce, []

        def reduce(self, *args):
            calls.append(len(calls))
            if len(calls) == 3:
                threading.Timer(0.01, getattr(machines, loss), [2]).start()
            return real(self, *args)

        monkeypatch.setattr(ClusterRows, "reduce", reduce)
        np.testing.assert_array_equal(fitted(machines), predictions)
        assert len(calls) > 3
        assert len(addresses(machines)) == 2
