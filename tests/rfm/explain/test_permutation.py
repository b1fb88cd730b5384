"""Permutation importances: of given rows, and of rows held out of refits."""

import numpy as np
import pytest
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss, r2_score

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Laplace
from gramian.rfm.explain.permuted import explained_score

QUICK = {"preset": "fast", "kernel": Laplace(3.0), "n_rounds": 1}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 4))
    return X, 2 * X[:, 1] + np.sin(2 * X[:, 3]) + 0.1 * rng.normal(size=260)


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    return RFMRegressor(**QUICK).fit(X[:160], y[:160])


def test_losses_are_those_of_scikit_learn(data, model):
    X, y = data
    found = model.permutation_importances(X[160:], y[160:], n_repeats=200)
    expected = permutation_importance(model, X[160:], y[160:], n_repeats=50, random_state=0).importances_mean
    np.testing.assert_allclose(found.drop, expected, atol=0.06)
    assert found.score == pytest.approx(model.score(X[160:], y[160:]), abs=1e-6)
    assert found.source == "given rows"
    assert found.n_rows == 100
    assert found.order[0] == 1


def test_rows_held_out_of_refits_give_a_similar_answer(data, model):
    X, y = data
    given, refitted = model.permutation_importances(X[160:], y[160:]), model.permutation_importances()
    assert refitted.source == "rows held out of refits"
    assert refitted.order[:2] == given.order[:2]
    np.testing.assert_allclose(refitted.drop, given.drop, atol=0.25)
    assert ((refitted.low <= refitted.drop) & (refitted.drop <= refitted.high)).all()


def test_importances_contain_the_same_losses(model):
    np.testing.assert_array_equal(model.importances().permutation.drop, model.permutation_importances().drop)


def test_the_score_of_a_classifier_is_the_explained_log_loss(data):
    X, y = data
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]
    classifier = RFMClassifier(**QUICK).fit(X[:160], labels[:160])
    found = classifier.permutation_importances(X[160:], labels[160:])
    p = classifier.predict_proba(X[160:])
    frequencies = np.array([(labels[160:] == label).mean() for label in classifier.classes_])
    none = log_loss(labels[160:], np.tile(frequencies, (100, 1)), labels=classifier.classes_)
    assert found.score == pytest.approx(1 - log_loss(labels[160:], p, labels=classifier.classes_) / none, abs=1e-6)
    assert found.measure == "explained log loss"
    assert found.order[0] == 1


def test_the_score_of_a_regressor_is_r2(data, model):
    X, y = data
    outputs = model.model_.outputs(X[160:])
    found = explained_score(model.model_, outputs, y[160:, None], np.ones(100))
    assert found == pytest.approx(r2_score(y[160:], outputs[:, 0]))
    assert np.isnan(explained_score(model.model_, outputs, np.ones((100, 1)), np.ones(100)))


def test_encoded_columns_of_one_column_are_permuted_together(data):
    pd = pytest.importorskip("pandas")
    X, _ = data
    frame = pd.DataFrame({"town": np.array(list("abc"))[np.digitize(X[:, 0], [-0.5, 0.5])], "x": X[:, 1]})
    y = (frame["town"] == "a") * 3.0 - (frame["town"] == "c") * 2.0
    found = RFMRegressor(**QUICK).fit(frame[:160], y[:160]).permutation_importances(frame[160:], y[160:])
    assert found.columns == ("town", "x")
    assert found.drop[0] > 1 > 0.1 > found.drop[1]
    table = found.to_pandas()
    assert table.index.tolist() == ["town", "x"]
    assert table.columns.tolist() == ["drop", "low", "high"]


def test_the_most_sensitive_of_many_columns_are_permuted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 70))
    found = RFMRegressor(**QUICK | {"n_rounds": 0}).fit(X, X[:, 69]).permutation_importances(n_repeats=2)
    assert np.isfinite(found.drop).sum() == 60
    assert np.isfinite(found.drop[69])
    assert "10 more columns" not in repr(found)


def test_text_names_the_measure_and_the_rows(model):
    text = str(model.permutation_importances(n_repeats=3))
    assert "loss of R² when a column is permuted" in text
    assert "rows held out of refits" in text
    assert len(repr(model.permutation_importances(n_repeats=3))) < 600


class TestErrors:
    def test_x_and_y_belong_together(self, data, model):
        with pytest.raises(ValueError, match="X and y belong together"):
            model.permutation_importances(data[0])
        with pytest.raises(ValueError, match="X has 4 rows and y has 5: give one target for each row"):
            model.permutation_importances(data[0][:4], data[1][:5])

    def test_a_model_that_cannot_be_refitted_asks_for_rows(self, model):
        with pytest.raises(ValueError, match="give X and y, rows that the model was not fitted to"):
            model.compressed(20).permutation_importances()

    def test_numbers_are_checked(self, model):
        with pytest.raises(ValueError, match="n_repeats must be a positive integer"):
            model.permutation_importances(n_repeats=0)
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            model.permutation_importances(level=3.0)


def test_rows_of_one_target_have_no_score_to_lose(data, model):
    X, _ = data
    with pytest.raises(ValueError, match="all 20 rows have the same y"):
        model.permutation_importances(X[:20], np.ones(20))
