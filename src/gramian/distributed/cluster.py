"""The cluster as a :class:`~gramian.core.pool.Pool`.

Everything is handed to it as a task, data too. A task that is lost with a worker is done again from what it was made
of; data that was scattered would be gone.
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

_BLOCKS_PER_THREAD = 4
"""So many blocks for each thread of the cluster: enough to share them out again when a worker is slow or gone."""
_LEAST_ROWS = 2048


@dataclass(frozen=True, eq=False)
class Cluster:
    """Workers of a Dask client, to do independent pieces of work and to hold rows."""

    client: Client
    remote: bool = True

    def run(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """See :meth:`gramian.core.pool.Pool.run`."""
        held = self.held(shared)
        futures = {self.client.submit(function, held, item, pure=False): i for i, item in enumerate(items)}
        try:
            for future in as_completed(futures, loop=self.client.loop):
                yield futures[future], future.result()
        finally:
            self.client.cancel([future for future in futures if not future.done()])

    def held(self, value: Any) -> Future:
        """A value on the cluster, sent once: the same value again is the same task."""
        name = hashlib.sha256(cloudpickle.dumps(value)).hexdigest()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # it is large, and it is sent once
            return self.client.submit(_itself, value, key=f"gramian-{name}")

    def source(self, rows: Rows) -> RowSource:
        """Rows that are in memory here, spread over the workers in blocks."""
        threads = max(1, sum(self.client.nthreads().values()))
        size = max(_LEAST_ROWS, -(-len(rows) // (_BLOCKS_PER_THREAD * threads)))
        blocks = [
            Rows(
                rows.X[part].clone(),
                rows.Y[part].clone(),
                None if rows.weights is None else rows.weights[part].clone(),
                part.start,
            )
            for part in spans(len(rows), size)
        ]
        return ClusterRows.of([self.held(block) for block in blocks], blocks[0], [len(b) for b in blocks], self.held)


def current() -> Cluster | None:
    """The cluster of the client this code runs inside of, as ``dask.compute`` finds it; None where there is none.

    A task on a worker gets None: it is a piece of work itself, and what it waited for might wait for its place.
    """
    try:
        get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        client = default_client()
    except ValueError:
        return None
    return None if client.asynchronous else Cluster(client)


def _itself(value: Any) -> Any:
    return value
