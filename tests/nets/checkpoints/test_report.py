"""The report on weights as a table, a frame, a file and a notebook's HTML."""

import math
import sys

import pytest
import torch

from gramian.nets import WeightReport, inspect, inspect_weights
from nets.checkpoints.made import state


@pytest.fixture(scope="module")
def report():
    return inspect_weights(state(1), initial=state(0))


def test_rows_frame_and_descriptions(report):
    frame = report.to_pandas()
    assert list(frame.index) == report.layers
    assert set(frame.columns) == set(report.describe()) - {"layer"}
    assert (
        frame.loc["lm_head", "norm"]
        == report.rows[-1]["norm"]
        == pytest.approx(float(state(1)["lm_head.weight"].norm()))
    )
    assert report.metrics("w/")["w/lm_head/norm"] == report.rows[-1]["norm"]
    assert not any(math.isnan(value) for value in report.metrics().values())


def test_the_printed_table(report):
    text = str(report)
    assert "model.layers.0.self_attn.q_proj" in text
    assert "cos WᵀW" in text
    assert "since" in text
    assert "not measured" not in text, "vectors are no news"
    alone = str(inspect_weights(state(1) | {"q": torch.ones(2, 2, dtype=torch.int8)}))
    assert "cos WᵀW" not in alone
    assert "not measured  q: stored as int8" in alone
    assert "<table" in report._repr_html_()


def test_a_layer_that_is_not_there(report):
    with pytest.raises(ValueError, match="a vector"):
        report.record("model.layers.0.norm.weight")
    with pytest.raises(ValueError, match="there are"):
        report.spectrum("absent")


def test_saved_and_loaded(report, tmp_path):
    report.save(tmp_path / "r.gramian")
    again = WeightReport.load(tmp_path / "r.gramian")
    assert str(again) == str(report)
    assert again.spectrum("lm_head").tolist() == report.spectrum("lm_head").tolist()
    assert again.record("lm_head").angles == report.record("lm_head").angles
    with torch.random.fork_rng():
        inspect(torch.nn.Linear(2, 1), torch.eye(2)).save(tmp_path / "other.gramian")
    with pytest.raises(ValueError, match="no report on weights"):
        WeightReport.load(tmp_path / "other.gramian")


def test_without_pandas(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        report.to_pandas()
