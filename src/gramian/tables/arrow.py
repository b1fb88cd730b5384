"""Parquet and Arrow files as blocks of rows. Needs pyarrow and pandas (``gramian[tables]``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gramian.tables.blocks import BLOCK_ROWS, Block, Blocks, check_rows
from gramian.tables.types import TargetLike

_CONVERSIONS = (ArithmeticError, LookupError, NotImplementedError, TypeError, ValueError)
_INDEX = re.compile(r"__index_level_\d+__")
"""Names under which pandas stores its index."""
try:
    import pyarrow.dataset
except ImportError as error:  # pragma: no cover
    raise ImportError("Parquet and Arrow tables need pyarrow: pip install 'gramian[tables]'") from error


@dataclass(frozen=True, eq=False)
class ArrowBlocks(Blocks):
    """Blocks of an Arrow dataset, read batch by batch; the target is one of its columns, or a separate array.

    >>> import pyarrow as pa
    >>> blocks = ArrowBlocks.of(pa.table({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}), "b")
    >>> blocks.whole().X.columns.tolist(), blocks.whole().y
    (['a'], array([4., 5., 6.]))
    """

    dataset: Any
    target: str | None = None
    y: TargetLike = None
    weight: str | None = None
    weights: Any = None
    size: int = BLOCK_ROWS

    @classmethod
    def of(cls, source: Any, y: TargetLike = None, weights: Any = None) -> ArrowBlocks:
        """Make blocks from a path (a file, or a folder of files), a Dataset, or a Table."""
        if isinstance(source, Path):
            ending = (
                next((p.suffix for p in sorted(source.rglob("*")) if p.suffix), "")
                if source.is_dir()
                else source.suffix
            )
            dataset = pyarrow.dataset.dataset(source, format="parquet" if ending in (".parquet", ".pq") else "ipc")
        elif isinstance(source, pyarrow.dataset.Dataset):
            dataset = source
        elif isinstance(source, pyarrow.Table | pyarrow.RecordBatch):
            dataset = pyarrow.dataset.dataset(source)
        else:
            raise ValueError(
                f"X is a {type(source).__name__} of pyarrow: pass a Table, a Dataset, or the path of a file"
            )
        named = {}
        for what, values in (("y", y), ("sample_weight", weights)):
            if isinstance(values, str):
                if values not in dataset.schema.names:
                    raise ValueError(
                        f"{what}={values!r} is no column of X, which has {', '.join(dataset.schema.names)}"
                    )
                named[what] = values
        blocks = cls(
            dataset,
            named.get("y"),
            None if "y" in named else y,
            named.get("sample_weight"),
            None if "sample_weight" in named else weights,
        )
        check_rows(blocks.n_rows, blocks.y, blocks.weights)
        return blocks

    @property
    def n_rows(self) -> int:
        return int(self.dataset.count_rows())

    @property
    def n_columns(self) -> int:
        return len(self.dataset.schema.names)

    def each(self, function: Callable[[Block], Any]) -> Iterator[Any]:
        start = 0
        # Read only one batch ahead: by default Arrow reads many fragments at once.
        batches = self.dataset.to_batches(batch_size=self.size, batch_readahead=1, fragment_readahead=1)
        for batch in batches:
            if not batch.num_rows:
                continue
            frame = _to_pandas(batch)
            part = slice(start, start + len(frame))
            y = _column(frame, self.target, self.y, part)
            weights = _column(frame, self.weight, self.weights, part)
            own = [name for name in (self.target, self.weight) if name is not None]
            yield function(Block(frame.drop(columns=own), y, weights, start))
            start = part.stop


def _to_pandas(batch: Any) -> Any:
    """Convert a batch; an error names the column that cannot be converted."""
    try:
        return batch.to_pandas()
    except _CONVERSIONS:
        # pandas wrote types into the metadata that it cannot read itself, such as dictionaries of Arrow.
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                column.to_pandas()
            except _CONVERSIONS as error:
                raise ValueError(
                    f"column {name!r} of Arrow type {column.type} cannot be read ({error}): leave it out, or convert "
                    "it to numbers, dates or text"
                ) from error
        frame = batch.to_pandas(ignore_metadata=True)
        return frame.drop(columns=[name for name in frame.columns if _INDEX.fullmatch(str(name))])


def _column(frame: Any, name: str | None, values: Any, part: slice) -> Any:
    if name is not None:
        return frame[name].to_numpy()
    return None if values is None else values[part]
