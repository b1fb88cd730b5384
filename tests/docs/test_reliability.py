"""The page on reliability: its tables come from records, and the numbers in its sentences from the code."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from gramian.core.freed_memory import TIGHT_BYTES
from gramian.rfm.training.solver_choice import PART_ROWS

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs/reliability.md").read_text(encoding="utf-8").split())


def record(name):
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"benchmarks/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_numbers_of_the_code_are_quoted_as_they_are():
    assert f"a budget below {TIGHT_BYTES // 2**30} GiB" in PAGE
    assert f"(at most {PART_ROWS:,}) travel to every worker" in PAGE


def test_dask_gives_up_a_machine_after_the_time_that_the_page_names():
    config = pytest.importorskip("dask.config")
    pytest.importorskip("distributed")
    assert config.get("distributed.scheduler.worker-ttl") == "5 minutes"
    assert "`worker-ttl`, five minutes by default" in PAGE


def test_the_forecast_is_compared_with_the_highest_of_several_runs():
    found = record("forecast")["fits"]
    assert len(found) >= 40
    text = script("forecast").markdown({"fits": found})
    ratios = [fit["forecast"] / max(fit["peaks"]) for fit in found.values()]
    assert f"between {min(ratios):.2f} and {max(ratios):.2f}" in text
    assert f"{sum(ratio < 1 for ratio in ratios)} of {len(found)} forecasts are below" in text


def test_coverage_is_near_its_nominal_value_on_average_and_in_the_worst_table():
    rows = record("interval_coverage")
    assert len(rows) >= 40
    for kind in ("regression", "classification"):
        shares = [row["coverage"] for row in rows if row["kind"] == kind]
        assert abs(sum(shares) / len(shares) - 0.9) <= 0.03
        assert max(abs(share - 0.9) for share in shares) <= 0.08
    assert re.search(r"Nominal 90 %; each table has 60 to 400 training rows", script("interval_coverage").summary(rows))
