"""The engine of cells: no finished cell runs again after failures, interrupts and kills; no cell can end the run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gramian.experiments.cell import cells
from gramian.experiments.store import ExperimentStore
from gramian.records import run
from toy_experiments import Walk, toy, walk

BROKEN = {
    "raise": "RuntimeError: no luck today (toy_experiments.py, line",
    "die": "exit code 3",
    "wrong": "must return a Result",
}
BROKEN |= {"text": "could not convert", "missing": "there is no mnist/train.gz in data: set GRAMIAN_DATA"}


def marks(folder):
    """Return how often each (steps, seed) was run."""
    return {path.name: len(path.read_text()) for path in Path(folder).glob("*-*")}


def test_a_failure_affects_its_cell_only_and_is_repeated(tmp_path):
    specs = [Walk(5 + i, folder=str(tmp_path), how=how) for i, how in enumerate(["", *BROKEN])]
    experiment, store = toy(specs=specs, seeds=1), ExperimentStore(tmp_path / "out")
    todo = cells(experiment, "small")
    seen, began = [], []
    records = run(
        todo + todo[:1],
        store,
        tick=lambda cell, record: seen.append((cell.key, record)),
        begin=lambda *counts: began.append([len(c) for c in counts]),
    )
    assert began == [[7, 0]]
    assert seen == [(record["key"], record) for record in records]
    assert len(records) == len(todo)
    by_how = {record["spec"]["how"]: record for record in records}
    assert by_how[""]["error"] is None
    assert by_how[""]["numbers"]["end5"] == walk(Walk(5), 0).numbers["end5"]
    assert {"gramian", "torch", "numpy", "python"} == set(by_how[""]["versions"])
    assert by_how[""]["machine"]["cores"] == os.cpu_count()
    for how, error in BROKEN.items():
        assert error in by_how[how]["error"]
        assert by_how[how]["missing"] == (how == "missing")
        assert "somebody" not in store.path(todo[specs.index(next(s for s in specs if s.how == how))]).read_text()

    assert run(todo, store, keep_failed=True) == store.of(experiment, "small")
    assert set(marks(tmp_path).values()) == {1}
    run(todo[:2], store)  # one is finished, one has failed
    assert marks(tmp_path) == {f"{5 + i}-0": 2 if i == 1 else 1 for i in range(6)}


STARTED = """
from gramian.experiments.cell import cells
from gramian.experiments.store import ExperimentStore
from gramian.records import run
from toy_experiments import Walk, toy

if __name__ == "__main__":
    folder = {folder!r}
    specs = [Walk(n, folder=folder, how="wait" if n == 5 else "") for n in (3, 4, 5, 6)]
    run(cells(toy(specs=specs, seeds=1), "small"), ExperimentStore(folder + "/out"))
"""


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill", "interrupt"])
def test_a_run_that_is_ended_midway_resumes(tmp_path, how):
    """Two cells finish and the third hangs when the process is ended. The next run does the third and fourth only."""
    (tmp_path / "wait").touch()
    script = tmp_path / "start.py"
    script.write_text(STARTED.format(folder=str(tmp_path)))
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen([sys.executable, str(script)], env=environment, stderr=subprocess.DEVNULL)
    try:
        _until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), 300)
        process.send_signal(how)
        process.wait(120)
    finally:
        process.kill()
    _until(lambda: not _alive(int((tmp_path / "pid").read_text())), 120)  # no worker remains
    specs = [Walk(n, folder=str(tmp_path), how="wait" if n == 5 else "") for n in (3, 4, 5, 6)]
    experiment, store = toy(specs=specs, seeds=1), ExperimentStore(tmp_path / "out")
    assert marks(tmp_path) == {"3-0": 1, "4-0": 1, "5-0": 1}
    assert [record["spec"]["steps"] for record in store.of(experiment, "small")] == [3, 4]
    (tmp_path / "wait").unlink()
    records = run(cells(experiment, "small"), store)
    assert sorted(record["spec"]["steps"] for record in records) == [3, 4, 5, 6]
    assert marks(tmp_path) == {"3-0": 1, "4-0": 1, "5-0": 2, "6-0": 1}


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")  # a zombie has ended


def _until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_less_than_one_job_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        run([], ExperimentStore(tmp_path), jobs=0)
