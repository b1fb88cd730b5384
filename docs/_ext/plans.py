"""Tables of the page on many rows, printed from the plan of a fit: the stages by number of rows, and the constants."""

from __future__ import annotations

import ast
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from gramian.core import format_bytes
from gramian.rfm.options import TreePartition
from gramian.rfm.training.plan import FEATURE_ROWS, PART_ROWS, Plan
from gramian.solvers import ConjugateGradient, Direct, Nystrom

GB = 10**9
SIZES = (
    (100, 16 * GB),
    (1_000, 16 * GB),
    (3_000, 16 * GB),
    (10_000, 16 * GB),
    (25_000, 16 * GB),
    (100_000, 16 * GB),
    (100_000, 2 * GB),
    (1_000_000, 16 * GB),
    (1_000_000, 2 * GB),
)
"""Rows and memory of the lines of the table."""
COLUMNS = 50
MODULES = tuple(f"gramian.rfm.training.{name}" for name in ("plan", "solver_choice", "leaf_features"))
HEADINGS = ("rows", "memory", "screened on", "compared on", "final model", "solver", "peak, forecast")


def plan_table() -> str:
    """Return the table of the stages of a fit, one line for each number of rows and each memory budget."""
    lines = [_line(HEADINGS), _line(["---:", "---:", "---", "---", "---", "---", "---:"])]
    for n, budget in SIZES:
        lines.append(_line(_cells(Plan.for_size(n, COLUMNS, 1, budget))))
    for n, budget in ((1_000_000, 16 * GB), (1_000_000, 2 * GB)):
        cells = _cells(Plan.for_size(n, COLUMNS, 1, budget, streamed=True))
        lines.append(_line([f"{cells[0]}, read in blocks", *cells[1:]]))
    return "\n".join(lines)


def _cells(plan: Plan) -> list[str]:
    screened = f"{plan.screen_rows:,} rows" if plan.screen_rows else "all rows"
    compared = {
        "folds": f"{plan.n_splits} folds of a fifth",
        "splits": f"{plan.holdout_rows:,} other rows, {plan.n_splits} times",
        "holdout": f"{plan.holdout_rows:,} rows held out of the fit",
    }
    refit = {
        "none": "the screened models",
        "all rows": "rounds repeated on all rows"
        if plan.validation == "folds"
        else f"M learned on up to {min(FEATURE_ROWS, plan.n):,} rows, then one solve on all rows",
        "growing parts": f"M learned on up to {min(PART_ROWS, plan.n):,} rows, then one solve on all rows",
    }
    return [
        f"{plan.n:,}",
        format_bytes(plan.max_bytes),
        screened,
        compared[plan.validation],
        refit[plan.refit],
        _solver(plan),
        format_bytes(plan.memory.peak),
    ]


def _solver(plan: Plan) -> str:
    solver = plan.solver
    if isinstance(solver, Direct):
        return "Cholesky factor"
    if isinstance(solver, ConjugateGradient):
        return "conjugate gradients, " + ("half the matrix stored" if solver.store_matrix else "no matrix stored")
    if isinstance(solver, TreePartition):
        return f"tree, exact in leaves of up to {solver.leaf_rows:,} rows"
    assert isinstance(solver, Nystrom), f"the table has no words for {solver!r}"
    return f"Nyström regression on {solver.centers:,} centres"


def constants() -> list[tuple[str, str, str, str]]:
    """Return module, name, value and reason of the constants of the plan: assignments that a docstring follows."""
    found = []
    for path in MODULES:
        module = import_module(path)
        body = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
        for statement, following in pairwise(body):
            if isinstance(statement, ast.Assign) and isinstance(following, ast.Expr):
                name = ast.unparse(statement.targets[0])
                value = getattr(module, name)
                if isinstance(value, int | float | tuple):
                    found.append((path, name, _value(value), " ".join(str(ast.literal_eval(following.value)).split())))
    return found


def _value(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return ", ".join(_value(one) for one in value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def constant_table() -> str:
    """Return the table of the constants: name, value, reason."""
    lines = [_line(["constant", "value", "reason"]), _line(["---", "---:", "---"])]
    for path, name, value, reason in constants():
        lines.append(_line([f"`{path.rpartition('.')[2]}.{name}`", value, reason.replace("|", "\\|")]))
    return "\n".join(lines)


def _line(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


class PlanTable(SphinxDirective):
    """``{plan-table}``: the stages of a fit by number of rows and memory."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(plan_table())


class PlanConstants(SphinxDirective):
    """``{plan-constants}``: the constants of the plan with their reasons."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(constant_table())


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("plan-table", PlanTable)
    app.add_directive("plan-constants", PlanConstants)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
