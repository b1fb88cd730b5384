"""Pairs of columns: the learned matrix summed over encoded columns."""

import numpy as np
import pandas as pd

from gramian import RFMRegressor
from gramian.report.model.pairs import by_group, pairs_section
from html_checks import check
from report.model_pages import rows


def test_blocks_are_roots_of_sums_of_squares_with_the_sign_of_single_entries():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    M, groups = A + A.T, np.array([0, 1, 1, 2, 1])
    found = by_group(M, groups, 3)
    for a in range(3):
        for b in range(3):
            block = M[np.ix_(groups == a, groups == b)]
            wanted = np.sqrt((block**2).sum()) * (np.sign(block[0, 0]) if block.size == 1 else 1)
            assert np.isclose(found[a, b], wanted)
    assert np.allclose(by_group(M, np.arange(5), 5), M)


def test_directions_of_numbers_and_no_levels_of_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "town": rng.choice(["x", "y", "z"], 200)})
    y = np.sin(X["a"] - X["b"]) + (X["town"] == "x")
    model = RFMRegressor(preset="fast", n_rounds=2, update="agop", select_round="last").fit(X, y).model_
    shown = check(pairs_section(model).body)
    assert "a and b" in shown.text
    assert "opposite" in shown.text
    assert "town=" not in shown.text


def test_one_column_has_no_pairs():
    X, y = rows(d=1)
    assert pairs_section(RFMRegressor(preset="fast", n_rounds=0).fit(X, y).model_).body == ""
