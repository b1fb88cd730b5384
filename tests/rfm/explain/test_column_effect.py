"""The effect of one column: equal to brute force on raw rows, and laws that it obeys."""

import numpy as np
import pandas as pd
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.explain.column_effect import column_effect

QUICK = {"preset": "fast", "n_rounds": 1}


def frame(n=120):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "area": rng.uniform(20, 200, n),
            "city": rng.choice(["Bonn", "Rome", "Ulm"], n, p=[0.5, 0.3, 0.2]),
            "when": pd.date_range("2020-01-01", periods=n),
            "id": [f"house {i}" for i in range(n)],
        }
    )
    table.loc[::7, "area"] = np.nan
    y = table["area"].fillna(100) * (1 + (table["city"] == "Rome"))
    return table, y


@pytest.mark.parametrize("column", ["area", "city", "when"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_it_equals_the_mean_prediction_of_raw_rows_with_one_column_changed(column, classes):
    X, y = frame()
    if classes:
        y = np.array(["low", "middle", "high"])[np.digitize(y, [90, 150] if classes == 3 else [120])]
        model = RFMClassifier(**QUICK).fit(X, y)
    else:
        model = RFMRegressor(**QUICK).fit(X, y)
    found = column_effect(model.model_, column, X, grid=5, rows=len(X))
    for g, value in enumerate(found.values):
        changed = X.assign(**{column: value})
        if classes:
            wanted = model.predict_proba(changed).mean(axis=0)
            wanted = wanted[1:] if classes == 2 else wanted
        else:
            wanted = [model.predict(changed).mean()]
        assert found.mean[g] == pytest.approx(wanted, rel=2e-4, abs=1e-4)
    assert found.outputs == (("prediction",) if not classes else tuple(model.classes_[1 if classes == 2 else 0 :]))
    assert found.numeric == (column == "area")
    assert found.ordered == (column != "city")


def test_numbers_are_quantiles_in_rising_order_and_levels_are_the_most_frequent():
    X, y = frame()
    model = RFMRegressor(**QUICK).fit(X, y).model_
    area = column_effect(model, "area", grid=7).values
    assert list(area) == sorted(area)
    assert len(area) == 7
    gaps = np.abs(np.subtract.outer(area, X["area"].dropna().to_numpy())).min(axis=1)
    assert gaps.max() < 1e-3, "observed values, and not the median that replaces missing ones"
    assert column_effect(model, "city", X, levels=2).values == ("Bonn", "Rome")


def test_a_column_without_effect_is_flat_and_an_additive_one_follows_its_term():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    model = RFMRegressor(**QUICK).fit(X, 3 * X[:, 0] + X[:, 1] ** 2).model_
    line, parabola, nothing = (column_effect(model, f"x{j}") for j in range(3))
    slope = np.polyfit(line.values, line.mean[:, 0], 1)[0]
    assert slope == pytest.approx(3, rel=0.1)
    assert parabola.mean.argmin() not in (0, len(parabola.mean) - 1)
    assert nothing.reach < 0.1 * line.reach


def test_columns_that_are_not_used_or_whose_values_are_unknown_have_none():
    X, y = frame()
    model = RFMRegressor(**QUICK).fit(X, y).model_
    assert column_effect(model, "id", X) is None  # an identifier is dropped
    assert column_effect(model, "city") is None  # the levels of training rows are not stored
    assert column_effect(model, "city", X[:1]) is None
    with pytest.raises(ValueError, match="column must be one of the training table such as 'area', got 'aera'"):
        column_effect(model, "aera")
    with pytest.raises(ValueError, match="grid must be a positive integer"):
        column_effect(model, "area", grid=0)


def test_it_can_be_printed():
    X, y = frame()
    shown = str(column_effect(RFMRegressor(**QUICK).fit(X, y).model_, "city", X))
    assert "average prediction by city" in shown
    assert "Rome" in shown
