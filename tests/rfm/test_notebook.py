"""In a notebook a model shows what scikit-learn shows, and what the fit came to; text and page say the same."""

import copy

import numpy as np
import pandas as pd
import pytest
import sklearn
from gramian.rfm.rounds import Round
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.display import format_number, typographic_minus
from gramian.rfm import summary as module

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(80, 7)), columns=["a<b", "x1", "x2", "x3", "x4", "x5", "x6"])
Y = 2 * X["a<b"] + X["x3"] * X["x1"]


@pytest.fixture(scope="module")
def regressor():
    return RFMRegressor(kernel="gaussian", update="agop", n_rounds=2).fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    return RFMClassifier(kernel="gaussian", update="agop", n_rounds=1).fit(X, np.where(Y > 0, "up", "down"))


def test_before_the_fit_it_is_scikit_learns(regressor):
    html = clone(regressor)._repr_html_()
    assert "sk-top-container" in html
    assert "gramian-result" not in html


def test_after_the_fit_both_are_there(regressor):
    html = regressor._repr_html_()
    assert "sk-top-container" in html
    assert html.index("gramian-result") > html.index("sk-top-container")
    assert "a&lt;b" in html
    assert "<td>a<b" not in html
    bundle = regressor._repr_mimebundle_()
    assert bundle["text/plain"] == repr(regressor)
    assert "gramian-result" in bundle["text/html"]


def test_the_display_setting_is_kept(regressor):
    with sklearn.config_context(display="text"):
        assert not hasattr(regressor, "_repr_html_")
        assert set(regressor._repr_mimebundle_()) == {"text/plain"}


def test_a_pipeline_still_draws_its_diagram(regressor):
    assert "RFMRegressor" in make_pipeline(StandardScaler(), regressor)._repr_html_()


def test_the_score_is_that_of_the_held_out_rows(regressor, classifier):
    judged = regressor._judged()
    r2 = 1 - np.sum((judged.outputs - judged.targets) ** 2) / np.sum((judged.targets - judged.targets.mean()) ** 2)
    facts = dict(regressor.summary().facts)
    assert facts["R² on held-out rows (folds, which chose the round)"] == f"{r2:.3f}"
    assert facts["kept"] == f"round {regressor.best_round_} of 2"
    facts = dict(classifier.summary().facts)
    assert facts["accuracy on held-out rows (folds, which chose the round)"] == (
        f"{1 - classifier.held_out_losses_['error']:.1%}"
    )


def test_rounds_may_be_a_plain_list(regressor):
    old = copy.copy(regressor)
    old.rounds_ = list(regressor.rounds_)
    assert str(old.summary()) == str(regressor.summary())


def test_a_constant_target_has_no_r2():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))

    def r2(targets):
        facts = RFMRegressor(preset="fast", n_rounds=0).fit(rows, targets).summary().facts
        return [value for name, value in facts if name.startswith("R²")]

    assert r2(np.ones(60)) == []
    noise = rng.normal(size=60)
    assert r2(np.column_stack([noise, np.ones(60)])) == r2(noise)


def test_columns_by_share_with_the_rest_named(regressor):
    found = regressor.summary()
    order = np.argsort(-regressor.feature_importances_)[:5]
    assert found.columns == tuple(X.columns[order])
    np.testing.assert_allclose(found.shares, regressor.feature_importances_[order])
    assert "2 more columns" in str(found)


def test_a_glance_computes_nothing_long(monkeypatch):
    fitted = RFMRegressor(preset="fast", n_rounds=0, ridge=1.0).fit(X, Y)
    monkeypatch.setattr(module, "_QUICK_ROWS", 10)
    found = fitted.summary()
    assert found.columns == ()
    assert "agop" not in vars(fitted.blend_)
    assert fitted._seen_by_none is None, "leave-one-out would be computed"
    assert not any(name.startswith("R²") for name, _ in found.facts)
    assert "share of sensitivity" not in str(found)


def test_an_unfitted_model_has_no_summary():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        RFMRegressor().summary()


class TestRounds:
    def test_is_a_sequence(self, regressor):
        records = regressor.rounds_
        assert len(records) == 3
        assert [r.index for r in records] == [0, 1, 2]
        assert isinstance(records[-1], Round)
        assert records[:2] == (records[0], records[1])
        assert records[0] in records

    def test_shows_every_round(self, regressor):
        html, words = regressor.rounds_._repr_html_(), str(regressor.rounds_)
        for record in regressor.rounds_:
            assert f"<td>{typographic_minus(format_number(record.score))}</td>" in html
            assert format_number(record.score) in words
        assert html.count('class="bar"') == 3

    def test_one_record(self, regressor):
        record = regressor.rounds_[1]
        assert "round 1" in str(record)
        assert record.status in record._repr_html_()
        assert repr(record).startswith("Round(index=1")

    def test_frame(self, regressor):
        frame = regressor.rounds_.to_pandas()
        assert frame.loc[1, "ridge"] == regressor.rounds_[1].ridge

    def test_is_saved(self, regressor, tmp_path):
        regressor.save(tmp_path / "m.gramian")
        again = gramian.load(tmp_path / "m.gramian")
        assert repr(again.rounds_) == repr(regressor.rounds_)
        assert (
            again._repr_html_().split("gramian-result", 1)[1] == regressor._repr_html_().split("gramian-result", 1)[1]
        )


def test_networks_show_themselves_too():
    import torch

    from gramian.nets import Monitor, compare, inspect

    with torch.random.fork_rng():
        layer = torch.nn.Linear(3, 2)
    report = inspect(layer, torch.eye(3))
    assert compare(report, report)._repr_html_().startswith('<div class="gramian-result"><style>')
    monitor = Monitor(layer, torch.eye(3))
    assert "nothing was measured" in monitor._repr_html_()
    monitor.measure()
    assert "last at step 0" in monitor._repr_html_()


def test_several_explanations_show_themselves(regressor):
    found = regressor.explain(X[:12])
    assert isinstance(found, list)
    assert len(found) == 12
    html = found._repr_html_()
    assert html.count("<caption>row ") == 10
    assert "2 more rows are in the list" in html
    assert str(regressor.explain(X[:2])).count("row ") == 2
