"""The section on single rows."""

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.report.model.examples import examples_section, explanation
from gramian.report.model.predictions import predictions_for

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    index = [f"house {i}" for i in range(80)]
    return pd.DataFrame({"area": rng.uniform(20, 2000, 80), "town": rng.choice(["Ulm", "Bonn"], 80)}, index=index)


def test_influential_rows_have_their_labels_targets_and_entries(frame):
    model = RFMRegressor(preset="fast", n_rounds=1).fit(frame, frame["area"] * 100)
    explained = model.explain(frame.iloc[3], n_influential=3)
    html = explanation(explained)
    assert "Training rows with the largest influence" in html
    for label, without in zip(explained.influence.labels, explained.influence.without, strict=True):
        assert f"row {label}" in html
        assert explained.format_without(without) in html
    towns = html.split("Their entries in the leading columns")[-1]
    for row in explained.influence.rows:
        assert frame["town"].iloc[row] in towns


def test_examples_name_the_rows_of_the_table_and_their_labels(frame):
    model = RFMRegressor(preset="fast", n_rounds=0).fit(frame, frame["area"]).model_
    body = examples_section(model, predictions_for(model, frame, frame["area"]), frame).body
    lowest = int(np.argmin(model.outputs(frame)[:, 0]))
    assert f"Row house {lowest}, number {lowest} of the rows given for this page." in body


def test_training_rows_are_examples_where_no_rows_are_given(frame):
    model = RFMClassifier(preset="fast", n_rounds=0).fit(frame, frame["town"] == "Ulm").model_
    body = examples_section(model, predictions_for(model)).body
    assert "These are training rows, because no other rows were given." in body
    assert "probability of True without it" in body


def test_a_model_without_influence_says_why(frame):
    model = RFMRegressor(preset="fast", n_rounds=0, solver="nystrom").fit(frame, frame["area"])
    html = explanation(model.explain(frame.iloc[0]))
    assert "None are listed: the solver Nystrom does not solve the ridge regression on all rows." in html
    assert "largest influence" not in explanation(model.explain(frame.iloc[0], n_influential=0))
