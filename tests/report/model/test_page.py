"""The page about a model: every kind of model has one that is well formed, escaped and complete."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.report import write_report
from gramian.rfm import TreePartition
from gramian.solvers import Nystrom
from report.model_pages import read, rows

TITLES = (
    "Summary Scores Predicted-and-true-values Importances Effects-of-columns Calibration Example-explanations "
    "Directions Pairs-of-columns Rounds Data Settings Warnings-and-records Model-card"
).lower()


def sections(checked):
    return [found["id"] for tag, found in checked.elements if tag == "section"]


def test_the_page_of_a_regressor_with_new_rows_has_every_section(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=2).fit(X[:60], y[:60])
    new = y[60:].copy()
    new[np.argsort(model.predict(X[60:]))[5]] += 100  # the row of the largest error is not an example already
    text, checked = read(model, tmp_path, X=X[60:], y=new, title="A <b>title</b>", card={"authors": "me & you"})
    assert sections(checked) == TITLES.split()
    assert "A &lt;b&gt;title&lt;/b&gt;" in text
    assert "me & you" in checked.text
    assert "30 rows that were given with the report and must not be training rows" in checked.text
    assert "Intervals that contain the true value" in checked.text
    assert "largest error" in checked.text
    assert "unknown" in checked.text  # other entries of the card
    frames = [found for _, found in checked.elements if found.get("class") == "frame"]
    assert len(frames) == len(model.rounds_)
    assert [", selected" in found["data-label"] for found in frames].index(True) == model.best_round_
    assert len(text) < 400_000


def test_a_saved_and_loaded_model_has_the_same_page(tmp_path):
    X, y = rows()
    model = RFMClassifier(preset="fast", n_rounds=2).fit(X, y > 0)
    model.save(tmp_path / "m.gramian")
    text, _ = read(model, tmp_path, X=X[:20], y=y[:20] > 0)
    assert read(gramian.load(tmp_path / "m.gramian"), tmp_path, X=X[:20], y=y[:20] > 0)[0] == text


@pytest.mark.parametrize("classes", [2, 3, 25])
def test_labels_of_a_classifier_are_escaped(tmp_path, classes):
    X, _ = rows(150)
    labels = np.array([f"<{c}> & co" for c in range(classes)])
    codes = np.arange(150) // 2 % classes
    X[:, 0] += codes
    model = RFMClassifier(preset="fast", n_rounds=1).fit(X[::2], labels[codes[::2]])
    text, checked = read(model, tmp_path, X=X[1::2], y=labels[codes[1::2]])
    assert "<0>" not in text
    assert "<0> & co" in checked.text
    assert ("AUC" in checked.text) == (classes <= 20)
    assert ("Confusion matrix" in checked.text) == (classes <= 10)
    assert ("ROC curve" in checked.text) == (classes <= 5)
    assert "Sets of classes that contain the true class" in checked.text
    assert "most confident" in checked.text


def test_names_and_values_of_a_frame_are_escaped(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "<script>alert(1)</script>": rng.normal(size=80),
            'a "quoted" & <i>name</i>': rng.choice(["<b>x</b>", "y", "z"], 80),
            "when": pd.date_range("2020-01-01", periods=80),
            "empty": [None] * 80,
        }
    )
    frame.iloc[3, 0] = np.nan
    y = (frame.iloc[:, 1] == "y").astype(float) + frame.iloc[:, 0].fillna(0)
    model = RFMRegressor(preset="fast", n_rounds=1).fit(frame[:60], y[:60])
    text, checked = read(model, tmp_path, X=frame[60:], y=y[60:])
    assert "<script>alert" not in text
    assert "<i>name" not in text
    assert "<b>x</b>" not in text
    assert "<script>alert(1)</script>" in checked.text
    assert "Column empty is not used: empty" in checked.text


def test_one_column_and_one_row_are_enough(tmp_path):
    X, y = rows(d=1)
    model = RFMRegressor(preset="fast").fit(X, y)
    _, checked = read(model, tmp_path, X=X[:1], y=y[:1])
    assert "pairs-of-columns" not in sections(checked)
    assert "It predicts the target (a number) from 1 column. The model was fitted to all 90 rows." in checked.text
    assert "too few rows" in checked.text
    assert "R² (y is constant)" in checked.text


def test_a_page_with_scored_by_says_which_model_was_scored(tmp_path):
    X, y = rows()
    table, target = pd.DataFrame(X, columns=list("abcd")), pd.Series(y, name="rent")
    saved, first = (RFMRegressor(preset="fast", n_rounds=1).fit(table[:n], y[:n]) for n in (90, 60))
    _, checked = read(saved, tmp_path, X=table[60:], y=target[60:], scored_by=first)
    assert "It predicts rent (a number) from 4 columns. The model was fitted to all 90 rows." in checked.text
    assert "from a fit with the same settings to 60 other rows, which has not seen the 30 held-out rows" in checked.text
    assert f"R² {first.score(table[60:], target[60:]):.3f}" in checked.text
    assert f"R² {saved.score(table[60:], target[60:]):.3f}" not in checked.text
    share = saved.importances().shares.max()
    assert f"({share:.1%})" in checked.text
    other = RFMRegressor(preset="fast", n_rounds=0).fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="scored_by must be a model of the same target and the same columns"):
        read(saved, tmp_path, X=X[60:], y=y[60:], scored_by=other)
    with pytest.raises(ValueError, match="scored_by needs X and y"):
        read(saved, tmp_path, scored_by=first)


def test_the_page_of_many_columns_is_small(tmp_path):
    X, y = rows(n=60, d=500)
    model = RFMRegressor(preset="fast", n_rounds=1, select_round="last").fit(X, y)
    text, checked = read(model, tmp_path)
    assert len(text) < 600_000
    assert "300 more columns" in checked.text
    assert model.evolution_.blocks.shape[1:] == (24, 24)


@pytest.mark.parametrize("solver", ["nystrom", "tree"])
def test_models_with_few_centres_have_every_section(tmp_path, solver):
    X, y = rows(n=700)
    solver = Nystrom(centers=100) if solver == "nystrom" else TreePartition(leaf_rows=200)
    model = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, solver=solver, ridge=1e-3).fit(X, y)
    _, checked = read(model, tmp_path, X=X[:50], y=y[:50])
    assert sections(checked) == TITLES.split()
    centers = ", with 100 of them as centres" if len(model.row_index_) == 100 else ""
    assert f"The model was fitted to 630 of 700 rows{centers}." in checked.text  # a tenth selects the round


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": [1.0]}, "y was given without X"),
        ({"X": "rows.csv", "y": [1.0]}, "X must be a table in memory"),
        ({"X": np.ones((0, 4)), "y": []}, "X has no rows"),
        ({"X": np.ones((2, 4)), "y": [1.0]}, "inconsistent"),
        ({"X": scipy.sparse.eye_array(4).tocsr(), "y": np.ones(4)}, "X must be dense"),
        ({"X": np.ones((2, 4)), "y": [[1.0, 2.0], [1.0, 2.0]]}, "y has 2 targets"),
        ({"X": np.ones((2, 4)), "y": [1.0, np.nan]}, "y|target"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, options, message):
    X, y = rows(30)
    model = RFMRegressor(preset="fast", n_rounds=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        write_report(model, tmp_path / "page.html", **options)
    assert not (tmp_path / "page.html").exists()
