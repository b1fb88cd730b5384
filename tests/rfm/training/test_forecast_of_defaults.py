"""The forecast of memory for fits with default options, against fresh processes (more: benchmarks/forecast.py)."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks/forecast.py"
FITS = (
    "numbers 300 x 50",
    "numbers 1000 x 5",
    "numbers 1000 x 50",
    "fast 4000 x 20",
    "float64 1000 x 20",
    "cg 3000 x 20",
    "nystrom 3000 x 20",
    "3 classes 1000 x 20",
    "categories 3000 x 10",
    "equal rows 6000 x 5",
    "wide 300 x 3000",
    "budget 60MB 2000 x 20",
)
SLACK = 12 * 2**20
"""Peaks of fits side by side differ by about this much from run to run; a record has the highest of several."""


def cases():
    spec = importlib.util.spec_from_file_location("forecast_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_process_grows_by_at_most_the_forecast(tmp_path):
    script = cases()
    if not script.MEASURABLE:
        pytest.skip("the peak of a process is measured through /proc, on Linux only")
    out = tmp_path / "forecast.json"
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}  # as a user has it
    command = [sys.executable, str(SCRIPT), *FITS, "--runs", "2", "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, env=environment)
    found = json.loads(out.read_text())["fits"]
    assert set(found) == set(FITS)
    for name, fit in found.items():
        assert fit["measured"] <= fit["forecast"] + SLACK, name
        assert fit["forecast"] <= 2 * (fit["measured"] + SLACK), name
        if fit["budget"] is not None:
            assert fit["measured"] <= fit["budget"] + 50 * 2**20, name


def test_the_fits_exist():
    assert set(FITS) <= set(cases().CASES)
