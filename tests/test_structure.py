"""The shape of the source: few files on the path of a fit, small files, known types, no name twice."""

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.estimator import BaseRFM

SOURCE = Path(gramian.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

SAME_NAME: dict[str, str] = {}
"""Public classes of one name in several modules, each with the reason."""


def name_of(path):
    return str(path.relative_to(SOURCE))


class Trace:
    """The files of a package in which a function runs while the trace is on."""

    def __init__(self, folder):
        self.folder, self.codes = folder, set()

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.record)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)

    def record(self, frame, event, argument):
        self.codes.add(frame.f_code)

    @property
    def functions(self):
        """The names of the functions that ran, by file."""
        found = defaultdict(set)
        for code in self.codes:
            if Path(code.co_filename).is_relative_to(self.folder):
                found[str(Path(code.co_filename).relative_to(self.folder))].add(code.co_name)
        return found


def test_a_reader_of_fit_opens_at_most_14_files_of_rfm():
    X = np.random.default_rng(0).normal(size=(40, 4))
    y = np.where(X[:, 0] * X[:, 1] > 0, "up", "down")
    model = RFMClassifier(n_rounds=1)
    with Trace(SOURCE / "rfm") as trace:
        model.fit(X, y)
    assert "training/train.py" in trace.functions
    assert len(trace.functions) <= 14, {file: sorted(names) for file, names in trace.functions.items()}


def test_rfm_has_at_most_12_modules_beside_its_packages():
    found = [path.name for path in (SOURCE / "rfm").glob("*.py") if path.name != "__init__.py"]
    assert len(found) <= 12, found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_file_has_more_than_350_lines(path):
    # The predictor is copied without the package, as one file.
    most = 540 if name_of(path) == "predictor.py" else 350
    assert len(path.read_text(encoding="utf-8").splitlines()) <= most


@pytest.mark.parametrize("estimator", [RFMClassifier, RFMRegressor])
def test_estimators_have_mixins_of_scikit_learn_and_one_base(estimator):
    ours = [base for base in estimator.__bases__ if base.__module__.startswith("gramian")]
    assert ours == [BaseRFM]
    others = [base for base in estimator.__bases__ if base not in ours]
    assert all(base.__module__.startswith("sklearn.") for base in others)
    # BaseRFM itself: nothing of ours but the stand-in for scikit-learn's callbacks in versions that have none.
    bases = [base for base in BaseRFM.__bases__ if not base.__module__.startswith("sklearn.")]
    assert all(base.__name__ == "CallbackSupportMixin" for base in bases)
    assert {BaseEstimator, TransformerMixin, ClassNamePrefixFeaturesOutMixin} <= set(BaseRFM.__bases__)


def test_any_occurs_on_at_most_30_lines_of_rfm():
    lines = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in MODULES
        if path.is_relative_to(SOURCE / "rfm")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "Any" in line.replace("AnySolver", "").split("#")[0]
    ]
    assert len(lines) <= 30, "\n".join(lines)


def test_no_two_public_classes_have_the_same_name():
    places = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name_of(path))
    twice = {name: found for name, found in places.items() if len(found) > 1}
    assert set(twice) == set(SAME_NAME), {name: twice.get(name) for name in set(twice) ^ set(SAME_NAME)}
    assert all(SAME_NAME.values())


def test_no_module_reads_a_private_name_of_another():
    """Imports of names that begin with an underscore, from another module of gramian."""
    found = Counter()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gramian"):
                found.update(f"{name_of(path)}: {alias.name}" for alias in node.names if alias.name.startswith("_"))
    assert not {entry for entry in found if not entry.endswith(("__version__", "__all__"))}
