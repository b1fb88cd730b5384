"""Results that inherit Renderable are shown alike by print, rich and notebooks, and do not import rich themselves."""

import io
import subprocess
import sys

import pytest
from rich.console import Console

from gramian.display import Renderable, Section, Table, to_html, to_text


class Answer(Renderable):
    def sections(self):
        return [Section("the answer", Table(["name", "value"], [["x", "42"]]), "by experiment")]


def test_print_rich_and_notebook_show_the_same_sections():
    answer = Answer()
    assert str(answer) == to_text(answer.sections())
    assert answer._repr_html_() == to_html(answer.sections())
    stream = io.StringIO()
    Console(file=stream, width=120).print(answer)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == str(answer).splitlines()


def test_a_result_without_sections_cannot_be_made():
    with pytest.raises(TypeError, match="sections"):
        type("Nothing", (Renderable,), {})()


NUMERICAL = """
import importlib, sys
sys.modules["rich"] = None  # importing it raises an ImportError
for name in ("rfm.training.rounds", "rfm", "nets", "kernels", "solvers", "tables", "datasets"):
    importlib.import_module(f"gramian.{name}")
from gramian import RFMRegressor
rows = [[float(i), float(i % 3)] for i in range(20)]
model = RFMRegressor(preset="fast", n_rounds=1).fit(rows, [row[0] for row in rows])
print(len(model.rounds_._repr_html_()) > 0, "rich.console" in sys.modules)
"""


def test_numerical_classes_do_not_import_rich():
    done = subprocess.run([sys.executable, "-c", NUMERICAL], capture_output=True, text=True, check=False)
    assert done.stdout == "True False\n", done.stderr
