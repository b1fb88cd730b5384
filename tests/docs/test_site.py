"""The parts of the site that are made by code: the reference, the packages, the plan's tables, tables from records."""

import importlib
import json
import re

import pytest

from gramian.rfm import Plan
from gramian.rfm.training import leaf_features, plan, solver_choice
from pages import FOLDER, ROOT, pages

pytest.importorskip("sphinx", reason="the documentation's tools are not installed")


def rows_of(table):
    """Return the cells of a Markdown table, without its heading."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def test_every_package_is_in_the_reference(packages):
    """The command line has a page of its own."""
    in_layers = {package for layer in packages.layers() for package in layer}
    assert in_layers - {"gramian.cli"} == set(packages.PACKAGES) - {"gramian"}


def test_every_package_is_in_the_package_table_with_its_allowed_imports(packages):
    rows = {row[0]: row for row in rows_of(packages.package_table())}
    assert set(rows) == {f"`{package}`" for layer in packages.layers() for package in layer}
    assert all(len(row) == 3 and all(row) for row in rows.values())
    assert rows["`gramian.core`"][2] == "no other package"
    assert rows["`gramian.cli`"][2] == "all lower layers"
    assert "`gramian.kernels`" in rows["`gramian.solvers`"][2]


def test_allowed_imports_are_those_of_the_contracts(packages):
    allowed, forbidden = packages.allowed_imports("gramian.nets")
    assert set(forbidden) == {"gramian.kernels", "gramian.solvers"}
    assert "gramian.features" in allowed
    assert "gramian.rfm" not in allowed + forbidden  # a package of the same layer


def test_contributing_lists_every_package(packages):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = {
        name for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert {f"gramian.{name}" for name in listed} == {package for layer in packages.layers() for package in layer}


def test_a_name_is_documented_once_and_has_a_docstring(packages):
    listed = [(path, name) for path, names in packages.catalogue().items() for name in names]
    found = [getattr(importlib.import_module(path), name) for path, name in listed]
    assert len({id(value) for value in found}) == len(found) > 200
    assert all(value.__doc__ for value in found)


def test_the_table_of_many_rows_is_printed_from_the_plan(plans):
    assert "```{plan-table}" in (FOLDER / "scale.md").read_text(encoding="utf-8")
    rows = rows_of(plans.plan_table())
    assert [row[0] for row in rows[: len(plans.SIZES)]] == [f"{n:,}" for n, _ in plans.SIZES]
    assert {n for n, _ in plans.SIZES} == {100, 1000, 3000, 10_000, 25_000, 100_000, 1_000_000}
    for (n, budget), row in zip(plans.SIZES, rows, strict=False):
        found = Plan.for_size(n, plans.COLUMNS, 1, budget)
        assert (f"{found.screen_rows:,} rows" if found.screen_rows else "all rows") == row[2]
        assert (str(found.n_splits) if found.n_splits else f"{found.holdout_rows:,}") in row[3]


def test_every_constant_of_the_plan_is_listed_with_its_reason(plans):
    assert "```{plan-constants}" in (FOLDER / "scale.md").read_text(encoding="utf-8")
    listed = {name: (value, reason) for _, name, value, reason in plans.constants()}
    numbers = {
        name
        for module in (plan, solver_choice, leaf_features)
        for name, value in vars(module).items()
        if re.fullmatch(r"_?[A-Z][A-Z_]+", name) and isinstance(value, int | float | tuple)
    }
    assert set(listed) == numbers
    assert listed["SCREEN_ROWS"][0] == f"{plan.SCREEN_ROWS:,}"
    assert all(reason.endswith(".") for _, reason in listed.values())


def test_the_table_of_leaf_features_is_printed_from_its_record(recorded):
    assert "```{recorded} leaf_features" in (FOLDER / "scale.md").read_text(encoding="utf-8")
    runs = {(run["table"], run["features"]): run for run in recorded.record("leaf_features")}
    rows = rows_of(recorded.TABLES["leaf_features"]())
    assert len(rows) == len({table for table, _ in runs}) > 1
    for row, table in zip(rows, dict.fromkeys(table for table, _ in runs), strict=True):
        shared, auto = runs[table, "shared"], runs[table, "auto"]
        assert row[0] == table.split(":")[0].rpartition("/")[2]
        assert row[3] == f"{shared['error']:.4f}"
        assert row[5] == f"{auto['error'] / shared['error']:.3f}"
        assert row[9] == f"{auto['seconds'] / shared['seconds']:.2f}"
        assert (row[6] == "own") == auto["own"]
        assert not table.startswith("grinsztajn") or "-choosing/" in table


def test_the_page_of_whitened_training_is_made_from_its_record(recorded):
    assert "```{recorded} whitened_training" in (FOLDER / "optim_benchmark.md").read_text(encoding="utf-8")
    text, record = recorded.TABLES["whitened_training"](), recorded.record("whitened_training")
    found = {}
    for run in record["final"]:
        found.setdefault((run["model"], run["method"], f"{run['rate']:g}"), []).append(run)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if " ± " in line]
    rows = [row for row in rows if len(row) == 7]
    assert len(rows) == len(found) == 10
    for row, ((_, method, rate), runs) in zip(rows, found.items(), strict=True):
        accuracies = [100 * run["test"] for run in runs]
        assert len(runs) >= 3
        assert row[:2] in ([method, rate], [method, f"{rate}*"])
        assert row[2] == f"{sum(run['losses'][-1] for run in runs) / len(runs):.3f}"
        assert row[3].startswith(f"{sum(accuracies) / len(accuracies):.1f} ± ")
        assert row[4] == f"{sum(run['seconds'] for run in runs) / len(runs):.1f}"


@pytest.mark.parametrize(("name", "rows"), [("concept_steering", 9), ("concept_probes", 6)])
def test_the_tables_of_concepts_are_those_of_the_records(recorded, name, rows):
    assert f"```{{recorded}} {name}" in (FOLDER / "concepts.md").read_text(encoding="utf-8")
    assert len(rows_of(recorded.TABLES[name]())) == rows


def test_the_cost_of_inspect_is_shown_from_its_record(recorded):
    assert "```{recorded} inspect_cost" in (FOLDER / "networks.md").read_text(encoding="utf-8")
    assert len(rows_of(recorded.TABLES["inspect_cost"]())) == 5
    passes = {"inspect (passes)": 21.96, "inspect per backward pass": 2.0}
    passes |= {"table beyond inspect (passes)": 3.04, "all other columns (passes)": 4.0}
    parts = {"inspect and table (s)": 50.4, "of it numbers of the table (s)": 6.6, "layers": 7}
    made = {"passes": passes, "gpt2-parts": parts | {"peak with the table (MB)": 2048.0}}
    rows = rows_of(recorded.script("inspect_cost").markdown(made))
    assert [cost for _, cost in rows] == [
        "22.0 passes, 2.0 for each backward pass",
        "3.0 passes",
        "4.0 passes",
        "50 s, of which 7 s for the numbers of the table",
        "2.0 GB",
    ]
    assert "table of 7 layers" in rows[3][0]


def test_every_misprint_is_on_a_page_of_its_paper(recorded):
    table = recorded.quoted("docs/theory.md", "| paper, place |").splitlines()[2:]
    shown = [row for paper in "ABCDE" for row in recorded.errata_of(paper).splitlines()[2:]]
    assert sorted(shown) == sorted(table)
    for paper in {row.split()[1] for row in table if row.split("|")[1].strip()}:
        assert any(f"```{{errata}} {paper}\n" in path.read_text(encoding="utf-8") for path in pages())


def test_two_pages_count_the_same_verdicts(recorded):
    """The page on reproduction quotes the counts (a test compares it with the records), the tutorial computes them."""
    assert recorded.verdicts() in (FOLDER / "reproduce.md").read_text("utf-8")


def test_sentences_name_facts_that_exist(recorded):
    facts = recorded.facts()
    used = {name for path in pages() for name in re.findall(r"{{ (\w+) }}", path.read_text(encoding="utf-8"))}
    assert used == set(facts)


def test_facts_are_those_of_the_record(recorded):
    """Ranks by log loss, computed here from the lines of the record by sorting."""
    lines = (ROOT / "benchmarks/results/fresh_tables.jsonl").read_text(encoding="utf-8").splitlines()
    records = [record for record in map(json.loads, lines) if record["kind"] == "classification"]
    cells = {(record["set"], record["split"], record["method"]): record["log_loss"] for record in records}
    methods = sorted({method for *_, method in cells} - {"gramian@seed-1"})
    splits: dict[str, set[int]] = {}
    for name, split, _ in cells:
        if all((name, split, method) in cells for method in methods):
            splits.setdefault(name, set()).add(split)
    ranks = []
    for name, found in splits.items():
        losses = {method: sum(cells[name, split, method] for split in found) for method in methods}
        below = sum(loss < losses["gramian"] for loss in losses.values())
        equal = sum(loss == losses["gramian"] for loss in losses.values())
        ranks.append(below + (equal + 1) / 2)
    assert recorded.facts()["class_sets"] == str(len(ranks))
    assert float(recorded.facts()["class_rank"]) == pytest.approx(sum(ranks) / len(ranks), abs=0.006)


def test_a_missing_table_is_an_error(recorded):
    with pytest.raises(ValueError, match="has no table"):
        recorded.quoted("docs/theory.md", "| no such heading |")
