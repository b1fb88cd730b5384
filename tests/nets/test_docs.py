"""The examples of docs/networks.md run, in order, and do what their comments say."""

import importlib.util
import json
import re
from pathlib import Path

from pages import run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "networks.md"


def test_the_page_runs(capsys):
    names = run(PAGE)
    report = names["report"]
    assert report.layers == ["0", "2", "4"]
    assert report.skipped == {}
    assert 0 < report.similarity("0", "nfm", "agop", power=0.5) <= 1
    assert report.rows[0]["fact_residual"] > 0
    assert names["monitor"].steps == [0, 50, 100]
    printed = capsys.readouterr().out
    assert "FACT" in printed
    assert "nfm" in printed


def test_every_matrix_of_the_page_exists():
    from gramian.nets.matrices import MATRICES

    table = PAGE.read_text(encoding="utf-8").split("| name | formula | side |")[1].split("\n\n")[0]
    listed = set(re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    assert listed == set(MATRICES)


def test_the_page_quotes_the_recorded_benchmark():
    """The table is the one the script makes of its saved run, and the sentences around it hold there."""
    spec = importlib.util.spec_from_file_location("nets_speed", ROOT / "benchmarks/nets_speed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    record = json.loads((ROOT / "benchmarks/results/nets_speed.json").read_text())
    assert module.markdown(record) in PAGE.read_text(encoding="utf-8")
    assert {row["reading"] for row in record["times"] if row["extrapolated"]} == set(module.TENTH)
    assert max(row["differs_by"] for row in record["times"]) < 1e-3  # one unit sits on the kink of its ReLU
    ratios = {row["reading"]: row["ratio"] for row in record["times"]}
    assert min(ratios["parameters"], ratios["loop"]) > 10
    assert [entry["rows"] for entry in record["memory"]] == [2000, 20000]
    assert record["memory"][1]["peak_grows_by_mib"] - record["memory"][0]["peak_grows_by_mib"] < 50
