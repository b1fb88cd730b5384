"""Fig. 5 and 10: orders over β on made records."""

import pytest

from gramian.experiments.e_gram.generation import BETAS, compare_betas, compare_interpolations


def record(beta, **numbers):
    spec = {"beta": beta, "data": {"name": "mnist"}}
    return {"spec": spec, "numbers": {f"mnist/{beta:g}/{key}": value for key, value in numbers.items()}}


def test_orders_over_beta():
    records = [record(beta, TL=1 / (1 + beta), error=beta, rise=0.1 / beta) for beta in BETAS]
    expected = {"mnist/TL/order": -1.0, "mnist/error/order": 1.0, "mnist/rise": 0.1 / 0.05 - 0.1 / 5}
    assert compare_betas(records) == pytest.approx(expected)
    assert compare_betas(records[:3]) == {}


def test_order_of_the_interpolation_error_over_linearity():
    records = [record(beta, TL=1 / (1 + beta), interpolation=beta**2) for beta in BETAS]
    assert compare_interpolations(records) == pytest.approx({"error/order": 1.0, "error and TL": -1.0})
    assert compare_interpolations([]) == {}
