"""The page on exported predictors quotes the recorded benchmark, and the record keeps the promise of the page."""

import importlib.util
import json
import sys

import pytest

from pages import ROOT

RECORD = json.loads((ROOT / "benchmarks/results/export_latency.json").read_text())


@pytest.fixture
def benchmark(monkeypatch):
    # The script measures with onnxruntime; its tables are made without.
    monkeypatch.setitem(sys.modules, "onnxruntime", sys.modules.get("onnxruntime", json))
    spec = importlib.util.spec_from_file_location("export_latency", ROOT / "benchmarks/export_latency.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_quotes_the_recorded_tables(benchmark):
    page = (ROOT / "docs/export.md").read_text(encoding="utf-8")
    for table in benchmark.markdown(RECORD).values():
        assert table in page


def test_one_row_takes_less_than_two_milliseconds_and_predictions_are_equal():
    for case in RECORD["cases"]:
        assert case["one_row"]["numpy"] < 2e-3
        assert case["largest_difference"] < 1e-5
