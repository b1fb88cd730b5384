"""Fig. 10: orders over β on made records."""

import pytest

from gramian.experiments.e_gram.generation import (
    BETAS,
    compare_betas,
)


def record(beta, **numbers):
    spec = {"beta": beta, "data": {"name": "mnist"}}
    return {"spec": spec, "numbers": {f"mnist/{beta:g}/{key}": value for key, value in numbers.items()}}


def test_orders_over_beta():
    records = [record(beta, TL=1 / (1 + beta), error=beta, rise=0.1 / beta, structure=0.1) for beta in BETAS]
    rise = {"mnist/rise": 0.1 / 0.05 - 0.1 / 5}
    expected = {"mnist/TL/order": -1.0, "mnist/error/order": 1.0, "mnist/better": 6.0}
    assert compare_betas(records) == pytest.approx(expected | rise)
    assert compare_betas(records[:3]) == {}


def test_networks_that_are_worse_than_the_mean_image_have_no_order():
    """Only β = 0.05 and 0.1 have learned, and their errors are reversed; the others would hide it."""
    made = {beta: {"TL": 0.5, "error": beta, "rise": 0.0, "structure": -0.5} for beta in BETAS}
    made[0.05] |= {"error": 0.2, "structure": 0.1}
    made[0.1] |= {"error": 0.15, "structure": 0.2}
    found = compare_betas([record(beta, **numbers) for beta, numbers in made.items()])
    assert found["mnist/better"] == 2
    assert found["mnist/error/order"] == -1
    made[0.1]["structure"] = -0.1
    assert "mnist/error/order" not in compare_betas([record(beta, **numbers) for beta, numbers in made.items()])
