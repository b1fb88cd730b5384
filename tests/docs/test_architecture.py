"""The drawings of the page on architecture: their modules and functions exist, and real calls take the drawn way."""

import importlib
import inspect
import re
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner

import gramian
from gramian import RFMClassifier
from gramian.cli.main import cli
from gramian.experiments import papers
from gramian.experiments.cell import cells
from gramian.rfm import TreePartition
from pages import FOLDER, ROOT, blocks

SOURCE = ROOT / "src/gramian"
LINE = re.compile(r"(?P<tree>[│├└ ]*)(?P<name>[\w.]+) .* (?P<module>\S+\.py)")
ELSEWHERE = {("in_workers", "first_layer")}
"""Pairs of caller and callee in different processes."""
LARGE = {"refit_on_all_rows", "PartsLearner.refit"}
"""Steps of a fit that a small table does not take."""


@dataclass(frozen=True)
class Step:
    """One line of a drawing, and the line that it is indented under."""

    name: str
    module: str
    parent: "Step | None"

    @property
    def object(self):
        module = importlib.import_module("gramian." + self.module.removesuffix(".py").replace("/", "."))
        found = module
        for part in self.name.split("."):
            found = inspect.getattr_static(found, part)
        return found

    @property
    def code(self):
        """File and qualified name of the function that runs, or None for a class without a constructor of its own."""
        found = self.object
        if inspect.isclass(found):
            constructor = inspect.unwrap(found.__init__)
            code = getattr(constructor, "__code__", None)
            own = code is not None and code.co_filename == str(SOURCE / self.module)
            return (self.module, f"{self.name}.__init__") if own else None
        return self.module, self.name


def drawings():
    """Return the drawings of the page by the heading above each of them."""
    text = (FOLDER / "architecture.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## `(\w+)`", text, re.MULTILINE)
    drawn = [block.text.rstrip("\n").split("\n") for block in blocks(text) if block.language == "text"]
    return dict(zip(headings, drawn, strict=True))


def steps(lines):
    """Parse a drawing; a step's parent is the last line before it that is indented less."""
    found, above = [], []
    for line in filter(None, lines):
        match = LINE.fullmatch(line)
        assert match, f"{line!r} is not: name, remark, module"
        depth = len(match["tree"])
        above = [(d, step) for d, step in above if d < depth]
        step = Step(match["name"], match["module"], above[-1][1] if above else None)
        above.append((depth, step))
        found.append(step)
    return found


DRAWINGS = drawings()
STEPS = [(name, step) for name, lines in DRAWINGS.items() for step in steps(lines)]


class Calls:
    """Pairs (caller, callee) of functions of gramian while it is active; a caller is any function on the stack."""

    def __init__(self):
        self.pairs = set()
        self._stack = []

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *error):
        sys.setprofile(self._before)

    def _profile(self, frame, event, argument):
        path = frame.f_code.co_filename
        if not path.startswith(str(SOURCE)):
            return
        if event == "call":
            called = path[len(str(SOURCE)) + 1 :], frame.f_code.co_qualname
            self.pairs.update((caller, called) for caller in {None, *self._stack})
            self._stack.append(called)
        elif event == "return" and self._stack:
            self._stack.pop()


def table(n):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    X["d"] = rng.choice(["u", "v", "w"], n)
    return X, np.where(X["a"] * X["b"] > 0, "yes", "no")


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Pairs of caller and callee in a real call of each drawing."""
    X, y = table(60)
    small = RFMClassifier(kernel="laplace", update="agop", n_rounds=1)
    tree = RFMClassifier(kernel="laplace", update="agop", n_rounds=1, solver=TreePartition(leaf_rows=40))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gramian.rfm.training.plan.SCREEN_ROWS", 40)  # refits on all rows start there
        with Calls() as refits:
            RFMClassifier(kernel="laplace", update="agop", n_rounds=1).fit(X, y)
    with Calls() as fits:
        small.fit(X, y)
        tree.fit(X, y)
    with Calls() as predictions:
        small.predict(X)
    network = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    inputs, targets = torch.ones(8, 4) + torch.eye(8, 4), torch.arange(8) % 2
    with Calls() as inspections:
        report = gramian.inspect(network, (inputs, targets), loss="cross_entropy", weight_decay=0.1)
        report.matrix("0", "agop")
        report.rows  # noqa: B018
    folder = tmp_path_factory.mktemp("records")
    with Calls() as reproductions:
        result = CliRunner().invoke(cli, ["reproduce", "d/table2", "--scale", "smoke", "--out", str(folder)])
        (cell,) = cells(papers.find("d/table2"), "smoke", 1)
        cell.task()()  # the part that runs in a worker process
    assert result.exit_code == 0, result.output
    return {
        "fit": fits.pairs | refits.pairs,
        "predict": predictions.pairs,
        "inspect": inspections.pairs,
        "reproduce": reproductions.pairs,
    }


def test_the_page_draws_the_four_calls():
    assert list(DRAWINGS) == ["fit", "predict", "inspect", "reproduce"]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_fits_on_one_screen(name):
    assert len(DRAWINGS[name]) <= 45
    assert max(map(len, DRAWINGS[name])) <= 110


@pytest.mark.parametrize(("name", "step"), STEPS, ids=lambda value: getattr(value, "name", value))
def test_every_step_is_defined_in_the_module_beside_it(name, step):
    assert (SOURCE / step.module).is_file()
    found = step.object
    found = getattr(found, "__func__", found)  # a class method
    found = getattr(found, "func", getattr(found, "callback", found))  # a cached property, a command
    assert found.__module__ == "gramian." + step.module.removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize(("name", "step"), STEPS, ids=lambda value: getattr(value, "name", value))
def test_a_real_call_takes_every_step_below_its_caller(name, step, observed):
    if step.code is None:
        pytest.skip("a dataclass has no constructor to observe")
    parent = None
    if step.parent is not None and (step.parent.name, step.name) not in ELSEWHERE:
        parent = step.parent.code
    assert (parent, step.code) in observed[name]


def test_every_module_that_the_text_names_exists():
    text = (FOLDER / "architecture.md").read_text(encoding="utf-8")
    for module in re.findall(r"`((?:\w+/)+\w+\.py)`", text):
        assert (SOURCE / module).is_file(), module
