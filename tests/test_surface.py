"""The names of the package: there on first use, without an import that nobody asked for."""

import ast
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import gramian
import gramian.core

HEAVY = ("torch", "sklearn", "scipy", "numpy", "matplotlib", "pandas")
HOMES = {
    "FeatureReport": "gramian.nets.report",
    "Monitor": "gramian.nets.monitor",
    "RFMClassifier": "gramian.rfm.classifier",
    "RFMRegressor": "gramian.rfm.regressor",
    "RFMSearch": "gramian.rfm.search.search",
    "compare": "gramian.nets.compare",
    "inspect": "gramian.nets.inspection",
    "load": "gramian.rfm.serialization",
}


def fresh(code: str) -> str:
    """Return the output of a program in a process that has imported nothing yet."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def typed_imports(package) -> dict[str, str]:
    """Names that a type checker sees in a package, with the module each comes from."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    found = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in found for alias in node.names}


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, gramian, gramian.core; print([m for m in {HEAVY} if m in sys.modules], gramian.__version__)"
    assert fresh(code) == f"[] {gramian.__version__}"


def test_a_star_brings_every_name_and_an_attribute_is_enough(monkeypatch):
    assert fresh("from gramian import *; print(RFMClassifier.__module__, inspect.__module__)") == (
        "gramian.rfm.classifier gramian.nets.inspection"
    )
    for statement in ("from gramian import RFMClassifier as found", "import gramian; found = gramian.RFMClassifier"):
        monkeypatch.delattr(gramian, "RFMClassifier", raising=False)  # as if nobody had asked for it
        names: dict = {}
        exec(statement, names)
        assert names["found"].__module__ == HOMES["RFMClassifier"]


def test_subpackages_pickles_and_plugins_in_a_process_that_has_imported_nothing():
    pytest.importorskip("dask", reason="dask is not installed")
    made = pickle.dumps(gramian.RFMRegressor(n_rounds=3))
    packages = ["core", "features", "files", "kernels", "nets", "rfm", "solvers", "tables"]
    lines = [
        "import pickle, gramian",
        f"print(*(getattr(gramian, package).__name__ for package in {packages}))",
        f"print(pickle.loads({made!r}).n_rounds)",
        "import dask",
        "print(gramian.core.plugins.plugin('dask').__name__)",
    ]
    answers = [" ".join(f"gramian.{package}" for package in packages), "3", "gramian.distributed"]
    assert fresh("\n".join(lines)).splitlines() == answers


@pytest.mark.parametrize("package", [gramian, gramian.core])
class TestLazyPackages:
    def test_what_is_listed_is_what_type_checkers_see_and_what_there_is(self, package):
        typed = typed_imports(package)
        assert set(package.__all__) - {"__version__"} == set(typed)
        for name, module in typed.items():
            assert getattr(package, name) is getattr(importlib.import_module(module), name)

    def test_listed_before_anybody_asked(self, package):
        code = (
            f"import importlib; p = importlib.import_module({package.__name__!r}); print(set(p.__all__) - set(dir(p)))"
        )
        assert fresh(code) == "set()"

    def test_a_second_look_costs_nothing(self, package):
        name = package.__all__[0]
        getattr(package, name)
        assert name in vars(package)

    def test_a_wrong_name_is_refused_as_by_any_module(self, package):
        import math

        with pytest.raises(AttributeError) as usual:
            math.nothing  # noqa: B018
        with pytest.raises(AttributeError) as refused:
            package.nothing  # noqa: B018
        assert str(refused.value) == str(usual.value).replace("math", package.__name__)
        assert refused.value.name == "nothing"
        assert not hasattr(package, "nothing")
        with pytest.raises(ImportError, match="cannot import name 'nothing'"):
            exec(f"from {package.__name__} import nothing")


def test_a_slip_of_the_pen_is_answered_with_the_name_that_was_meant():
    done = subprocess.run(
        [sys.executable, "-c", "import gramian; gramian.RFMRegresor"], capture_output=True, text=True, check=False
    )
    assert done.stderr.rstrip().endswith("has no attribute 'RFMRegresor'. Did you mean: 'RFMRegressor'?")


def test_classes_and_functions_live_where_they_are_written():
    assert {name: getattr(gramian, name).__module__ for name in HOMES} == HOMES
    assert set(HOMES) == set(gramian.__all__) - {"__version__"}
