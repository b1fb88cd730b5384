"""Names on the pages can be imported, and tables equal their records."""

import importlib
import json
import pkgutil
import re

import pytest

from pages import ROOT, pages

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


@pytest.mark.parametrize("path", [*pages(), ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.stem)
def test_every_name_in_code_letters_imports(path):
    for name in set(re.findall(r"`(gramian(?:\.\w+)+)(?:\(\))?`", path.read_text(encoding="utf-8"))):
        assert pkgutil.resolve_name(name) is not None


def test_the_notation_has_rows():
    assert len(ROWS) > 40


@pytest.mark.parametrize(("script", "page"), [("lp_speed", "benchmarks/README.md")])
def test_pages_quote_the_recorded_benchmark(script, page):
    """The table of the page is the one that the benchmark script prints from its last recorded run."""
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


def test_the_page_on_many_rows_quotes_the_recorded_runs():
    spec = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks/scale.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.table() in (ROOT / "docs/scale.md").read_text()
