"""Fits on a Dask cluster: its workers compute sums over blocks of rows, folds and bagged models.

May import ``rfm`` and everything below. Needs ``gramian[dask]``. Users call nothing here: inside a ``Client`` the
estimators use it, and ``fit`` and ``predict`` accept Dask arrays and frames. See ``docs/dask.md``.

>>> from gramian.distributed import current
>>> current() is None  # no client, no cluster
True
"""

try:
    from gramian.distributed.cluster import Cluster, current
    from gramian.distributed.collections import DaskBlocks, as_blocks
    from gramian.distributed.rows import ClusterRows
except ImportError as error:  # pragma: no cover
    raise ImportError("a Dask cluster needs dask and distributed: pip install 'gramian[dask]'") from error

__all__ = ["Cluster", "ClusterRows", "DaskBlocks", "as_blocks", "current"]
