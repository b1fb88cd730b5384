"""Curves and tables of the effects of columns."""

import numpy as np
import pandas as pd
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.report.model.effects import column_effects, effect_sentence, effects_section
from gramian.rfm.explain.column_effect import ColumnEffect
from html_checks import check
from report.model_pages import read

pytestmark = pytest.mark.usefixtures("without_curves")


def frame(n=90):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"year": rng.integers(1990, 2020, n), "town": rng.choice(["<b>Ulm</b>", "Bonn"], n)})
    return X, 1000.0 * (X["year"] - 1990) + 5000 * (X["town"] == "Bonn")


def test_numbers_have_a_curve_and_levels_a_table_in_the_order_of_their_effect(tmp_path):
    X, y = frame()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    text, checked = read(model, tmp_path, X=X, y=y)
    assert "<b>Ulm" not in text
    alts = [found["aria-label"] for tag, found in checked.elements if tag == "svg"]
    assert any(alt.startswith("Average prediction as year goes from 1,99") for alt in alts)
    section = text[text.index('id="effects-of-columns"') :]
    assert section.index(">Bonn<") < section.index("&lt;b&gt;Ulm"), "the larger effect first"
    assert ">2000<" in section, "years have no separator"


def test_columns_without_a_share_have_no_curve():
    X, y = frame()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y).model_
    assert [found.column for found in column_effects(model, [("year", 0.999), ("town", 0.001)], X)] == ["year"]
    assert [found.column for found in column_effects(model, [("year", 0.0), ("town", 0.0)], X)] == ["year"]
    assert not column_effects(model, [("town", 1.0)])


def test_each_of_three_classes_has_a_curve():
    X, y = frame()
    labels = np.array(["a", "b", "c"])[np.digitize(y, [10_000, 20_000])]
    model = RFMClassifier(preset="fast", n_rounds=0).fit(X, labels).model_
    shown = check(effects_section(column_effects(model, [("year", 1.0)]), ("a", "b", "c"), known=False).body)
    assert sum(found.get("class") == "line" for _, found in shown.elements) == 3
    assert "Only columns with numbers are shown" in shown.text


def test_the_sentence_names_both_ends():
    risk = ColumnEffect("age", (20.0, 80.0), True, True, ("yes",), np.array([[0.125], [0.5]]))
    assert effect_sentence(risk) == "From age 20 to 80, the average probability of yes changes from 12% to 50%."
    assert effect_sentence(ColumnEffect("town", ("a", "b"), False, False, ("yes",), np.zeros((2, 1)))) == ""
