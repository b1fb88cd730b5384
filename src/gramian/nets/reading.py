"""Repeated reading of the same data: random orders are drawn alike each time, and other samples are noticed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType

import torch
from torch import Tensor

from gramian.core import wide_dtype
from gramian.nets.batches import Batch

_ENTRIES = 256
"""Entries of a sample, evenly spaced, by which samples are compared: all pixels of pictures would take seconds."""
_LARGEST = 1e15
"""Entries are cut off here, so that their squares have finite sums in float32 too (a mask may hold infinities)."""


@dataclass
class Totals:
    """Number of samples and entries, and sums over some entries of each: equal for the same samples in any order.

    >>> one, two = Totals(), Totals()
    >>> for rows in torch.arange(6.0).reshape(3, 2):
    ...     one.add(Batch((rows,), {}, None, 2))
    >>> two.add(Batch((torch.arange(6.0).flip(0),), {}, None, 6))
    >>> one.agree(two), one.agree(Totals())
    (True, False)
    """

    samples: int = 0
    entries: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, batch: Batch) -> None:
        """Add the inputs and the target of a batch."""
        self.samples += batch.size
        for T in batch.tensors():
            if T.layout != torch.strided or T.is_nested:
                continue  # a sparse or nested tensor counts by its number of samples only
            self.entries += T.numel()
            values = _some_entries(T.detach(), batch.size).to(wide_dtype(T.device))
            values = values.nan_to_num(0.0, _LARGEST, -_LARGEST).clamp(-_LARGEST, _LARGEST)
            self.total += float(values.sum())
            self.squares += float(values.square().sum())

    def agree(self, other: Totals) -> bool:
        """Tell whether both are sums over the same samples, up to rounding."""
        if (self.samples, self.entries) != (other.samples, other.entries):
            return False
        # The rounding of a sum is relative to its terms, which may cancel, and Σ|x| ≤ √(N Σx²).
        size = math.sqrt(self.entries * max(self.squares, other.squares))
        return math.isclose(self.squares, other.squares, rel_tol=1e-9) and abs(self.total - other.total) <= 1e-9 * size


def _some_entries(T: Tensor, samples: int) -> Tensor:
    """Return evenly spaced entries of every sample, the same ones of each, or of a tensor that all samples share."""
    real = torch.view_as_real(T) if T.is_complex() else T
    rows = real.reshape(samples if T.shape[:1] == (samples,) else 1, -1)
    return rows[:, :: max(1, rows.shape[1] // _ENTRIES)]


class Reader:
    """Context manager that reads the data from its beginning each time it is called.

    A shuffled loader draws the order of the first reading each time: the state of torch's generator, and that of the
    generators of the loader and its samplers, is set back before every reading, and the latter also on leaving. After
    a reading, ``same`` tells whether it had the samples of the first one, in any order.

    >>> data = torch.utils.data.DataLoader(torch.arange(8.0), batch_size=8, shuffle=True)
    >>> def read():
    ...     return (Batch((rows,), {}, None, len(rows)) for rows in data)
    >>> with torch.random.fork_rng(), Reader(read, data) as reader:
    ...     first, second = ([batch.args[0].tolist() for batch in reader()] for _ in range(2))
    >>> first == second, reader.same
    (True, True)
    """

    def __init__(self, read: Callable[[], Iterator[Batch]], data: object):
        self._read = read
        self._state = torch.get_rng_state()
        self._generators = [(generator, generator.get_state()) for generator in _generators(data)]
        if getattr(data, "persistent_workers", False) and getattr(data, "_iterator", None) is None:
            # Only the first iterator of such a loader draws a seed for its workers before the order of the samples.
            # That it exists already is known from a private attribute of torch's loader.
            iter(data)  # type: ignore[call-overload]
            torch.set_rng_state(self._state)
            self._restore()
        self._first: Totals | None = None
        self.same = True

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def __call__(self) -> Iterator[Batch]:
        torch.set_rng_state(self._state)
        self._restore()
        found = Totals()
        for batch in self._read():
            found.add(batch)
            yield batch
        if self._first is None:
            self._first = found
        else:
            self.same = self._first.agree(found)

    def _restore(self) -> None:
        for generator, state in self._generators:
            generator.set_state(state)


def _generators(data: object) -> list[torch.Generator]:
    """The generators of a DataLoader and of its samplers, each once."""
    sampler, batch_sampler = (getattr(data, name, None) for name in ("sampler", "batch_sampler"))
    owners = (data, sampler, batch_sampler, getattr(batch_sampler, "sampler", None))
    found = (getattr(owner, "generator", None) for owner in owners)
    return list({id(one): one for one in found if isinstance(one, torch.Generator)}.values())
