"""The blocks of the page that need large packages run where these are installed; the page itself runs elsewhere."""

import pytest

import gramian
from pages import FOLDER, blocks

PAGE = FOLDER / "integrations.md"


def block_with(text):
    (found,) = [block for block in blocks(PAGE.read_text(encoding="utf-8")) if text in block.text]
    return found


def run(text, names):
    exec(compile(block_with(text).text, str(PAGE), "exec"), names)
    return names


@pytest.fixture(scope="module")
def names():
    return run("load_breast_cancer", {})


def test_every_block_that_the_page_does_not_run_names_the_test_that_does():
    reasons = [block.reason for block in blocks(PAGE.read_text(encoding="utf-8")) if block.reason is not None]
    assert len(reasons) == 3
    assert all("tests/integrations/test_" in reason for reason in reasons)


@pytest.mark.slow
def test_autogluon(names, tmp_path, monkeypatch):
    pytest.importorskip("autogluon.tabular", reason="AutoGluon is not installed: pip install 'gramian[autogluon]'")
    monkeypatch.chdir(tmp_path)
    predictor = run("TabularPredictor(", dict(names))["predictor"]
    assert predictor.leaderboard().set_index("model")["score_val"]["Gramian"] > -0.3
    assert gramian.load("m.gramian").n_features_in_ == 30


@pytest.mark.slow
def test_mlflow(names, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'gramian[mlflow]'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    assert run("log_model(", dict(names))["same"].get_params() == names["model"].get_params()
