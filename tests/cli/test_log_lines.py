"""Lines about the progress of long work."""

import pytest

from gramian.cli.log_lines import FIRST, NEXT, LogLines


@pytest.fixture
def now():
    return [100.0]


def test_quick_work_writes_nothing(now, capsys):
    lines = LogLines("predicting", "rows", lambda: now[0])
    for done in range(0, 1001, 100):
        now[0] += FIRST / 20
        lines.step(done, 1000)
    assert capsys.readouterr().err == ""


def test_a_line_from_time_to_time(now, capsys):
    lines = LogLines("predicting", "rows", lambda: now[0])
    steps = 2000
    for done in range(steps):
        now[0] += 0.2
        lines.step(done + 1, steps)
    written = capsys.readouterr().err.splitlines()
    assert len(written) == 1 + int((0.2 * steps - FIRST) / NEXT)
    assert written[0] == "predicting: 75 of 2,000 rows, 15 s, about 6 min left"


def test_a_given_time_left_is_used(now, capsys):
    lines = LogLines("walks", "cells", lambda: now[0])
    now[0] += FIRST
    lines.step(1, 3, left=7200.0)
    assert capsys.readouterr().err == "walks: 1 of 3 cells, 15 s, about 2.0 h left\n"


def test_nothing_is_written_before_the_first_step_and_after_the_last(now, capsys):
    lines = LogLines("walks", "cells", lambda: now[0])
    now[0] += 2 * FIRST
    lines.step(0, 3)
    lines.step(3, 3)
    assert capsys.readouterr().err == ""
