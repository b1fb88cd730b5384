"""The plan of a fit: everything that depends on the number of rows, decided in one place before anything is computed.

``docs/scale.md`` prints its table from :meth:`Plan.for_size`, and a fitted estimator shows its own plan as ``plan_``.
The measurements behind the numbers are in ``docs/scale.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch

from gramian.core import format_bytes
from gramian.core.memory_forecast import MemoryForecast, fits_within
from gramian.core.rows import Rows
from gramian.display import Column, Renderable, Section, Table
from gramian.rfm.options import AnySolver, TreePartition
from gramian.rfm.training.solver_choice import (
    AGOP_ROWS,
    LARGE_ROWS,
    PART_ROWS,
    SolverChoice,
    choose_part_solvers,
    choose_solver,
    choose_streamed_solver,
    fit_forecast,
    fits_side_by_side,
    forecast,
    leaf_solver,
    streamed_forecast,
    wide_solves,
)
from gramian.solvers import Solver

MIN_FOLD_ROWS = 10
"""With fewer rows no round can be compared with another, and kernel ridge regression (round 0) is selected."""
FIVE_FOLD_ROWS = 600
"""Up to this many rows all five folds are cheap; beyond it candidates are compared on three splits."""
SPLIT_SHARE = 0.7
"""Share of the rows to which the candidates of a split are fitted; the others compare them."""
SPLIT_ROWS = 1300
"""Training rows of a split, at most: more rows change the order of the candidates little, and cost their cube."""
SPLIT_HOLDOUT_ROWS = 3000
"""Held-out rows of a split, at most."""
FEATURE_ROWS = 2500
"""Rows on which the rounds are repeated after splits, at most."""
SCREEN_ROWS = 4000
"""Rows on which the candidates of a large fit are screened."""
HOLDOUT_ROWS = 5000
"""Rows that a large fit holds out, at most; a tenth of fewer than 50,000."""
PROBE_ROWS = 1500
"""Rows of a tree's node on which the direction of its split is found."""
LOO_ROWS = 400
"""Rows on which the leave-one-out error selects ridge and bandwidth, at most; beyond 30,000 rows there are 1,000."""
MEDIAN_ROWS = 300
"""Rows from which the median distance is taken, at most."""
ONE_THREAD_ROWS = 1000
"""Up to this many rows a second thread costs more than it saves, and on a busy machine a hundred times more."""
IN_MEMORY_ROWS = 30_000
"""Tables of at most this many rows are read into memory, wherever they are stored."""
ENCODER_ROWS = 20_000
"""Rows from which levels of categories, medians and the scale of the target are learned where a table is streamed."""
_TABLE_COPIES = 4
"""Copies of a table, in float64, that exist while it is read and standardised; with one to spare."""

Validation = Literal["folds", "splits", "holdout", "evaluation set", "none"]
Refit = Literal["none", "all rows", "growing parts"]


