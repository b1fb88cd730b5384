"""The summary of a fit: facts, scores and columns, as text and below scikit-learn's diagram in a notebook."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.explain import summary as module

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(80, 7)), columns=["a<b", "x1", "x2", "x3", "x4", "x5", "x6"])
Y = 2 * X["a<b"] + X["x3"] * X["x1"]


@pytest.fixture(scope="module")
def regressor():
    return RFMRegressor(kernel="gaussian", update="agop", n_rounds=2).fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    return RFMClassifier(kernel="gaussian", update="agop", n_rounds=1).fit(X, np.where(Y > 0, "up", "down"))


def test_an_unfitted_estimator_is_displayed_by_scikit_learn(regressor):
    html = clone(regressor)._repr_html_()
    assert "sk-top-container" in html
    assert "gramian-result" not in html


def test_the_summary_is_displayed_below_the_diagram(regressor):
    html = regressor._repr_html_()
    assert "sk-top-container" in html
    assert html.index("gramian-result") > html.index("sk-top-container")
    assert "a&lt;b" in html
    assert "<td>a<b" not in html
    bundle = regressor._repr_mimebundle_()
    assert bundle["text/plain"] == repr(regressor)
    assert "gramian-result" in bundle["text/html"]


def test_scikit_learns_display_setting_is_respected(regressor):
    with sklearn.config_context(display="text"):
        assert not hasattr(regressor, "_repr_html_")
        assert set(regressor._repr_mimebundle_()) == {"text/plain"}


def test_a_pipeline_is_displayed_as_its_diagram(regressor):
    assert "RFMRegressor" in make_pipeline(StandardScaler(), regressor)._repr_html_()


def test_the_score_is_that_of_the_held_out_rows(regressor, classifier):
    held = regressor.model_.holdout
    r2 = 1 - np.sum((held.outputs - held.targets) ** 2) / np.sum((held.targets - held.targets.mean()) ** 2)
    facts = dict(regressor.summary().facts)
    assert facts["R² on held-out rows (folds, which selected the round)"] == f"{r2:.3f}"
    assert facts["selected"] == f"round {regressor.best_round_} of 2"
    facts = dict(classifier.summary().facts)
    assert facts["accuracy on held-out rows (folds, which selected the round)"] == (
        f"{1 - classifier.held_out_losses_['error']:.1%}"
    )


def test_a_constant_target_has_no_r2():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))

    def r2(targets):
        facts = RFMRegressor(preset="fast", n_rounds=0).fit(rows, targets).summary().facts
        return [value for name, value in facts if name.startswith("R²")]

    assert r2(np.ones(60)) == []
    noise = rng.normal(size=60)
    assert r2(np.column_stack([noise, np.ones(60)])) == r2(noise)


def test_columns_are_ordered_by_share_and_the_others_counted(regressor):
    found = regressor.summary()
    order = np.argsort(-regressor.feature_importances_)[:5]
    assert found.columns == tuple(X.columns[order])
    np.testing.assert_allclose(found.shares, regressor.feature_importances_[order])
    assert "2 more columns" in str(found)


def test_nothing_that_takes_long_is_computed(monkeypatch):
    fitted = RFMRegressor(preset="fast", n_rounds=0, ridge=1.0).fit(X, Y)
    monkeypatch.setattr(module, "_QUICK_ROWS", 10)
    found = fitted.summary()
    assert found.columns == ()
    assert "agop" not in vars(fitted.ensemble_)
    assert fitted.model_.held_out is None
    assert "holdout" not in vars(fitted.model_), "leave-one-out predictions must not be computed"
    assert not any(name.startswith("R²") for name, _ in found.facts)
    assert "share of sensitivity" not in str(found)


def test_an_unfitted_model_has_no_summary():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        RFMRegressor().summary()


def test_facts_name_rows_kernel_and_solver(regressor):
    facts = dict(regressor.summary().facts)
    assert facts["training rows"] == "80"
    assert facts["columns"] == "7"
    assert facts["kernel"].startswith("Gaussian, bandwidth ")
    assert facts["solver"] == "Direct"
    assert dict(regressor.compressed(30).summary().facts)["training rows"] == "80, of which 30 are centres"


def test_a_loaded_model_has_the_same_summary(regressor, tmp_path):
    regressor.save(tmp_path / "m.gramian")
    again = gramian.load(tmp_path / "m.gramian")
    assert repr(again.rounds_) == repr(regressor.rounds_)
    assert again._repr_html_().split("gramian-result", 1)[1] == regressor._repr_html_().split("gramian-result", 1)[1]
