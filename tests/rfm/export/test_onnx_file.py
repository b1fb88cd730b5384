"""The ONNX graph has the predictions of the model in onnxruntime, for every model that it can be made of."""

import sys

import numpy as np
import pytest

from exported_models import MAKERS, ONE, fitted, rows
from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.export import NotExportableError, predictor_of
from gramian.rfm.export.onnx_file import OPSET

NO_GRAPH = ("ntk", "nngp")
"""Kernels that need an arccosine in float64."""


@pytest.fixture(scope="module")
def onnx():
    return pytest.importorskip("onnx", reason="onnx is not installed")


@pytest.fixture(scope="module")
def runtime(onnx):
    return pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def feed(model, new, dtype=np.float64):
    """The inputs of the graph: one matrix, or one column each, text as text and numbers as numbers."""
    predictor = predictor_of(model.model_)
    if not hasattr(new, "columns"):
        return {"X": np.asarray(new, dtype=dtype)}
    found = {}
    for name, code in zip(predictor.names, predictor.columns, strict=True):
        if code is None:
            continue
        if code.kind == "number":
            found[name] = new[name].to_numpy(dtype=dtype)[:, None]
        else:
            found[name] = np.array([["" if value != value or value is None else str(value)] for value in new[name]])
            found[name] = found[name].astype(object)
    return found


def session(runtime, model, path, dtype="auto"):
    model.export(path, dtype=dtype)
    return runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in NO_GRAPH])
def test_predictions_are_those_of_the_model(runtime, tmp_path, name):
    model, new = fitted(name)
    graph = session(runtime, model, tmp_path / "m.onnx")
    results = dict(zip((output.name for output in graph.get_outputs()), graph.run(None, feed(model, new)), strict=True))
    expected = model.predict(new)
    if hasattr(model, "classes_"):
        assert set(results) == {"label", "probabilities"}
        assert (results["label"] == expected).all()
        np.testing.assert_allclose(results["probabilities"], model.predict_proba(new), rtol=0, atol=1e-5)
    else:
        assert set(results) == {"variable"}
        spread = np.std(expected, axis=0).max() or 1.0
        found = results["variable"].reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * spread)


@pytest.mark.parametrize("name", ["gaussian", "five classes", "frame"])
def test_float32_inputs_and_outputs(runtime, tmp_path, name):
    model, new = fitted(name)
    numbers = new.select_dtypes("float").columns if hasattr(new, "columns") else None
    new = new.astype(np.float32) if numbers is None else new.astype(dict.fromkeys(numbers, np.float32))
    graph = session(runtime, model, tmp_path / "m.onnx", "float32")
    results = graph.run(None, feed(model, new, np.float32))
    assert results[-1].dtype == np.float32
    if hasattr(model, "classes_"):
        np.testing.assert_allclose(results[1], model.predict_proba(new), atol=1e-5)
    else:
        expected = model.predict(new)
        np.testing.assert_allclose(results[0][:, 0], expected, rtol=1e-6, atol=1e-5 * np.std(expected))


def test_missing_numbers_are_means_and_one_row_is_enough(runtime, tmp_path):
    model, new = fitted("laplace")
    graph = session(runtime, model, tmp_path / "m.onnx")
    given = new[:1].copy()
    given[0, 1] = np.nan
    with pytest.warns(UserWarning, match="missing"):
        expected = model.predict(given)
    assert graph.run(None, {"X": given})[0][:, 0] == pytest.approx(expected)


@pytest.mark.parametrize("labels", [np.array([3, 1]), np.array([True, False]), np.array(["b", "ä"])])
def test_labels_are_numbers_booleans_or_text(runtime, tmp_path, labels):
    X, _ = rows(60)
    model = RFMClassifier(kernel="laplace", **ONE).fit(X, labels[(X[:, 0] > 0).astype(int)])
    found = session(runtime, model, tmp_path / "m.onnx").run(["label"], {"X": X})[0]
    assert (found == model.predict(X)).all()


def test_versions_of_the_operators(onnx, tmp_path):
    model, _ = fitted("frame")
    model.export(tmp_path / "m.onnx")
    graph = onnx.load(tmp_path / "m.onnx")
    assert {each.domain: each.version for each in graph.opset_import} == {"": OPSET, "ai.onnx.ml": 3}
    onnx.checker.check_model(graph, full_check=True)
    assert "training table" in graph.doc_string


@pytest.mark.parametrize("name", NO_GRAPH)
def test_kernels_that_it_cannot_compute_are_refused(onnx, tmp_path, name):
    with pytest.raises(NotExportableError, match=r"export to \.npz"):
        fitted(name)[0].export(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_labels_of_several_types_are_refused(onnx, tmp_path):
    X, _ = rows(40)
    model = RFMClassifier(kernel="laplace", **ONE).fit(X, (X[:, 0] > 0).astype(int))
    mixed = RFMClassifier(kernel="laplace", **ONE).fit(X, (X[:, 0] > 0).astype(int))
    object.__setattr__(mixed.model_.target, "classes", np.array([1, "a"], dtype=object))
    model.export(tmp_path / "m.onnx")
    with pytest.raises(NotExportableError, match="several types"):
        mixed.export(tmp_path / "mixed.onnx")


def test_without_the_package_the_error_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnx", None)
    model = RFMRegressor(kernel="laplace", **ONE).fit(*rows(40))
    with pytest.raises(ImportError, match=r"gramian\[onnx\]"):
        model.export(tmp_path / "m.onnx")


def mixed(names, levels=("p", "q", "r")):
    """A frame of two numbers and a declared category, and its target."""
    pd, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    table = pd.DataFrame({names[0]: rng.normal(size=80), names[1]: rng.normal(size=80)})
    table[names[2]] = pd.Categorical(rng.choice(levels, 80))
    return table, table[names[0]] + (table[names[2]] == levels[0])


@pytest.mark.parametrize("names", [("v1", "v2", "c0"), ("c0", "c1", "_v1"), ("_", "__c0", "s3_total")])
def test_columns_may_have_any_name(runtime, tmp_path, names):
    """Inputs have the names of the columns, and no value inside the graph has the name of one."""
    table, y = mixed(names)
    model = RFMRegressor(**ONE).fit(table, y)
    graph = session(runtime, model, tmp_path / "m.onnx")
    (found,) = graph.run(None, feed(model, table))
    np.testing.assert_allclose(found[:, 0], model.predict(table), atol=1e-9)


def test_a_column_with_the_name_of_an_output_is_refused(onnx, tmp_path):
    table, y = mixed(("a", "variable", "c"))
    model = RFMRegressor(**ONE).fit(table, y)
    with pytest.raises(NotExportableError, match="column 'variable' has the name of an output of the graph"):
        model.export(tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_words_for_missing_entries_are_levels_where_they_are_declared(runtime, tmp_path):
    table, y = mixed(("a", "b", "c"), levels=("NA", " NA ", "q", "r"))
    model = RFMRegressor(**ONE).fit(table, y)
    new = table.astype({"c": object})
    new.loc[:3, "c"] = ["NA ", " NA  ", "null", "q"]
    graph = session(runtime, model, tmp_path / "m.onnx")
    (found,) = graph.run(None, feed(model, new))
    np.testing.assert_allclose(found[:, 0], model.predict(new), atol=1e-9)
    np.testing.assert_allclose(predictor_of(model.model_).predict(new), model.predict(new), atol=1e-9)
