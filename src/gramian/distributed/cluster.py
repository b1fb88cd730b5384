"""Dask cluster as a :class:`~gramian.core.pool.Pool`.

Everything is submitted as a task, data included. A task that is lost with a worker is computed again from its inputs;
scattered data would be lost.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
from distributed import Client, Future, as_completed, default_client, get_worker

from gramian.core.rows import Rows, RowSource
from gramian.core.tiles import spans
from gramian.distributed.rows import ClusterRows

_LEAST_ROWS = 4096
"""Rows of a block, at least."""
_MOST_BLOCKS = 4096
"""Blocks of a table, at most. Their size depends on the table alone: the same bits on any number of machines."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Workers of a Dask client, which compute independent pieces of work and hold rows."""

    client: Client
    remote: bool = True

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """See :meth:`gramian.core.pool.Pool.run`."""
        held = self.held(shared)
        futures = {self.client.submit(function, held, item, pure=False): i for i, item in enumerate(items)}
        try:
            for future in as_completed(futures, loop=self.client.loop):  # type: ignore[no-untyped-call]
                yield futures[future], future.result()
        finally:
            pending = [future for future in futures if not future.done()]  # type: ignore[no-untyped-call]
            self.client.cancel(pending)  # type: ignore[no-untyped-call]

    def held(self, value: Any) -> Future[Any]:
        """Put a value on the cluster and return its future; an equal value is the same task, so it is sent once.

        Dask chooses the worker. A task with a preferred worker would wait for ever once all workers were replaced.
        """
        name = hashlib.sha256(cloudpickle.dumps(value)).hexdigest()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a large value is sent only once
            return self.client.submit(_itself, value, key=f"gramian-{name}")

    def source(self, rows: Rows) -> RowSource:
        """Distribute rows in the memory of this process over the workers, in blocks."""
        size = max(_LEAST_ROWS, -(-len(rows) // _MOST_BLOCKS))
        blocks = [
            Rows(
                rows.X[part].clone(),
                rows.Y[part].clone(),
                None if rows.weights is None else rows.weights[part].clone(),
                part.start,
            )
            for part in spans(len(rows), size)
        ]
        futures = [self.held(block) for block in blocks]
        return ClusterRows.of(futures, blocks[0], [len(block) for block in blocks], self.held)


def current() -> Cluster | None:
    """Return the cluster of the current client, as ``dask.compute`` finds it; None without one.

    Inside a task on a worker the result is None: work submitted from a task could wait for the thread of that task.
    """
    try:
        get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        client = default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        return None
    return None if client.asynchronous else Cluster(client)


def _itself(value: Any) -> Any:
    return value
