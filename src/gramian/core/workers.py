"""Worker processes of one thread each, in which no item of work can end the run or slow down other items.

A worker that raises, dies or takes too long loses its item and nothing else. The workers end when the parent process
ends, for whatever reason.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from gramian.core.error_text import one_line

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_POLL_SECONDS = 0.2
_READY = "ready"


@dataclass(frozen=True)
class Lost:
    """Answer for an item whose worker raised, died or took too long.

    Attributes
    ----------
    error : str
        Description of the error, in one line.
    seconds : float
        Time until the error.
    """

    error: str
    seconds: float


def in_workers(
    function: Callable[[Any], Any], items: Iterable[Any], *, jobs: int = 1, time_limit: float = math.inf
) -> Generator[tuple[Any, Any], None, None]:
    """Yield ``(item, function(item))`` in the order of completion, each computed in one of ``jobs`` processes.

    Parameters
    ----------
    function : callable
        A function of a module, so that a new process can import it, or a ``functools.partial`` of one.
    items : iterable
        Taken one at a time, in their order; anything that can be pickled.
    jobs : int
        Number of processes.
    time_limit : float
        Seconds after which the process of an item is ended; the time for imports does not count.

    Yields
    ------
    tuple
        The item and its value, or a :class:`Lost` where there is none.

    Closing the iterator ends the workers; those at work are killed.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    return _answers(function, iter(items), jobs, time_limit)


def _answers(
    function: Any, items: Iterator[Any], jobs: int, time_limit: float
) -> Generator[tuple[Any, Any], None, None]:
    workers: list[_Worker] = []
    waiting = True
    try:
        while True:
            for place in range(jobs if waiting else 0):
                if place < len(workers) and workers[place].busy:
                    continue
                for item in items:
                    if place == len(workers):
                        workers.append(_Worker(function))
                    workers[place].start(item)
                    break
                else:
                    waiting = False
                    break
            if not any(worker.busy for worker in workers):
                return
            answer = _next_answer(workers, time_limit)
            if answer is not None:
                yield answer
    finally:
        for worker in workers:
            worker.stop()


@dataclass(eq=False)
class _Worker:
    """A process that works on one item after the other and is replaced when it dies or is too slow."""

    function: Any
    process: Any = None
    pipe: Connection | None = None
    busy: bool = False
    item: Any = None
    since: float = 0.0

    def start(self, item: Any) -> None:
        if self.process is None:
            context = get_context("spawn")  # a fork would copy the threads' locks of torch and OpenMP
            self.pipe, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(other, self.function), daemon=True)
            self.process.start()
            other.close()
            self.since = math.inf  # until the process reports that its imports are done
        else:
            self.since = time.monotonic()
        assert self.pipe is not None
        self.item, self.busy = item, True
        self.pipe.send(item)

    def receive(self) -> Any:
        assert self.pipe is not None
        return self.pipe.recv()

    def finish(self) -> Any:
        """Mark the worker as idle and return its item."""
        item, self.item, self.busy = self.item, None, False
        return item

    def give_up(self, error: str) -> tuple[Any, Lost]:
        lost = Lost(error, max(0.0, time.monotonic() - self.since))
        self.stop()
        return self.finish(), lost

    def stop(self) -> None:
        """End the process: kill it if it is at work; an idle one ends when its pipe closes."""
        if self.busy and self.process is not None:
            self.process.kill()
        if self.pipe is not None:
            self.pipe.close()
        if self.process is not None:
            self.process.join()
        self.process = self.pipe = None


def _next_answer(workers: Sequence[_Worker], time_limit: float) -> tuple[Any, Any] | None:
    """Return the answer of the first worker that has one, dies or passes the limit; None if none did for a while."""
    by_pipe: dict[Any, _Worker] = {worker.pipe: worker for worker in workers if worker.busy}
    for ready in wait(list(by_pipe), timeout=_POLL_SECONDS):
        worker = by_pipe[ready]
        try:
            kind, value = worker.receive()
        except (EOFError, ConnectionResetError):
            worker.process.join()
            return worker.give_up(f"the process died with exit code {worker.process.exitcode}")
        if kind == _READY:
            worker.since = time.monotonic()
            continue
        return worker.finish(), value
    for worker in by_pipe.values():
        if time.monotonic() - worker.since > time_limit:
            return worker.give_up(f"took longer than {time_limit:g} seconds")
    return None


def _serve(pipe: Connection, function: Callable[[Any], Any]) -> None:
    """Run the loop of a worker process: with one thread and without output, answer each item that is received."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts and ends the workers
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))  # for libraries that are loaded later
    torch.set_num_threads(1)
    with open(os.devnull, "w") as nowhere, threadpool_limits(1):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # a stream without a file prints nowhere already
                os.dup2(nowhere.fileno(), stream.fileno())
        pipe.send((_READY, None))
        while True:
            try:
                item = pipe.recv()
            except EOFError:
                return
            except Exception as error:  # the item refers to an object that this process cannot import
                pipe.send(("answer", Lost(one_line(error), 0.0)))
                continue
            begin = time.monotonic()
            try:
                value = function(item)
            except Exception as error:
                value = Lost(one_line(error), time.monotonic() - begin)
            pipe.send(("answer", value))


def _exit_with_parent() -> None:
    """End this process when its parent has ended without closing the pipe, such as by a kill."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
