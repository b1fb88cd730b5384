"""Small rows, tasks, plans and runs, for tests of training stages without an estimator."""

from dataclasses import replace

import numpy as np
import torch

from gramian.core.rows import MemoryRows, Rows
from gramian.features import Agop
from gramian.kernels import Identity, KernelOperator, Laplace
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import Candidate, Run, rounds
from gramian.rfm.training.train import Task, train
from gramian.rfm.training.tuning import FixedParams, RecordingTuner
from gramian.solvers import Direct, RidgeSystem

BUDGET = 10**9


def make_rows(n=60, d=3, outputs=1, weighted=False, seed=0, noise=0.0, dtype=torch.float64) -> Rows:
    """Standard normal inputs, a smooth target of the first two columns (scaled), and perhaps weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + noise * rng.normal(size=n)
    y = (y - y.mean()) / y.std()
    Y = np.column_stack([y * (-1) ** k + k * X[:, -1] for k in range(outputs)])
    weights = torch.from_numpy(rng.uniform(0.5, 2.0, size=n)) if weighted else None
    return Rows(torch.from_numpy(X).to(dtype), torch.from_numpy(Y), weights)


def make_task(**changes) -> Task:
    """One kernel with a bandwidth, one update, one round, a given ridge."""
    base = Task(kernels=(Laplace(2.0),), updates=(Agop(),), n_rounds=1, ridge=1e-2)
    return replace(base, **changes)


def make_plan(data: Rows, task: Task, solver=None, streamed=False, **changes) -> Plan:
    """The plan for these rows; ``changes`` replace fields of it, so that few rows take the way of many."""
    plan = Plan.for_size(
        len(data),
        data.X.shape[1],
        data.Y.shape[1],
        BUDGET,
        dtype=data.X.dtype,
        solver=solver,
        compare=task.compares,
        evaluation_set=task.evaluation is not None,
        streamed=streamed,
    )
    return replace(plan, **changes)


def make_split_plan(data: Rows, task: Task, screen_rows=40, holdout_rows=20, **changes) -> Plan:
    """The plan of more than 600 rows, on a few: compare on splits into a part and other rows, refit on all rows."""
    splits = {"validation": "splits", "n_splits": 3, "refit": "all rows"}
    return make_plan(data, task, **(splits | changes), screen_rows=screen_rows, holdout_rows=holdout_rows)


def train_on(data: Rows, task: Task, plan: Plan | None = None, context: FitContext | None = None):
    """Run the whole pipeline on rows in memory."""
    return train(task, plan or make_plan(data, task), MemoryRows(data), context or FitContext())


def make_candidate(**changes) -> Candidate:
    """A candidate whose rounds are solved directly."""
    base = Candidate(Laplace(2.0), Agop(), Direct(), Direct(), n_rounds=1, max_bytes=BUDGET, seed=0)
    return replace(base, **changes)


def make_run(data: Rows, candidate: Candidate | None = None, tuner=None) -> Run:
    """All rounds of a candidate on these rows."""
    candidate = candidate or make_candidate()
    recorder = RecordingTuner(tuner or FixedParams(1e-2), [])
    records, machines = zip(*rounds(candidate, data, recorder), strict=True)
    return Run(candidate, tuple(recorder.path), records, machines)


def exact_machine(rows: Rows, kernel=None, ridge=1e-3, metric=None):
    """A machine solved directly, and how it was solved: what a tree fits to each leaf."""
    metric = Identity(rows.X.shape[1]) if metric is None else metric
    operator = KernelOperator(kernel or Laplace(2.0), rows.X, metric)
    solution = Direct().solve(RidgeSystem(operator, rows.Y, ridge, rows.weights))
    return KernelMachine(solution.operator, solution.coef, solution.weights), solution.info


def naive_coef(machine: KernelMachine, data: Rows, ridge: float) -> torch.Tensor:
    """``(K + λ diag(1/w))⁻¹ Y`` by plain linear algebra in float64, for the metric of a machine."""
    K = KernelOperator(machine.kernel, data.X.double(), machine.metric).dense()
    noise = torch.ones(len(data), dtype=torch.float64) if data.weights is None else 1 / data.weights
    return torch.linalg.solve(K + ridge * torch.diag(noise), data.Y.double())


class Stops:
    """Counts the calls of a function and raises an error in one of them."""

    def __init__(self, monkeypatch, module, name, at=None, error=KeyboardInterrupt):
        self.calls, self.at, self.error = 0, at, error
        real = getattr(module, name)

        def counted(*args, **kwargs):
            self.calls += 1
            if self.calls == self.at:
                raise self.error
            return real(*args, **kwargs)

        self.restore = lambda: monkeypatch.setattr(module, name, real)
        monkeypatch.setattr(module, name, counted)


class FakeTime:
    """A time that passes only where a test says so: pass it to ``Clock(limit, now=...)``."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def advancing(self, function, seconds):
        """Return a function that takes this many seconds, or ``seconds(*args)``."""

        def slow(*args, **kwargs):
            self.now += seconds(*args, **kwargs) if callable(seconds) else seconds
            return function(*args, **kwargs)

        return slow
