"""The page about two models: paired intervals, matrices, disagreement, and models that cannot be compared."""

from inspect import unwrap

import numpy as np
import pandas as pd
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.report import write_comparison
from gramian.report.model.measures import scores
from gramian.report.model.predictions import predictions_for
from html_checks import check


def rows(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=n)


@pytest.fixture(scope="module")
def two():
    X, y = rows()
    return tuple(RFMRegressor(preset="fast", n_rounds=t, update="agop").fit(X[:80], y[:80]) for t in (0, 3))


def read(a, b, tmp_path, **options):
    text = write_comparison(a, b, tmp_path / "two.html", **options).read_text(encoding="utf-8")
    return text, check(text)


def test_two_models_are_compared_on_new_rows(two, tmp_path):
    X, y = rows()
    text, checked = read(*two, tmp_path, X=X[80:], y=y[80:], names=("plain <k>", "learned"))
    assert "plain <k>" in checked.text
    assert "<k>" not in text.replace("&lt;k&gt;", "")
    for part in ("learned − plain <k>", "learned is better", "cosine of the matrices", "n_rounds", "row "):
        assert part in checked.text
    assert text.count("disagree") >= 1


def test_a_model_compared_with_itself_differs_in_nothing(two, tmp_path):
    X, y = rows()
    _, checked = read(two[1], two[1], tmp_path, X=X[80:], y=y[80:])
    assert checked.text.count("no difference shown") == 3
    assert "is better" not in checked.text
    assert "cosine of the matrices 1.000" in checked.text
    assert "No argument" not in checked.text
    assert "All arguments are the same" in checked.text


def test_without_rows_there_are_no_paired_intervals(two, tmp_path):
    _, checked = read(*two, tmp_path)
    assert "need not be the same rows" in checked.text
    assert "no difference shown" not in checked.text
    assert "Give X to see the rows" in checked.text


def test_the_page_names_the_rows_on_which_each_model_is_evaluated(two, tmp_path):
    X, y = rows()
    other = RFMRegressor(n_rounds=2, update="agop", kernel="laplace").fit(X[:80], y[:80])
    _, checked = read(two[0], other, tmp_path, names=("plain", "held out"))
    first, second = (predictions_for(model.model_).description for model in (two[0], other))
    assert f"plain is evaluated on {first}; held out is evaluated on {second}." in checked.text
    assert first != second
    assert "Without such errors of several rounds, and not drawn: plain." in checked.text
    _, checked = read(*two, tmp_path, X=X[80:], y=y[80:])
    assert (
        "Both are evaluated on 40 rows that were given with the report and must not be training rows." in checked.text
    )


def test_columns_in_another_order_are_matched_by_name(tmp_path):
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    one, two = (
        RFMRegressor(preset="fast", n_rounds=0).fit(frame[order][:80], y[:80])
        for order in (["a", "b", "c", "d"], ["d", "b", "a", "c"])
    )
    for given in (frame, frame[["d", "c", "b", "a"]]):
        _, checked = read(one, two, tmp_path, X=given[80:], y=y[80:])
        assert "is better" not in checked.text  # they are the same


def test_rows_without_targets_show_where_classifiers_disagree(tmp_path):
    X, y = rows()
    a, b = (RFMClassifier(preset="fast", n_rounds=t).fit(X, y > 0) for t in (0, 1))
    _, checked = read(a, b, tmp_path, X=X[:30])
    assert "probabilities of all classes" in checked.text
    assert "need not be the same rows" in checked.text


def test_few_rows_give_no_verdict(two, tmp_path):
    X, y = rows(n=400, seed=1)
    for n in (19, 20):
        found = predictions_for(two[1].model_, X[:n], y[:n])
        assert all(np.isfinite(score.low) == (n == 20) for score in scores(found))
        _, checked = read(*two, tmp_path, X=X[:n], y=y[:n])
        assert ("is better" in checked.text) == (n == 20)
        assert ("too few rows" in checked.text) == (n == 19)
        assert "nan" not in checked.text


def test_models_that_cannot_be_compared_are_refused(two, tmp_path):
    X, y = rows()
    path = tmp_path / "two.html"
    with pytest.raises(ValueError, match="must predict the same"):
        write_comparison(two[0], RFMClassifier(preset="fast", n_rounds=0).fit(X, y > 0), path)
    with pytest.raises(ValueError, match="same columns; only one of them has x3"):
        write_comparison(two[0], RFMRegressor(preset="fast", n_rounds=0).fit(X[:, :3], y), path)
    with pytest.raises(ValueError, match="two different texts"):
        write_comparison(*two, path, names=("A", "A"))
    with pytest.raises(ValueError, match="fitted models or FeatureReports"):
        unwrap(write_comparison)(two[0], np.eye(4), path)  # without the type checks of the tests
    with pytest.raises(ValueError, match="not fitted"):
        write_comparison(two[0], RFMRegressor(), path)
