"""Worker processes: every item is answered, also if it ends its process."""

import time
from functools import partial

import pytest

import worker_functions
from gramian.core.workers import Lost, in_workers


def test_every_item_is_answered():
    items = [1, "raise", "die", 2, "sleep", "print", 3]
    answers = dict(in_workers(partial(worker_functions.misbehave, base=10), items, jobs=1, time_limit=2.0))
    assert list(answers) == items  # one worker keeps the order
    assert [answers[i] for i in (1, 2, 3)] == [11, 12, 13]
    assert answers["print"] == "printed"
    assert answers["raise"].error == f"ValueError: no luck (worker_functions.py, line {_line_of_the_error()})"
    assert answers["die"].error == "the process died with exit code 3"
    assert answers["sleep"].error == "took longer than 2 seconds"
    assert 2 <= answers["sleep"].seconds < 20
    assert all(isinstance(answers[name], Lost) for name in ("raise", "die", "sleep"))


def _line_of_the_error():
    with pytest.raises(ValueError, match="luck") as caught:
        worker_functions.misbehave("raise", 0)
    return caught.traceback[-1].lineno + 1


def test_workers_have_one_thread_and_end_when_the_iterator_closes():
    answers = in_workers(worker_functions.threads, range(10), jobs=2)
    _, (torch_threads, pools) = next(answers)
    assert torch_threads == 1
    assert set(pools) <= {1}
    begin = time.monotonic()
    answers.close()
    assert time.monotonic() - begin < 20
    assert list(answers) == []


def test_without_items_there_are_no_processes():
    assert list(in_workers(worker_functions.threads, [])) == []
