"""Every example of the gallery runs and draws, and together they show every figure."""

import ast
import re
from pathlib import Path

import matplotlib as mpl
import pytest
import torch

from gramian import report
from gramian.report.style import Picture

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))
# Training takes ten seconds, and the documentation runs this example too.
CASES = [pytest.param(p, marks=pytest.mark.slow if p.stem == "plot_7_training" else ()) for p in EXAMPLES]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_runs_and_draws(path, capsys):
    mpl.use("agg")
    import matplotlib.pyplot as plt

    try:
        with torch.random.fork_rng():
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), {"__name__": "__main__"})
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures
        for figure in figures:
            assert figure.axes
            assert all(ax.has_data() for ax in figure.axes), "an empty picture"
            whole = isinstance(figure, Picture)  # several plots side by side, for a screen
            assert whole or figure.get_size_inches()[0] <= 6.8, "wider than a page"
    finally:
        plt.close("all")


def test_every_figure_is_in_the_gallery():
    called = set(re.findall(r"\b(plot_\w+)\(", "".join(path.read_text(encoding="utf-8") for path in EXAMPLES)))
    assert {name for name in report.__all__ if name.startswith("plot_")} == called


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_begins_with_a_title(path):
    """The gallery needs a docstring with an underlined title, and a paragraph under it."""
    title, line, blank, *rest = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert blank == ""
    assert rest
