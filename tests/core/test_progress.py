"""Progress is seen on a terminal and in a notebook, vanishes at the end, and writes nothing into a pipe."""

import os
import pty
import subprocess
import sys
import types

import pytest

from gramian.core import progress as module
from gramian.core.progress import progress

SCRIPT = """
import time
from gramian.core.progress import progress
with progress("fitting", 3, show=True) as tick:
    for _ in range(3):
        time.sleep(0.12)
        tick()
"""


def test_nothing_goes_into_a_pipe():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_terminal_sees_it_and_it_vanishes():
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], stderr=writer, stdout=subprocess.PIPE, check=True, env=environment
    )
    os.close(writer)
    seen = b""
    try:
        while part := os.read(reader, 65536):
            seen += part
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(reader)
    assert done.stdout == b""
    assert b"fitting" in seen
    assert b"\x1b[2K" in seen.rsplit(b"fitting", 1)[1], "the line is erased after the last drawing"


class Notebook:
    """The IPython of a kernel without widgets, which records what is displayed."""

    def __init__(self, monkeypatch, kernel=True):
        self.shown: list[str] = []
        shell = types.SimpleNamespace(kernel=object()) if kernel else types.SimpleNamespace()
        ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        ipython.get_ipython = lambda: shell
        display.HTML = str
        display.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, html, display_id):
        assert display_id is True
        self.shown.append(html)
        return types.SimpleNamespace(update=self.shown.append)


@pytest.fixture
def clock(monkeypatch):
    now = types.SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)
    return now


def count(clock, steps, seconds, total):
    with progress("fitting <a>", total, show=True) as tick:
        for _ in range(steps):
            clock.seconds += seconds
            tick()


def test_a_notebook_shows_one_bar_with_an_estimate_and_leaves_nothing(monkeypatch, clock, capfd):
    notebook = Notebook(monkeypatch)
    count(clock, 4, 30.0, total=4)
    assert len(notebook.shown) == 5
    assert "fitting &lt;a&gt;" in notebook.shown[0]
    assert 'max="4" value="1"' in notebook.shown[0]
    assert "1 of 4 · 0:30, 1:30 left" in notebook.shown[0]
    assert notebook.shown[-1] == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("seconds", [0.1, 30.0])
def test_a_text_remains_in_a_notebook_where_the_work_leaves_one(monkeypatch, clock, seconds):
    notebook = Notebook(monkeypatch)
    with progress("fitting", 2, show=True) as tick:
        for _ in range(2):
            clock.seconds += seconds
            tick()
        tick.leave("fitted to 9 of 10 rows <b>")
        assert tick.visible
    assert notebook.shown[-1] == "<div>fitted to 9 of 10 rows &lt;b&gt;</div>"


def test_a_notebook_is_not_flooded(monkeypatch, clock):
    notebook = Notebook(monkeypatch)
    count(clock, 1000, 0.01, total=1000)
    assert len(notebook.shown) <= 2 + 9 / 0.2


def test_what_is_quick_leaves_no_trace(monkeypatch, clock):
    notebook = Notebook(monkeypatch)
    count(clock, 5, 0.1, total=5)
    assert notebook.shown == []


def test_an_unknown_number_of_steps(monkeypatch, clock):
    notebook = Notebook(monkeypatch)
    count(clock, 2, 5.0, total=None)
    assert "<progress></progress> 2 · 0:10" in notebook.shown[1]


def fail(clock):
    with progress("fitting", 2, show=True) as tick:
        clock.seconds += 5
        tick()
        raise RuntimeError


def test_the_bar_goes_when_the_work_fails(monkeypatch, clock):
    notebook = Notebook(monkeypatch)
    with pytest.raises(RuntimeError):
        fail(clock)
    assert len(notebook.shown) == 2
    assert notebook.shown[-1] == ""


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch, clock):
    notebook = Notebook(monkeypatch, kernel=False)
    count(clock, 2, 5.0, total=2)
    assert notebook.shown == []


def test_nobody_asked(monkeypatch, clock):
    notebook = Notebook(monkeypatch)
    with progress("fitting", 1, show=False) as tick:
        clock.seconds += 5
        tick()
    assert notebook.shown == []


def test_work_inside_of_shown_work_has_no_bar_of_its_own(monkeypatch):
    notebook = Notebook(monkeypatch)
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    monkeypatch.setattr(module, "_PACE", 0.0)
    with progress("outer", 1, show=True) as outer:
        with progress("inner", 1, show=True) as inner:
            inner()
        outer()
    assert any("outer" in html for html in notebook.shown)
    assert not any("inner" in html for html in notebook.shown)
    with progress("later", 1, show=True) as tick:
        tick()
    assert any("later" in html for html in notebook.shown)
