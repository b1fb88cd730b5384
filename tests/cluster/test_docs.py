"""The examples of the pages on long fits and on clusters run as they stand."""

import doctest
import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["long_fits.md", "dask.md"])
def test_the_examples_run(page, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="dask and distributed are not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(ROOT / "docs" / page), module_relative=False, optionflags=flags)
    assert result.attempted > 10
    assert result.failed == 0


def test_the_page_quotes_the_recorded_benchmark():
    """The tables are those the benchmark script makes from its last recorded run."""
    spec = importlib.util.spec_from_file_location("prediction", ROOT / "benchmarks/prediction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results = json.loads((ROOT / "benchmarks/results/prediction.json").read_text())
    for table in module.markdown(results).values():
        assert table in (ROOT / "docs/long_fits.md").read_text()
