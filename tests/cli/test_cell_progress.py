"""The progress bar of a run of cells."""

from io import StringIO

import click
import pytest
from rich.console import Console

import gramian.cli.cell_progress as module
from gramian.core.clock import Clock
from gramian.experiments.cell import ExperimentCell
from gramian.records import remaining
from small_training import FakeTime
from toy_experiments import SPECS, toy


def test_progress_has_a_time_estimate_on_a_terminal_only(monkeypatch, tmp_path):
    monkeypatch.setattr(remaining, "Clock", lambda: Clock(now=FakeTime()))
    cell, other = ExperimentCell(toy(), SPECS[0], 0), ExperimentCell(toy(), SPECS[0], 1)
    for terminal in (True, False):
        text = StringIO()
        monkeypatch.setattr(
            module, "Console", lambda stderr, f=text, t=terminal: Console(file=f, force_terminal=t, width=120)
        )
        with module.cell_progress("two walks", 1, tmp_path) as progress:
            progress.begin([cell, other], [])
            progress.tick(cell, {"seconds": 100.0, "error": None})
        assert ("two walks" in text.getvalue()) == terminal
        assert ("about 100 s left" in text.getvalue()) == terminal


def test_an_interrupt_ends_the_command_and_names_the_records(tmp_path, capsys):
    with pytest.raises(click.exceptions.Exit) as caught, module.cell_progress("walks", 1, tmp_path):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert f"finished records are in {tmp_path}" in capsys.readouterr().err
