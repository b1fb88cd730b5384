"""Results that inherit Renderable are shown alike by print, rich and notebooks, and do not import rich themselves."""

import io

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
    Console(file=stream, width=100).print(answer)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == str(answer).splitlines()


def test_a_result_without_sections_cannot_be_made():
    with pytest.raises(TypeError, match="sections"):
        type("Nothing", (Renderable,), {})()
