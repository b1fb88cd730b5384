"""What the documents say is true: names import, tables equal their records, examples run."""

import doctest
import importlib
import json
import re
from pathlib import Path

import pytest

from gramian.experiments import papers, registry

ROOT = Path(__file__).parents[2]
ROWS = [
    re.findall(r"`([^`]+)`", line.rsplit("|", 3)[1])[0]
    for line in (ROOT / "docs/notation.md").read_text().splitlines()
    if re.match(r"\| .*\| `gramian", line)
]


@pytest.mark.parametrize("name", ROWS)
def test_every_row_of_the_notation_imports(name):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        assert found.__doc__
        return
    pytest.fail(f"{name} does not import")


def test_the_notation_has_rows():
    assert len(ROWS) > 40


@pytest.mark.parametrize(("script", "page"), [("peer_rfm", "README.md"), ("lp_speed", "benchmarks/README.md")])
def test_pages_quote_the_recorded_benchmark(script, page):
    """The table of the page is the one the benchmark script makes from its last recorded run."""
    spec = importlib.util.spec_from_file_location(script, ROOT / f"benchmarks/{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = json.loads((ROOT / f"benchmarks/results/{script}.json").read_text())
    assert module.markdown(rows) in (ROOT / page).read_text()


@pytest.mark.parametrize(
    "record", sorted((ROOT / "benchmarks/results").glob("tables-*.md")), ids=lambda path: path.stem
)
def test_the_page_of_benchmarks_quotes_the_recorded_tables(record):
    assert record.read_text().strip() in (ROOT / "docs/benchmarks.md").read_text()


@pytest.mark.parametrize(("page", "least"), [("tables", 10), ("frames", 6), ("explain", 20)])
def test_the_examples_run(page, least):
    result = doctest.testfile(
        str(ROOT / f"docs/{page}.md"),
        module_relative=False,
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )
    assert result.attempted > least
    assert result.failed == 0


def test_the_example_of_an_experiment_runs(monkeypatch):
    papers.load()  # into the real registry; the page enters its example in a copy
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    result = doctest.testfile(str(ROOT / "docs/reproduce.md"), module_relative=False)
    assert result.attempted > 9
    assert result.failed == 0


def test_the_examples_for_the_search_run():
    pytest.importorskip("optuna")
    pytest.importorskip("sklearn.callback")
    result = doctest.testfile(
        str(ROOT / "docs/search.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert result.attempted > 10
    assert result.failed == 0


def test_the_page_on_many_rows_quotes_the_recorded_runs():
    spec = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks/scale.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.table() in (ROOT / "docs/scale.md").read_text()
