"""The drawings of the page on architecture: their modules and functions exist, and real calls take the drawn way."""

import importlib
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path

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
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import findings
from gramian.records import run
from gramian.rfm import TreePartition
from pages import FOLDER, ROOT, blocks

SOURCE = Path(gramian.__file__).parent
LINE = re.compile(r"(?P<tree>[│├└ ]*)(?P<name>[\w.]+) .* (?P<module>\S+\.py)")
IN_WORKERS = {("in_workers", "first_layer")}
"""Pairs of caller and callee that are in different processes."""


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
    """Pairs (caller, callee) of drawn functions while it is active; a caller is any function on the stack, or None.

    A trace function that returns None is told of calls of Python functions only: neither of lines nor of returns.
    """

    def __init__(self, name):
        self._drawn = {step.code for drawing, step in STEPS if drawing == name}
        self._codes = {}  # code object → its step's code, or None
        self.pairs = set()

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *error):
        sys.settrace(self._before)

    def _trace(self, frame, event, argument):
        called = self._step(frame.f_code)
        if called is not None:
            self.pairs.add((None, called))
            while frame := frame.f_back:
                if caller := self._step(frame.f_code):
                    self.pairs.add((caller, called))

    def _step(self, code):
        if code not in self._codes:
            called = code.co_filename.removeprefix(f"{SOURCE}/"), code.co_qualname
            self._codes[code] = called if called in self._drawn else None
        return self._codes[code]


def classifier(**options):
    return RFMClassifier(kernel="laplace", update="agop", n_rounds=1, n_threads=1, **options)  # calls of one thread


def observe_fit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(c=rng.choice(["u", "v", "w"], 60))
    y = np.where(X["a"] > 0, "yes", "no")
    with pytest.MonkeyPatch.context() as patched, Calls("fit") as calls:
        model = classifier().fit(X, y)
        classifier(solver=TreePartition(leaf_rows=40)).fit(X, y)
        patched.setattr("gramian.rfm.training.plan.FIVE_FOLD_ROWS", 50)
        patched.setattr("gramian.rfm.training.plan.SPLIT_ROWS", 30)  # candidates are fitted to this many rows at most
        classifier().fit(X, y)
    with Calls("predict") as predictions:
        model.predict(X)
    return {"fit": calls.pairs, "predict": predictions.pairs}


def observe_inspect():
    network = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    inputs, targets = torch.ones(8, 4) + torch.eye(8, 4), torch.arange(8) % 2
    with Calls("inspect") as calls:
        report = gramian.inspect(network, (inputs, targets), loss="cross_entropy", weight_decay=0.1)
        report.matrix("0", "agop")
        report.loaded_rows()
    return {"inspect": calls.pairs}


def observe_reproduce(folder):
    experiment = papers.find("d/table2")  # imports of the paper are not traced
    with pytest.MonkeyPatch.context() as patched, Calls("reproduce") as calls:
        patched.setattr(papers, "PAPERS", {"D": papers.PAPERS["D"]})  # a page of one paper is quicker
        with patched.context() as inside:  # workers are other processes: run the cell in this one
            inside.setattr("gramian.records.engine.in_workers", lambda run, items, **_: ((i, run(i)) for i in items))
            result = CliRunner().invoke(cli, ["reproduce", "d/table2", "--scale", "smoke", "--out", str(folder)])
        assert result.exit_code == 0, result.output
        run(cells(experiment, "smoke"), ExperimentStore(folder))  # its record exists, so that no worker is started
        findings(experiment, ExperimentStore(ROOT / "reproduction"))  # smoke runs are not compared with the paper
    return {"reproduce": calls.pairs}


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """Pairs of caller and callee in real calls, by drawing."""
    return observe_fit() | observe_inspect() | observe_reproduce(tmp_path_factory.mktemp("records"))


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
    if step.parent is not None and (step.parent.name, step.name) not in IN_WORKERS:
        parent = step.parent.code
    assert (parent, step.code) in observed[name]


def test_every_module_that_the_text_names_exists():
    text = (FOLDER / "architecture.md").read_text(encoding="utf-8")
    for module in re.findall(r"`((?:\w+/)+\w+\.py)`", text):
        assert (SOURCE / module).is_file(), module
