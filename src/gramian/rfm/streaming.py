"""Estimators fitted to, and predicting, tables that are not in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from gramian.core import format_bytes, resolve_memory, threads, wide_dtype
from gramian.core.rows import RowSource
from gramian.rfm.callbacks import Watch
from gramian.rfm.data import Array, Scaler
from gramian.rfm.judged import Judged
from gramian.rfm.large import fit_large
from gramian.rfm.settings import Fitted, Settings
from gramian.rfm.streams import Prepare, Reading, Target, rows_of, sums_of
from gramian.solvers.forecast import forecast
from gramian.tables.blocks import Blocks, as_blocks

IN_MEMORY_ROWS = 30_000
"""Tables up to this many rows are simply read, wherever they are."""
_COPIES = 4
"""Copies of a table, in float64, that are alive while it is read and standardised; with one to spare."""
_SAMPLE_ROWS = 20_000
"""Rows from which levels of categories, medians and the scale of the target are learned."""


class Streams:
    """What an estimator inherits to take tables that are not in memory."""

    def _fit_any(self: Any, X: Any, y: Any, sample_weight: Any, eval_set: Any, watch: Watch) -> None:
        """Fit to a table wherever it is; one that has room in memory is read first."""
        blocks = as_blocks(X, y, sample_weight)
        if blocks is not None:
            there = blocks.elsewhere and self.cluster is not None
            if blocks.n_rows > IN_MEMORY_ROWS and (there or not has_room(blocks, self.max_memory)):
                self._fit_blocks(blocks, eval_set, watch)
                return
            whole = blocks.whole()
            X, y, sample_weight = whole.X, whole.y, whole.weights
        self._fit_rows(self._ready(X, y, sample_weight, eval_set), watch)

    def _fit_blocks(self: Any, blocks: Blocks, eval_set: Any, watch: Watch) -> None:
        self._forget()
        n, seed = blocks.n_rows, self._seed()
        chosen = np.random.default_rng(seed).choice(n, min(n, _SAMPLE_ROWS), replace=False)
        sample = blocks.rows(np.sort(chosen))
        rows = self._read_X(sample.X, reset=True)
        means = rows.mean(axis=0)
        reading = Reading(self.encoder_, means, getattr(self, "feature_names_in_", None))
        target: Target = self._target_of(blocks, sample.y, Scaler.fit(rows, np.ones(len(rows))).apply(rows))
        about = np.concatenate([means, target.codes(sample.y).mean(axis=0)])
        sums = sums_of(blocks, reading, target, about)
        d = len(means)
        self._column_means = means + sums.first[:d] / sums.weight
        self._scaler = self._with_encoder_scales(
            sums.scaler(about, slice(0, d), self._centered(), bool(self.standardize)), bool(self.standardize)
        )
        self._target_scaler = sums.scaler(about, slice(d, None), self.fit_intercept, self._scales_target)
        device = torch.device("cpu")  # blocks come from files and other processes
        dtype = self._dtype(self._scaler.apply(rows), device)
        settings = self._settings(n, d, len(about) - d, device, dtype, streamed=True)
        _check_room(settings, n, d, len(about) - d)
        evaluation = self._read_eval_set(eval_set)
        if evaluation is not None:
            evaluation = (
                torch.as_tensor(self._scaler.apply(evaluation[0]), dtype=dtype),
                torch.from_numpy(self._target_scaler.apply(target.codes(evaluation[1]))).to(wide_dtype(device)),
            )
        self.row_index_ = np.arange(n)
        journal = self._journal(sums.digest, evaluation)
        folder = None if self.checkpoint is None else Path(self.checkpoint)
        prepare = Prepare(reading, target, self._scaler, self._target_scaler, dtype)
        with rows_of(blocks, prepare, folder, here=self.cluster is None) as source, threads(self._threads(n)):
            fitted = fit_large(settings, source, evaluation, watch, journal, self._pool())
            self._take_over(fitted, None if fitted.rows is None else fitted.rows.numpy())
            self._seen_by_none = self._judged_there(fitted, source, evaluation)

    def _judged_there(self: Any, fitted: Fitted, source: RowSource, evaluation: Any) -> Judged | None:
        def units(values: torch.Tensor) -> Array:
            undone: Array = self._target_scaler.undo(values.cpu().numpy().astype(np.float64))
            return undone

        if fitted.evaluated is not None:
            targets = units(evaluation[1])
            return Judged(units(fitted.evaluated), targets, np.ones(len(targets)), "evaluation set")
        if fitted.held_out is None:
            return None
        there = source.take(fitted.held_out.rows)
        weights = np.ones(len(there)) if there.weights is None else there.weights.numpy()
        return Judged(units(fitted.held_out.outputs), units(there.Y), weights, "split")


def has_room(blocks: Blocks, max_memory: Any) -> bool:
    """Whether the whole table can be read into the memory that may be used."""
    table = 8 * blocks.n_rows * (blocks.n_columns + 1)
    return _COPIES * table <= resolve_memory(max_memory, torch.device("cpu"))


def _check_room(settings: Settings, n: int, d: int, outputs: int) -> None:
    """A solver the user has named may want all rows in memory: they must have room there."""
    need = forecast(settings.solver, n, d, outputs, settings.dtype).peak
    if settings.solver.n_centers(n) == n and need > settings.max_bytes:
        raise ValueError(
            f"solver={settings.solver!r} takes all {n} rows into memory, {format_bytes(need)}, and max_memory is "
            f'{format_bytes(settings.max_bytes)}: use solver="nystrom"'
        )
