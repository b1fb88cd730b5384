"""Lines that a caller asked for are seen without any configuration of logging, and nothing of them remains."""

import logging
import re
import subprocess
import sys

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.core.log_lines import line_logger
from gramian.rfm.training.context import FitContext
from small_training import FakeTime

SCRIPT = """
import sys, numpy as np
from gramian import RFMRegressor
X = np.random.default_rng(0).normal(size=(40, 2))
RFMRegressor(preset="fast", n_rounds=1, verbose=int(sys.argv[1])).fit(X, X[:, 0])
"""


def forget_handlers(monkeypatch):
    """Make the state of logging that of a program that has not configured it; pytest has handlers of its own."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(logging.getLogger("gramian"), "handlers", [])


def test_lines_go_to_the_standard_error_where_logging_is_not_configured(monkeypatch, capsys):
    forget_handlers(monkeypatch)
    line_logger("gramian.fit").info("round %d", 2)
    assert capsys.readouterr() == ("", "round 2\n")


def test_lines_go_to_the_handlers_of_the_program_where_there_are_any(monkeypatch, capsys):
    forget_handlers(monkeypatch)
    seen = []
    handler = logging.Handler()
    handler.emit = seen.append
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    line_logger("gramian.fit").info("round 2")
    assert [record.getMessage() for record in seen] == ["round 2"]
    assert seen[0].name == "gramian.fit"
    assert capsys.readouterr().err == ""


def test_nothing_global_changes():
    before = logging.getLogger("gramian").level, list(logging.getLogger("gramian").handlers), logging.root.level
    log = line_logger("gramian.fit")
    assert log is not line_logger("gramian.fit")
    assert "gramian.fit" not in logging.Logger.manager.loggerDict
    assert before == (logging.getLogger("gramian").level, logging.getLogger("gramian").handlers, logging.root.level)


def test_a_fit_logs_its_rounds_into_a_pipe():
    lines = {
        verbose: subprocess.run(
            [sys.executable, "-c", SCRIPT, verbose], capture_output=True, text=True, check=True
        ).stderr.splitlines()
        for verbose in ("0", "1")
    }
    assert lines["0"] == []
    assert any(re.match(r"round 1 of 1, candidate laplace agop, error [-\d.e]+, \d+ s$", line) for line in lines["1"])
    assert "fitted to 40 of 40 rows" in lines["1"][-1]


def test_a_bar_that_is_seen_makes_lines_superfluous(monkeypatch, capsys):
    forget_handlers(monkeypatch)
    context = FitContext(verbose=1)
    context.tick.visible = True
    context.say("round 1 of 4")
    assert capsys.readouterr().err == ""
    context.conclude("fitted to 9 of 9 rows")
    assert context.tick.left_behind.startswith("fitted to 9 of 9 rows, ")
    FitContext(verbose=1).say("details", least=2)
    assert capsys.readouterr().err == ""
    FitContext(verbose=2).say("details", least=2)
    assert capsys.readouterr().err == "details, 0 s\n"


@pytest.mark.parametrize("verbose", [-1, "loud", None])
def test_a_wrong_verbosity_is_refused(verbose):
    with pytest.raises(ValueError, match="verbose must be 0, 1 or 2"):
        RFMRegressor(verbose=verbose).fit(np.eye(4), np.arange(4.0))


def test_fake_time_passes_only_where_it_is_told_to():
    time = FakeTime()
    slow = time.advancing(abs, 3.0)
    assert (slow(-1), time()) == (1, 3.0)
