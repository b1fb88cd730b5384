"""Warnings point at the line of the user's code, whatever stands between it and the reason."""

import ast
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from gramian.core.pool import Threads
from gramian.core.warn import Caller, called_from, find_caller, on_behalf_of_caller, warn

MODULE = sys.modules["gramian.core.warn"]
SOURCE = Path(__file__).parents[2] / "src" / "gramian"


@pytest.fixture(autouse=True)
def skip_the_checks_of_types(monkeypatch):
    """In these tests every function is wrapped by a check of its types, which users do not have."""
    monkeypatch.setattr(MODULE, "_BETWEEN", {*MODULE._BETWEEN, "shapes", "jaxtyping"})


def as_if_inside(function, module="gramian.somewhere.deep"):
    """Return a function that calls another from a module of the package."""
    namespace = {"__name__": module, "function": function}
    exec("def inner():\n    return function()\n\n\ndef outer():\n    return inner()\n", namespace)
    return namespace["outer"]


def where(caught):
    return [(Path(found.filename).name, found.lineno) for found in caught]


def this_line():
    return sys._getframe(1).f_lineno


@pytest.mark.parametrize("module", ["gramian.rfm.training.refit", "sklearn.callback", "joblib.parallel"])
def test_lines_of_the_package_and_of_what_calls_it_are_skipped(module):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = this_line() + 1
        as_if_inside(lambda: warn("too few rows"), module)()
    # The lambda is the innermost line outside of the module.
    assert where(caught) == [("test_warn.py", line)]
    found = as_if_inside(find_caller, module)()
    assert (Path(found.file).name, found.line) == ("test_warn.py", this_line() - 1)


def test_the_category_and_the_text_are_kept():
    with pytest.warns(RuntimeWarning, match="^singular$"):
        warn("singular", RuntimeWarning)


def test_a_warning_in_another_thread_points_at_the_line_that_started_it():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = this_line() + 1
        work = on_behalf_of_caller(as_if_inside_two(warn))
        list(Threads(2).run(work, "row", ["a", "b"]))
    assert where(caught) == [("test_warn.py", line)] * 2


def as_if_inside_two(function):
    namespace = {"__name__": "gramian.somewhere", "function": function}
    exec("def work(shared, item):\n    function(f'{shared} {item}')\n", namespace)
    return namespace["work"]


def test_without_a_caller_the_warning_is_still_given(monkeypatch):
    caller = Caller("user.py", 7, "user")
    with called_from(caller):
        monkeypatch.setattr(MODULE, "_BETWEEN", {*MODULE._BETWEEN, __name__.partition(".")[0]})
        monkeypatch.setattr(MODULE, "_THREADS", {"_pytest"})
        assert find_caller() is caller
    with pytest.warns(UserWarning, match="nobody called"):
        warn("nobody called")


def test_the_same_warning_of_one_line_is_shown_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("once is enough")
    assert len(caught) == 1


SCRIPT = """
    import numpy as np
    from gramian import RFMRegressor

    X = np.random.default_rng(0).normal(size=(40, 3))
    model = RFMRegressor(preset="fast", time_limit=1e-9)
    model.fit(X, X[:, 0])
    X[0, 0] = np.nan
    model.predict(X)
"""


def test_warnings_of_a_fit_and_a_prediction_point_at_the_users_script(tmp_path):
    script = tmp_path / "mine.py"
    script.write_text(textwrap.dedent(SCRIPT).lstrip())
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=True)
    found = [line for line in ended.stderr.splitlines() if "Warning:" in line]
    assert found
    assert all(f"{script}:6:" in line for line in found if "time limit" in line), ended.stderr
    assert any(f"{script}:8: UserWarning: 1 entries of X are missing" in line for line in found), ended.stderr


def test_no_other_module_of_the_library_counts_stack_levels():
    """One function finds the caller; a number of frames is wrong as soon as a function is moved."""
    for path in SOURCE.rglob("*.py"):
        # The predictor is copied without the package.
        if path.name in ("warn.py", "predictor.py") or "cli" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                assert not any(keyword.arg == "stacklevel" for keyword in node.keywords), path
