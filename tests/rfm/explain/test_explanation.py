"""Explanations as text and HTML."""

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.kernels import Laplace
from gramian.rfm.explain import Explanations
from rfm.explain.models import QUICK, quick


def test_text_names_columns_values_and_rows(data, model):
    text = str(model.explain(data[2][0]))
    for word in ("x0", "x4", "contribution", "sensitivity", "similarity", "change", "without it", "reference"):
        assert word in text
    assert "caus" not in text
    assert "the explained row" in text
    for row in model.explain(data[2][0]).influence.rows:
        assert text.count(f"row {row} ") == 2  # once with its influence, once with its entries


def test_columns_beyond_the_first_twelve_are_summed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 20))
    explanation = RFMRegressor(kernel=Laplace(9.0), **QUICK).fit(X, X.sum(axis=1)).explain(X[0])
    assert "8 more columns" in str(explanation)


def test_html_escapes_names(data):
    pd = pytest.importorskip("pandas")
    X, y, new = data
    names = ["<b>", "a&b", "c", "d", "e"]
    model = quick(Laplace(3.0)).fit(pd.DataFrame(X, columns=names), y)
    html = model.explain(pd.DataFrame(new[:1], columns=names))._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "a&amp;b" in html


def test_text_names_the_class_and_its_probability(data, classifiers):
    explanation = classifiers[1].explain(data[2][0])
    assert f"class {explanation.prediction} ({explanation.probabilities[explanation.prediction]:.1%})" in str(
        explanation
    )


def test_several_explanations_display_the_first_ten_rows(data, model):
    X = data[0]
    found = model.explain(X[:12])
    assert isinstance(found, list)
    assert isinstance(found, Explanations)
    assert len(found) == 12
    html = found._repr_html_()
    assert html.count("<caption>row ") == 10
    assert "2 more rows are in the list" in html
    assert str(model.explain(X[:2])).count("row ") == 2
