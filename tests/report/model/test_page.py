"""The page about a model: every kind of model has one that is well formed, escaped and complete."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.report import write_report
from gramian.report.model.predictions import predictions_for
from gramian.report.web import number
from gramian.rfm import TreePartition
from gramian.solvers import Nystrom
from html_checks import check

TITLES = (
    "Scores Calibration Importances Directions Interactions Rounds Example-explanations Data Settings "
    "Warnings-and-records Model-card"
).lower()


def rows(n=90, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + np.sin(2 * X[:, -1]) + 0.1 * rng.normal(size=n)


def read(model, tmp_path, **options):
    text = write_report(model, tmp_path / "folder" / "page.html", **options).read_text(encoding="utf-8")
    return text, check(text)


def sections(checked):
    return [found["id"] for tag, found in checked.elements if tag == "section"]


def test_the_page_of_a_regressor_with_new_rows_has_every_section(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=2).fit(X[:60], y[:60])
    text, checked = read(model, tmp_path, X=X[60:], y=y[60:], title="A <b>title</b>", card={"authors": "me & you"})
    assert sections(checked) == TITLES.split()
    assert "A &lt;b&gt;title&lt;/b&gt;" in text
    assert "me & you" in checked.text
    assert "30 rows given with the report" in checked.text
    assert "Coverage of prediction intervals" in checked.text
    assert "largest error" in checked.text
    assert "unknown" in checked.text  # other entries of the card
    frames = [found for _, found in checked.elements if found.get("class") == "frame"]
    assert len(frames) == len(model.rounds_)
    assert [", selected" in found["data-label"] for found in frames].index(True) == model.best_round_
    assert len(text) < 400_000


def test_without_rows_the_scores_are_those_of_holdout_rows(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    _, checked = read(model, tmp_path)
    assert (
        "90 rows: out-of-fold predictions, by which kernel and round were selected: slightly optimistic" in checked.text
    )
    assert "These are training rows" in checked.text
    assert "Training rows with the largest contributions" in checked.text
    found = predictions_for(model.model_)
    assert found.y.shape == (90, 1)
    assert np.sort(found.y[:, 0]) == pytest.approx(np.sort(y))
    judged = RFMRegressor(preset="fast", n_rounds=1).fit(X[:60], y[:60], eval_set=(X[60:], y[60:]))
    assert "the evaluation set of the fit, by which kernel and round were" in read(judged, tmp_path)[1].text
    split = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, solver=Nystrom(centers=30), ridge=1e-2).fit(X, y)
    assert "9 rows: the holdout part of one split, by which" in read(split, tmp_path)[1].text
    alone = RFMRegressor(kernel="laplace", update="agop", n_rounds=0).fit(X, y)
    assert "leave-one-out predictions given M" in read(alone, tmp_path)[1].text


def test_a_saved_and_loaded_model_has_the_same_page(tmp_path):
    X, y = rows()
    model = RFMClassifier(preset="fast", n_rounds=2).fit(X, y > 0)
    model.save(tmp_path / "m.gramian")
    text, _ = read(model, tmp_path, X=X[:20], y=y[:20] > 0)
    assert read(gramian.load(tmp_path / "m.gramian"), tmp_path, X=X[:20], y=y[:20] > 0)[0] == text


def test_the_page_of_a_model_without_matrices_of_rounds_says_so(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    history = replace(model.model_.history, evolution=None)
    model.model_ = replace(model.model_, history=history)
    assert "saved without M of each round" in read(model, tmp_path)[1].text


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
    assert ("ROC AUC" in checked.text) == (classes <= 20)
    assert "Coverage of sets of classes" in checked.text
    assert "most confident" in checked.text


def test_calibration_is_that_of_the_classifier(tmp_path):
    X, y = rows(150)
    weights = np.where(np.arange(150) % 3, 1.0, 20.0)
    model = RFMClassifier(preset="fast", n_rounds=1).fit(X, y > 0, sample_weight=weights)
    _, checked = read(model, tmp_path)
    curve = model.reliability(level=0.95)
    assert f"Calibration error {curve.error:.3f}" in checked.text
    alt = next(found["aria-label"] for _, found in checked.elements if "Reliability" in found.get("aria-label", ""))
    said = [f"predicted {a:.0%}, correct {b:.0%}" for a, b in zip(curve.confidence, curve.accuracy, strict=True)]
    assert alt == "Reliability curve. " + "; ".join(said)


def test_directions_are_computed_once(tmp_path, monkeypatch):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
    wanted = model.partial_dependence_along(1, grid=30, rows=100)
    directions = import_module("gramian.rfm.explain.directions")
    seen, original = [], directions.psd_eigh
    monkeypatch.setattr(directions, "psd_eigh", lambda *given: seen.append(1) or original(*given))
    _, checked = read(model, tmp_path)
    assert len(seen) == 1
    ends = f"from {number(float(wanted.mean[0]))} to {number(float(wanted.mean[-1]))}"
    assert any(found.get("aria-label", "").endswith(f"direction 2: {ends}") for _, found in checked.elements)


def test_the_page_of_several_targets_has_a_score_for_each(tmp_path):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=1).fit(X, np.column_stack([y, X[:, 1], np.ones(90)]))
    _, checked = read(model, tmp_path, X=X[:20], y=np.column_stack([y, X[:, 1], np.ones(90)])[:20])
    assert "R² (mean over targets)" in checked.text
    assert "prediction of target 0" in checked.text
    assert "target 2 –" in checked.text  # constant: no R²


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


@pytest.mark.parametrize("fitted", [pd.DataFrame, np.asarray])
@pytest.mark.parametrize("given", [pd.DataFrame, np.asarray])
def test_columns_without_names_are_found_by_position(tmp_path, fitted, given):
    X, y = rows()
    model = RFMRegressor(preset="fast", n_rounds=0).fit(fitted(X), y)
    _, checked = read(model, tmp_path, X=given(X[:25]), y=y[:25])
    assert model.explain(given(X[:1])).values == pytest.approx(X[0])
    assert "distinct in X" in checked.text


def test_missing_integers_of_pandas_are_counted(tmp_path):
    X, y = rows(120)
    frame = pd.DataFrame({"whole": pd.array(np.arange(120) % 11, dtype="Int64"), "number": X[:, 0]})
    frame.loc[frame.index % 4 == 1, "whole"] = pd.NA
    model = RFMRegressor(preset="fast", n_rounds=0).fit(frame, y)
    text, checked = read(model, tmp_path, X=frame[:40], y=y[:40])
    assert "25.0% 11" in checked.text
    assert 'data-value="11"' in text  # sorted as a number


def test_one_column_and_one_row_are_enough(tmp_path):
    X, y = rows(d=1)
    model = RFMRegressor(preset="fast").fit(X, y)
    _, checked = read(model, tmp_path, X=X[:1], y=y[:1])
    assert "interactions" not in sections(checked)
    assert "1 column; the model uses 90 training rows" in checked.text
    assert "too few rows" in checked.text
    assert "R² (y is constant)" in checked.text


def test_a_single_class_has_no_auc(tmp_path):
    X, y = rows()
    model = RFMClassifier(preset="fast", n_rounds=0).fit(X, y > 0)
    _, checked = read(model, tmp_path, X=X[y > 0][:25], y=y[y > 0][:25] > 0)
    assert "ROC AUC (one class only)" in checked.text
    assert "nan" not in checked.text


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
    assert f"the model uses {len(model.row_index_)} training rows" in checked.text
    assert "fitted to" not in checked.text.replace("not fitted to", "")


def test_compression_and_threshold_are_warnings(tmp_path):
    X, y = rows()
    model = RFMRegressor(kernel="gaussian", update="agop", n_rounds=1).fit(X, y)
    small = model.compressed(30)
    _, checked = read(small, tmp_path)
    assert "Compressed from 90 to 30 rows" in checked.text
    cut = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, feature_threshold=0.3, select_round="last").fit(
        X, y
    )
    _, checked = read(cut, tmp_path)
    assert "columns were removed by the threshold" in checked.text


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
