"""What the site makes by code: the reference, the house, tables from records."""

import importlib.util
import json
import re

import pytest

from pages import FOLDER, ROOT, pages

pytest.importorskip("sphinx", reason="the documentation's tools are not installed")


def extension(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"_ext/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def rooms():
    return extension("rooms")


@pytest.fixture(scope="module")
def records():
    return extension("records")


def test_every_room_is_in_the_reference(rooms):
    """The command line has a page of its own."""
    assert {room for floor in rooms.floors() for room in floor} - {"gramian.cli"} == set(rooms.ROOMS) - {"gramian"}


def test_a_name_is_documented_once_and_says_what_it_is(rooms):
    listed = [(path, name) for path, names in rooms.catalogue().items() for name in names]
    found = [getattr(importlib.import_module(path), name) for path, name in listed]
    assert len({id(value) for value in found}) == len(found) > 200
    assert all(value.__doc__ for value in found)


def test_every_misprint_stands_on_a_page_of_its_paper(records):
    table = records.quoted("docs/theory.md", "| paper, place |").splitlines()[2:]
    shown = [row for paper in "ABCDE" for row in records.errata_of(paper).splitlines()[2:]]
    assert sorted(shown) == sorted(table)
    for paper in {row.split()[1] for row in table if row.split("|")[1].strip()}:
        assert any(f"```{{errata}} {paper}\n" in path.read_text(encoding="utf-8") for path in pages())


def test_two_pages_count_the_same_verdicts(records):
    """The page on reproduction has them in full (a test holds it to the records), the tutorial those judged."""
    full = re.findall(
        r"^\| paper (\w) \| (\d+) \| (\d+) \| (\d+) \|", (FOLDER / "reproduce.md").read_text("utf-8"), re.MULTILINE
    )
    judged = [line.strip("| ").split(" | ") for line in records.verdicts().splitlines()[2:]]
    assert len(full) == 3
    assert [(paper, *counts) for paper, _, *counts in judged] == full


def test_sentences_name_facts_that_exist(records):
    facts = records.facts()
    used = {name for path in pages() for name in re.findall(r"{{ (\w+) }}", path.read_text(encoding="utf-8"))}
    assert used == set(facts)


def test_facts_are_those_of_the_record(records):
    best = json.loads((ROOT / "benchmarks/results/tables-grinsztajn-reg.json").read_text(encoding="utf-8"))
    ours = next(row for row in best["methods"] if row["method"] == "gramian")
    assert float(records.facts()["reg_ours"]) == pytest.approx(ours["R²"], abs=5e-4)


def test_a_table_that_is_gone_is_an_error(records):
    with pytest.raises(ValueError, match="has no table"):
        records.quoted("README.md", "| no such heading |")
