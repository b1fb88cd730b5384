"""Tables of modular arithmetic."""

import numpy as np
import pytest

from gramian.datasets import modular_arithmetic

OPERATIONS = {
    "+": lambda a, b, c, p: (a + b - c) % p == 0,
    "-": lambda a, b, c, p: (a - b - c) % p == 0,
    "*": lambda a, b, c, p: (a * b - c) % p == 0,
    "/": lambda a, b, c, p: (b * c - a) % p == 0,
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_table_is_complete_and_solves_its_equation(operation):
    p = 11
    data = modular_arithmetic(p, operation, fraction=0.3, seed=2)
    rows = p * (p - 1) if operation == "/" else p * p
    assert data.X.shape == (rows, 2 * p)
    np.testing.assert_array_equal(data.X.sum(axis=1), 2)
    a, b = data.X[:, :p].argmax(axis=1), data.X[:, p:].argmax(axis=1)
    assert len({*zip(a.tolist(), b.tolist(), strict=True)}) == rows
    assert OPERATIONS[operation](a, b, data.y, p).all()
    assert ((data.y >= 0) & (data.y < p)).all()
    (split,) = data.splits
    assert len(split.train) == round(0.3 * rows)
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(rows))
