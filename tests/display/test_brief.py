"""The short form of results."""

import importlib
import inspect
import pkgutil

import pytest

import gramian
from gramian.display import Bar, Cell, Renderable, Section, Table
from gramian.display.brief import to_brief


def test_wide_long_tables_are_cut_to_ten_lines_of_eighty_characters():
    names = [f"a column with a very long name indeed, number {j}" for j in range(30)]
    rows = [[name, Bar(1.0, 0.0, 1.0), *(Cell("12345.678") for _ in range(20))] for name in names]
    table = Table(["column", "", *(f"heading {j}" for j in range(20))], rows)
    text = to_brief("Result", [Section("a title " * 30, table)] * 3)
    lines = text.splitlines()
    assert len(lines) <= 10
    assert len(text) <= 600
    assert max(map(len, lines)) <= 79
    assert lines[-1] == "… 25 more rows and 2 more tables; print() shows all of it"


def test_a_short_table_is_whole():
    table = Table(["name", "", "value"], [["x", Bar(1.0, 0.0, 1.0), "42"]])
    assert to_brief("Answer", [Section("", table)]) == "Answer\nname  value\nx     42"


def test_facts_have_no_headings():
    assert to_brief("Facts", [Section("a fit", Table(["", ""], [["rows", "60"]]))]) == "Facts: a fit\nrows  60"
    assert to_brief("Facts", []) == "Facts: empty"


def results():
    for module in pkgutil.walk_packages(gramian.__path__, "gramian."):
        if module.name.startswith(("gramian.rfm", "gramian.nets", "gramian.concepts")):
            importlib.import_module(module.name)
    waiting, found = [Renderable], []
    while waiting:
        waiting += (below := waiting.pop().__subclasses__())
        found += [each for each in below if each.__module__.startswith("gramian.")]
    return sorted(found, key=lambda each: each.__qualname__)


@pytest.mark.parametrize("result", results(), ids=lambda each: each.__qualname__)
def test_no_result_is_shown_as_a_dump_of_its_fields(result):
    if result.__name__ == "Round":  # one line of a log, of plain numbers
        return
    made = getattr(result, "__dataclass_params__", None)
    assert made is None or not made.repr or "def __repr__" in inspect.getsource(result)
