"""Run cells in worker processes and keep their records: resumable, and no method can end the run.

The file holds one JSON object a line; only the parent writes it, a line at a time. A worker that raises, dies or takes
too long costs its cell and nothing else. Cells whose key is in the file are not run again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from gramian.bench.cell import Cell, Record, describe, failed, run_cell
from gramian.bench.methods import Method, find_method
from gramian.bench.tasks import SUITES, Folder
from gramian.core.workers import Lost, in_workers

log = logging.getLogger(__name__)
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
    # The name travels where it says enough: methods made by functions within functions cannot be pickled.
    items = [(cell, None if _find_or_none(cell.method) is method else method) for cell, method in waiting]
    answers = in_workers(partial(_run, folder=folder), items, jobs=jobs, time_limit=time_limit)
    with closing(answers), _open_for_append(out) as file:
        for (cell, _), record in answers:
            if isinstance(record, Lost):
                task = SUITES[cell.suite].task(cell.set, cell.split, folder)
                record = describe(cell, find(cell.method), task) | failed(task, record.error, record.seconds)
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
    return finished


def _run(item: tuple[Cell, Method | None], folder: Folder) -> Record:
    cell, method = item
    return run_cell(cell, find_method(cell.method) if method is None else method, folder)


def _find_or_none(name: str) -> Method | None:
    """:func:`find_method`, or None for a name it does not know."""
    with suppress(ValueError):
        return find_method(name)
    return None


def _open_for_append(path: Path) -> Any:
    """The file, at the start of a new line: the last one may have been cut short."""
    whole = not path.exists() or path.stat().st_size == 0 or path.read_bytes()[-1:] == b"\n"
    file = path.open("a", encoding="utf-8")
    if not whole:
        file.write("\n")
    return file
