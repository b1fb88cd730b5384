"""The page on long fits quotes the recorded benchmark."""

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tables_of_the_page_are_those_of_the_recorded_run():
    """The tables are those the benchmark script makes from its last recorded run."""
    spec = importlib.util.spec_from_file_location("prediction", ROOT / "benchmarks/prediction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results = json.loads((ROOT / "benchmarks/results/prediction.json").read_text())
    for table in module.markdown(results).values():
        assert table in (ROOT / "docs/long_fits.md").read_text()
