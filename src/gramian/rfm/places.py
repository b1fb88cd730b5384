"""Where the work of a fit is done, and where what is finished is kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.core.plugins import plugin
from gramian.core.pool import Pool, local_pool
from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.core.version import __version__
from gramian.rfm.journal import Journal

_NO_MATTER = {"checkpoint", "cluster", "encoder", "max_memory", "n_jobs", "n_threads", "time_limit", "verbose"}
"""Arguments that change how a fit is done, or are in its rows already: a checkpoint serves whatever they are."""


class Places:
    """What an estimator inherits to work on a cluster or in threads, and to go on after a crash."""

    n_jobs: Any
    cluster: Any
    checkpoint: Any
    random_state: Any

    def _pool(self) -> Pool:
        """Where independent pieces of work are done: the cluster this code runs inside of, or threads of our own."""
        if not (self.cluster is None or (isinstance(self.cluster, str) and self.cluster == "auto")):
            raise ValueError(f'cluster must be "auto" or None, got {self.cluster!r}')
        dask = plugin("distributed")
        found: Pool | None = None if dask is None or self.cluster is None else dask.current()
        return local_pool(self.n_jobs) if found is None else found

    @staticmethod
    def _source(rows: Rows, pool: Pool) -> RowSource:
        """Many rows as a large fit reads them: from memory, or from the workers of a cluster."""
        spread = getattr(pool, "source", None)
        source: RowSource = MemoryRows(rows) if spread is None else spread(rows)
        return source

    def _journal(self: Any, *rows: Any) -> Journal:
        """The checkpoint of a fit of this estimator to these rows (or a digest of them)."""
        if self.checkpoint is None:
            return Journal()
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError(f"checkpoint needs an integer as random_state to go on from, got {self.random_state!r}")
        options = {name: value for name, value in self.get_params(deep=False).items() if name not in _NO_MATTER}
        return Journal.open(self.checkpoint, (__version__, type(self).__name__, options, rows))
