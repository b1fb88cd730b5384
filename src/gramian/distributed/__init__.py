"""The same fits on a Dask cluster: sums over blocks of rows, folds and bags are done by its workers.

May import ``rfm`` and everything below. Needs ``gramian[dask]``. There is nothing to call: inside a ``Client`` the
estimators find it, and Dask arrays and frames are taken by ``fit`` and ``predict`` as they are. See ``docs/dask.md``.

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
