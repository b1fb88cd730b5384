"""MLflow: the flavour stores the safe file, and a pyfunc calls the method that was asked for."""

import sys

import numpy as np
import pandas as pd
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.integrations import mlflow as flavor
from gramian.integrations.mlflow import PredictFunction, infer_signature, load_model, log_model, save_model

FAST = {"preset": "fast", "n_rounds": 1, "n_threads": 1}


def table(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=n), "town": rng.choice(["Bonn", "Rome"], n)})
    X.loc[::9, "size"] = np.nan
    return X, np.where(X["town"] == "Rome", "dear", "cheap")


@pytest.fixture(scope="module")
def classifier():
    return RFMClassifier(**FAST).fit(*table())


def test_a_pyfunc_calls_one_method(classifier):
    X, _ = table()
    np.testing.assert_array_equal(PredictFunction(classifier, "predict_proba").predict(X), classifier.predict_proba(X))
    assert PredictFunction(classifier, "predict").get_raw_model() is classifier


def test_a_method_that_the_model_lacks_is_refused():
    model = RFMRegressor(**FAST).fit(np.arange(20.0)[:, None], np.arange(20.0))
    with pytest.raises(ValueError, match="method must be one of 'predict', 'transform' for an RFMRegressor"):
        PredictFunction(model, "predict_proba")


def test_without_mlflow_every_function_says_what_to_install(classifier, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    calls = (
        lambda: save_model(classifier, tmp_path / "m"),
        lambda: log_model(classifier),
        lambda: load_model(tmp_path),
        lambda: infer_signature(classifier),
    )
    for call in calls:
        with pytest.raises(ImportError, match=r'needs the package mlflow: pip install "gramian\[mlflow\]"'):
            call()


@pytest.mark.slow
class TestWithMlflow:
    @pytest.fixture(autouse=True)
    def mlflow(self, tmp_path, monkeypatch):
        mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'gramian[mlflow]'")
        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        monkeypatch.chdir(tmp_path)
        mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
        return mlflow

    def test_a_saved_model_is_the_same_model_without_a_pickle(self, classifier, tmp_path):
        X, _ = table()
        save_model(classifier, tmp_path / "m", metadata={"made by": "a test"})
        np.testing.assert_array_equal(load_model(tmp_path / "m").predict_proba(X), classifier.predict_proba(X))
        files = {path.name for path in (tmp_path / "m").rglob("*") if path.is_file()}
        assert "model.gramian" in files
        assert not {name for name in files if name.endswith((".pkl", ".pickle", ".joblib"))}
        assert "gramian[tables]==" in (tmp_path / "m/requirements.txt").read_text()

    def test_a_pyfunc_predicts_by_the_stored_method_or_another(self, mlflow, classifier, tmp_path):
        X, _ = table()
        save_model(classifier, tmp_path / "m", method="predict_proba")
        one = mlflow.pyfunc.load_model(str(tmp_path / "m"))
        np.testing.assert_array_equal(one.predict(X), classifier.predict_proba(X))
        other = mlflow.pyfunc.load_model(str(tmp_path / "m"), model_config={"method": "predict"})
        np.testing.assert_array_equal(other.predict(X), classifier.predict(X))

    def test_a_logged_model_is_found_by_its_address(self, mlflow, classifier):
        X, _ = table()
        with mlflow.start_run():
            info = log_model(classifier, "prices", input_example=X.head(3))
        assert set(info.flavors) == {"gramian", "python_function"}
        np.testing.assert_array_equal(load_model(info.model_uri).predict(X), classifier.predict(X))
        np.testing.assert_array_equal(mlflow.pyfunc.load_model(info.model_uri).predict(X), classifier.predict(X))
        assert info.signature.inputs.input_names() == ["size", "town"]
        assert info.signature.outputs is not None

    def test_rows_of_any_kind_pass_the_signature(self, mlflow, tmp_path):
        rng = np.random.default_rng(0)
        X, y = table()
        X["kind"] = pd.Categorical(rng.choice(["a", "b"], len(X)))
        X["day"] = pd.date_range("2020-01-01", periods=len(X))
        X["count"] = rng.integers(0, 5, len(X))
        model = RFMClassifier(**FAST).fit(X, y)
        save_model(model, tmp_path / "m", input_example=X.head(3), method="predict_proba")
        one = mlflow.pyfunc.load_model(str(tmp_path / "m"))
        gaps = X.astype({"count": float}).mask(rng.random(X.shape) < 0.1)
        np.testing.assert_array_equal(one.predict(gaps[X.columns[::-1]]), model.predict_proba(gaps))
        with pytest.raises(mlflow.MlflowException, match="missing inputs"):
            one.predict(X.drop(columns="town"))

    @pytest.mark.parametrize("kind", [float, "int64", "float32"])
    def test_numbers_of_every_format_pass_the_signature(self, mlflow, tmp_path, kind):
        X = np.arange(40.0).reshape(20, 2)
        for name, train, rows in (
            ("named", pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X, columns=["a", "b"]).astype(kind)),
            ("array", X, X.astype(kind)),
        ):
            model = RFMRegressor(**FAST).fit(train, X[:, 0])
            save_model(model, tmp_path / name, input_example=rows[:3])
            found = mlflow.pyfunc.load_model(str(tmp_path / name))
            np.testing.assert_array_equal(found.predict(rows), model.predict(rows))

    def test_a_signature_has_the_columns_and_the_output(self, classifier):
        X, _ = table()
        assert infer_signature(classifier).inputs.input_names() == ["size", "town"]
        assert infer_signature(classifier).outputs is None
        found = infer_signature(classifier, X, "predict_proba")
        assert found.outputs.inputs[0].shape == (-1, 2)
        arrays = RFMRegressor(**FAST).fit(np.arange(20.0)[:, None], np.arange(20.0))
        assert infer_signature(arrays) is None

    def test_a_folder_of_another_flavour_is_refused(self, mlflow, tmp_path):
        mlflow.pyfunc.save_model(
            tmp_path / "m", python_model=lambda model_input: model_input, pip_requirements=["numpy"]
        )
        with pytest.raises(ValueError, match="holds no model of gramian; its flavours are python_function"):
            load_model(tmp_path / "m")

    def test_the_flavour_has_the_functions_of_a_flavour(self):
        assert {"save_model", "log_model", "load_model", "_load_pyfunc", "FLAVOR_NAME"} <= set(vars(flavor))
