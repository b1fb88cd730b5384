"""Run cells in worker processes and keep their records: resumable, and no method can end the run.

The file holds one JSON object a line; only the parent writes it, a line at a time. A worker that raises, dies or takes
too long costs its cell and nothing else. Cells whose key is in the file are not run again.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from gramian.bench.cell import Cell, Record, describe, failed, run_cell
from gramian.bench.methods import Method, find_method
from gramian.bench.tasks import SUITES, Folder

log = logging.getLogger(__name__)
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_POLL_SECONDS = 0.2
TIME_LIMIT = 600.0
"""Seconds a cell may take by default."""


def cells(
    suite: str, methods: Sequence[str], sets: Sequence[str], splits: int | None = None, seed: int = 0
) -> list[Cell]:
    """All cells of a suite, one method after the other.

    >>> [(c.set, c.split) for c in cells("sklearn", ["SVM"], ["iris"], splits=2)]
    [('iris', 0), ('iris', 1)]
    """
    count = SUITES[suite].n_splits if splits is None else splits
    return [Cell(suite, name, split, method, seed) for method in methods for name in sets for split in range(count)]


def read_records(path: str | Path) -> list[Record]:
    """Records of a file, in its order; none if there is no file.

    A line that is no JSON object (an interrupt in the middle of one) is left out, with a warning.
    """
    path, found = Path(path), []
    if not path.exists():
        return []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            if line.strip():
                log.warning("%s, line %d is not a whole record and is left out", path, number)
            continue
        if isinstance(record, dict) and "key" in record:
            found.append(record)
    return found


def run(
    todo: Iterable[Cell],
    out: str | Path,
    *,
    jobs: int = 1,
    time_limit: float = TIME_LIMIT,
    folder: Folder = None,
    find: Callable[[str], Method] = find_method,
    tick: Callable[[Record], Any] = lambda record: None,
) -> list[Record]:
    """Run the cells that are not in the file yet, and return the records of all.

    Parameters
    ----------
    todo : iterable of Cell
    out : path
        The file of JSON lines; made with its folder where absent.
    jobs : int
        Worker processes, of one thread each.
    time_limit : float
        Seconds after which a cell counts as failed.
    folder : path, optional
        Of the data; the one GRAMIAN_DATA names by default.
    find : function
        Name of a method → Method.
    tick : function
        Called with each record, also of cells that were done before.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    out = Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    done = {record["key"]: record for record in read_records(out)}
    finished, waiting = [], []
    for cell in todo:
        method = find(cell.method)
        record = done.get(cell.key(method))
        if record is None:
            waiting.append((cell, method))
        else:
            finished.append(record)
            tick(record)
    if not waiting:
        return finished
    waiting.reverse()  # taken from the end
    workers = [_Worker(folder) for _ in range(min(jobs, len(waiting)))]
    try:
        with _open_for_append(out) as file:
            while waiting or any(worker.busy for worker in workers):
                for worker in workers:
                    if waiting and not worker.busy:
                        worker.start(*waiting.pop())
                record = _next_record(workers, time_limit, folder)
                if record is None:
                    continue
                file.write(json.dumps(record) + "\n")
                file.flush()
                finished.append(record)
                log.info(
                    "%s %s/%s: %.4f in %s s%s",
                    record["method"],
                    record["set"],
                    record["split"],
                    record["score"],
                    record["fit_seconds"],
                    f" ({record['error']})" if record["error"] else "",
                )
                tick(record)
    finally:
        for worker in workers:
            worker.stop()
    return finished


@dataclass(eq=False)
class _Worker:
    """A process that runs one cell after the other; it is replaced when it dies or is too slow."""

    folder: Folder
    process: Any = None
    pipe: Connection | None = None
    work: tuple[Cell, Method] | None = None
    since: float = field(default=0.0)

    @property
    def busy(self) -> bool:
        return self.work is not None

    def start(self, cell: Cell, method: Method) -> None:
        if self.process is None:
            context = get_context("spawn")  # a fork would copy the threads' locks of torch and OpenMP
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(other, self.folder), daemon=True)
            self.process.start()
            other.close()
            self.since = math.inf  # until it says that its imports are done
        else:
            self.since = time.monotonic()
        self.work = cell, method
        assert self.pipe is not None
        # The name travels where it says enough: methods made by functions within functions cannot be pickled.
        self.pipe.send((cell, None if find_method_or_none(cell.method) is method else method))

    def receive(self) -> Any:
        assert self.pipe is not None
        return self.pipe.recv()

    def stop(self) -> None:
        """End the process: at once if it is at work, else it goes by itself when the pipe closes."""
        if self.busy and self.process is not None:
            self.process.kill()
        if self.pipe is not None:
            self.pipe.close()
        if self.process is not None:
            self.process.join()
        self.process = self.pipe = self.work = None


def find_method_or_none(name: str) -> Method | None:
    """:func:`find_method`, or None for a name it does not know."""
    with suppress(ValueError):
        return find_method(name)
    return None


def _next_record(workers: Sequence[_Worker], time_limit: float, folder: Folder) -> Record | None:
    """The record of the first worker that answers, dies or passes the limit; None if nothing happened for a while."""
    by_pipe: dict[Any, _Worker] = {worker.pipe: worker for worker in workers if worker.busy}
    for pipe in wait(list(by_pipe), timeout=_POLL_SECONDS):
        worker = by_pipe[pipe]
        try:
            answer: Record | str = worker.receive()
        except (EOFError, ConnectionResetError):
            worker.process.join()
            return _give_up(worker, f"the process died with exit code {worker.process.exitcode}", folder)
        if isinstance(answer, str):
            worker.since = time.monotonic()  # ready
            continue
        worker.work = None
        return answer
    for worker in by_pipe.values():
        if time.monotonic() - worker.since > time_limit:
            return _give_up(worker, f"took longer than {time_limit:g} seconds", folder)
    return None


def _give_up(worker: _Worker, error: str, folder: Folder) -> Record:
    assert worker.work is not None
    cell, method = worker.work
    seconds = max(0.0, time.monotonic() - worker.since)
    worker.stop()
    task = SUITES[cell.suite].task(cell.set, cell.split, folder)
    return describe(cell, method, task) | failed(task, error, seconds)


def _serve(pipe: Connection, folder: Folder) -> None:
    """The life of a worker: one thread, no output, a cell in, a record out."""
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))  # for libraries that are loaded from here on
    torch.set_num_threads(1)
    with open(os.devnull, "w") as nowhere, threadpool_limits(1):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # a stream without a file behind it prints nowhere already
                os.dup2(nowhere.fileno(), stream.fileno())
        pipe.send("ready")
        while True:
            try:
                cell, method = pipe.recv()
            except EOFError:
                return
            pipe.send(run_cell(cell, find_method(cell.method) if method is None else method, folder))


def _open_for_append(path: Path) -> Any:
    """The file, at the start of a new line: the last one may have been cut short."""
    whole = not path.exists() or path.stat().st_size == 0 or path.read_bytes()[-1:] == b"\n"
    file = path.open("a", encoding="utf-8")
    if not whole:
        file.write("\n")
    return file