@dataclass(frozen=True, repr=False)
class Plan(Renderable):
    """Everything that depends on the number of rows, with the reason for the solver.

    Attributes
    ----------
    n, d, outputs : int
        Size of the encoded training set.
    dtype : torch.dtype
        Working format.
    max_bytes, part_bytes : int
        Memory for the fit, and for solves on a part of the rows while all of them are in memory.
    solver, feature_solver : Solver or TreePartition
        For the final model, and for rounds that only learn M.
    why : str
        The reason for the solver.
    validation : "folds", "splits", "holdout", "evaluation set" or "none"
        How rounds and candidates are compared: on fifths of the rows, on other rows than small parts, on rows held out
        of the whole fit, on the user's own rows, or not at all.
    n_splits, screen_rows, holdout_rows : int
        Folds or splits; rows to which candidates are fitted for the comparison (0: all); rows held out of each split.
    refit : "none", "all rows" or "growing parts"
        How the selected candidates are fitted after the comparison: not at all where they were fitted to all rows, else
        with their rounds repeated on all rows, or with M learned on growing parts and one last solve on all rows.
    agop_rows : int or None
        Rows over which automatic updates average gradients; None: all.
    memory : MemoryForecast
    workers : int
        Models that are fitted side by side, each on one thread.
    robust : bool
        The loss is Huber's, not the squared error.
    split_by : "", "groups" or "time"
        The condition on splits: whole groups, or held-out rows that come later.

    >>> plan = Plan.for_size(100_000, 50, 1, budget=10**9)
    >>> plan.validation, plan.refit, plan.solver
    ('holdout', 'growing parts', TreePartition(leaf_rows=8000, overlap=0.1, seed=0, workers=None, features='shared'))
    """

    n: int
    d: int
    outputs: int
    dtype: torch.dtype
    max_bytes: int
    part_bytes: int
    solver: AnySolver
    feature_solver: AnySolver
    why: str
    forced: bool
    validation: Validation
    n_splits: int
    screen_rows: int
    holdout_rows: int
    refit: Refit
    agop_rows: int | None
    memory: MemoryForecast
    workers: int = 1
    robust: bool = False
    split_by: str = ""

    @classmethod
    def for_size(
        cls,
        n: int,
        d: int,
        outputs: int,
        budget: int,
        *,
        dtype: torch.dtype = torch.float32,
        solver: AnySolver | None = None,
        compare: bool = True,
        evaluation_set: bool = False,
        streamed: bool = False,
        workers: int = 1,
        candidates: int = 2,
        models: int = 0,
        table_rows: int | None = None,
    ) -> Plan:
        """Decide what is done with n rows of d columns and ``outputs`` targets within ``budget`` bytes.

        Parameters
        ----------
        solver : Solver or TreePartition, optional
            The user's own; selected by size and budget by default.
        compare, evaluation_set : bool
            There is more than one round or candidate to select from; the user's own rows compare them.
        streamed : bool
            The rows are read in blocks from outside memory.
        workers : int
            Threads that may fit models side by side; fewer are used where their memory does not fit.
        candidates : int
            Models that may be fitted to all rows in the end.
        models : int
            Models that are compared, one for each round of each candidate; they are in memory until some are selected.
        table_rows : int, optional
            Rows of the user's table, where equal ones are merged into n rows.
        """
        if solver is None:
            choose = choose_streamed_solver if streamed else choose_solver
            chosen = choose(n, dtype, budget, d, outputs)
        else:
            chosen = SolverChoice(solver, solver, "given")
        if isinstance(chosen.solver, TreePartition) and not chosen.solver.splits(n):  # one leaf holds all rows
            chosen = replace(chosen, solver=leaf_solver(n), feature_solver=leaf_solver(n))
        solver = chosen.solver
        memory = (streamed_forecast if streamed else fit_forecast)(solver, n, dtype, budget, d, outputs)
        shape = d, outputs, dtype
        rows_bytes = forecast(solver, min(n, PART_ROWS) if streamed else n, *shape).rows
        large = streamed or n > LARGE_ROWS or isinstance(solver, TreePartition) or solver.n_centers(n) < n
        validation: Validation = "none"
        n_splits = screen_rows = holdout_rows = 0
        if evaluation_set:
            validation = "evaluation set"
        elif large:
            validation, holdout_rows = "holdout", min(HOLDOUT_ROWS, n // 10)
        elif compare and (table_rows or n) >= MIN_FOLD_ROWS:
            validation, n_splits, screen_rows, holdout_rows = "folds", 5, n - -(-n // 5), -(-n // 5)
            if n > FIVE_FOLD_ROWS:
                validation, n_splits, screen_rows = "splits", 3, min(SPLIT_ROWS, int(SPLIT_SHARE * n))
                holdout_rows = min(SPLIT_HOLDOUT_ROWS, n - screen_rows)
        if large:
            screen_rows = min(SCREEN_ROWS, n - holdout_rows)
        held = (screen_rows or n) + max(1, n_splits) * holdout_rows  # coefficients and predictions of a model
        memory = replace(memory, rows=memory.rows + models * held * outputs * 8)
        if large or streamed:
            workers, memory = 1, memory.with_large_blocks()
        else:
            part, refits = screen_rows or n, min(workers, candidates) if fits_side_by_side(solver, n) else 1
            on_part, on_all = forecast(leaf_solver(part), part, *shape), forecast(solver, n, *shape)
            screening = part, on_part, workers, wide_solves(dtype, d, workers)
            refit = n, on_all, refits, wide_solves(dtype, d, refits)
            memory, workers = fits_within(memory, (screening, refit), budget, d)
        plan = cls(
            n=n,
            d=d,
            outputs=outputs,
            dtype=dtype,
            max_bytes=budget,
            part_bytes=max(budget - rows_bytes, 1),
            solver=solver,
            feature_solver=chosen.feature_solver,
            why=chosen.why,
            forced=chosen.forced,
            validation=validation,
            n_splits=n_splits,
            screen_rows=screen_rows,
            holdout_rows=holdout_rows,
            refit="growing parts" if large else "all rows" if n_splits else "none",
            agop_rows=AGOP_ROWS if n > 2 * AGOP_ROWS else None,
            memory=memory,
            workers=workers,
        )
        if streamed:
            plan.check_streamed_rows()
        return plan

    @property
    def large(self) -> bool:
        """Features are learned on a part of the rows, or the solver uses only some of them as centres."""
        return self.refit == "growing parts"

    @property
    def screen_time_share(self) -> float:
        """Share of a time limit after which no further candidate is screened."""
        return 0.3 if self.large or self.n_splits else 0.6

    @property
    def split_time_share(self) -> float:
        """Share of a time limit after which candidates are not compared on further splits."""
        return 0.5

    @property
    def final_solver(self) -> Solver:
        """The solver of the final model, where it is not a tree."""
        assert isinstance(self.solver, Solver), "a tree is fitted leaf by leaf"
        return self.solver

    def screen_solvers(self, rows: Rows, coarse: bool) -> tuple[Solver, Solver]:
        """Return the solvers of the screening on these rows: for the last round, and for the rounds before it.

        ``coarse`` uses the latter for all rounds: the selected one alone is solved to the end afterwards.
        """
        if self.large or self.n_splits:
            return self.part_solvers(rows)
        assert isinstance(self.feature_solver, Solver), "a tree is fitted leaf by leaf"
        return self.feature_solver if coarse else self.final_solver, self.feature_solver

    def part_solvers(self, rows: Rows, at_once: int = 1) -> tuple[Solver, Solver]:
        """Return the solvers for a part of the rows, where ``at_once`` such parts are solved at a time."""
        d, outputs = rows.X.shape[1], rows.Y.shape[1]
        return choose_part_solvers(len(rows), self.dtype, self.part_bytes // at_once, d, outputs)

    def growing_parts(self, last: int, available: int) -> list[int]:
        """Return the numbers of rows on which rounds 0, …, last − 1 are solved: a geometric sequence.

        >>> Plan.for_size(100_000, 5, 1, budget=10**9).growing_parts(3, 90_000)
        [4000, 8944, 20000]
        """
        most = min(PART_ROWS, available)
        if last <= 1:
            return [most] * last
        first = self.screen_rows
        return [min(most, round(first * (most / first) ** (t / (last - 1)))) for t in range(last)]

    def check_streamed_rows(self) -> None:
        """Raise a ValueError where a solver that the user has named needs all rows in memory and they do not fit."""
        need = forecast(self.solver, self.n, self.d, self.outputs, self.dtype).peak
        if self.solver.n_centers(self.n) == self.n and need > self.max_bytes:
            raise ValueError(
                f"solver={self.solver!r} takes all {self.n} rows into memory, {format_bytes(need)}, and max_memory is "
                f'{format_bytes(self.max_bytes)}: use solver="nystrom"'
            )

    def facts(self) -> list[tuple[str, str]]:
        """Describe the plan in words: pairs of a stage and what it does."""
        about, kind, other, held = {
            "groups": ("about ", "rows, whole groups", "other rows, whole groups", "rows, whole groups,"),
            "time": ("at most ", "rows before those compared on", "later rows", "last rows"),
        }.get(self.split_by, ("", "random rows", "other rows", "rows"))
        if self.large and self.split_by == "time":
            kind = "random rows before those compared on"
        screened = f"{about}{self.screen_rows:,} {kind}" if self.screen_rows else "all rows"
        folds = {
            "groups": f"up to {self.n_splits} folds of whole groups",
            "time": f"up to {self.n_splits} parts, each later than the rows fitted to",
        }
        compared = {
            "folds": folds.get(self.split_by, f"{self.n_splits} folds of a fifth of the rows"),
            "splits": f"{about}{self.holdout_rows:,} {other}, {'up to ' if self.split_by else ''}{self.n_splits} times",
            "holdout": f"{about}{self.holdout_rows:,} {held} held out of the whole fit",
            "evaluation set": "the evaluation set",
            "none": "not at all",
        }
        refitted = {
            "none": "the screened models, which used all rows",
            "all rows": "rounds of the selected candidates repeated on all rows"
            if self.validation == "folds"
            else f"rounds repeated on {min(FEATURE_ROWS, self.n):,} rows, one last solve on all rows",
            "growing parts": f"M learned on parts of up to {min(PART_ROWS, self.n):,} rows, one last solve on all rows",
        }
        loss = [("loss", "Huber's: rows far from their prediction count linearly")] if self.robust else []
        return [
            ("rows", f"{self.n:,} × {self.d:,}, {self.outputs} output{'s' if self.outputs > 1 else ''}"),
            *loss,
            ("candidates screened on", screened),
            ("compared on", compared[self.validation]),
            ("final model", refitted[self.refit]),
            ("gradients averaged over", "all rows" if self.agop_rows is None else f"{self.agop_rows:,} rows"),
            ("solver", repr(self.solver)),
            ("reason", self.why),
            ("peak memory, forecast", f"{format_bytes(self.memory.peak)} of {format_bytes(self.max_bytes)}"),
            ("growth of the process", f"at most {format_bytes(self.memory.process)}, forecast"),
        ]

    def sections(self) -> list[Section]:
        """Return the facts as a table."""
        columns = [Column("", "left"), Column("", "left")]
        return [Section("plan", Table(columns, [list(fact) for fact in self.facts()]))]


def streams(n_rows: int, n_columns: int, max_bytes: int, elsewhere: bool) -> bool:
    """Tell whether a table outside memory is read in blocks: it is large, and on a cluster or too large for memory.

    >>> streams(10**6, 100, 10**9, elsewhere=False), streams(1000, 10**6, 10**9, elsewhere=True)
    (True, False)
    """
    fits = _TABLE_COPIES * 8 * n_rows * (n_columns + 1) <= max_bytes
    return n_rows > IN_MEMORY_ROWS and (elsewhere or not fits)


def threads_for(n: int, n_threads: int | None, n_jobs: int | None) -> int | None:
    """Return the number of torch threads for a model on n rows; None leaves torch's own.

    >>> threads_for(100, None, None), threads_for(5000, None, None), threads_for(5000, None, 2), threads_for(100, 4, 2)
    (1, None, 1, 4)
    """
    # Where folds run in parallel, each has one thread.
    if n_threads is None and (n <= ONE_THREAD_ROWS or n_jobs not in (None, 1)):
        return 1
    return n_threads
