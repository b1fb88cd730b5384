"""Output of ``gramian inspect``: tables for people, one JSON document or CSV for programs, pages and files."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from gramian import FeatureReport, __version__
from gramian import report as pages
from gramian.cli.checkpoints import Chosen
from gramian.cli.output import emit, make_console, to_json_types
from gramian.cli.report import names_of
from gramian.core import format_bytes
from gramian.core.atomic import atomic_write
from gramian.nets import Comparison, Trajectory, WeightReport
from gramian.tables.formulas import escape_formula

_OF_FEATURES = (
    "The NFA compares the weights WᵀW of a layer with the directions of its input to which the output is sensitive "
    "(AGOP): 1 means equal. --json has all numbers, and docs/networks.md explains them."
)
_OF_WEIGHTS = (
    "The effective rank is the number of directions that WᵀW uses; 'if random' is that of a random matrix of the same "
    "shape. --data adds what the network does with them; docs/networks.md explains the columns."
)


@dataclass(frozen=True)
class InspectResult:
    """The measurement, and the facts about it that go into the JSON document."""

    chosen: Chosen
    found: FeatureReport | WeightReport | Trajectory
    second: FeatureReport | None = None
    comparison: Comparison | None = None
    title: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per layer, per layer of a comparison, or per checkpoint and layer."""
        return _rows(self.found) if self.comparison is None else self.comparison.rows

    def record(self, html: Path | None) -> dict[str, Any]:
        """Return the JSON document."""
        common = {"gramian": __version__, **self.facts, "html": html}
        paths = self.chosen.paths
        if isinstance(self.found, Trajectory):
            about = {"checkpoints": self.found.checkpoints, "steps": self.found.steps, "kind": self.found.kind}
            return common | about | {"rows": self.found.rows}
        if isinstance(self.found, WeightReport):
            before = {"initial": paths[0]} if len(paths) == 2 else {}
            return common | before | _record(self.found, paths[-1])
        if self.second is None or self.comparison is None:
            return common | _record(self.found, paths[0] if paths else None)
        changes = {"layers": self.comparison.rows, "notes": self.comparison.notes}
        both = {"first": _record(self.found, paths[0]), "second": _record(self.second, paths[1])}
        return common | both | {"comparison": changes}


def _rows(found: FeatureReport | WeightReport | Trajectory) -> Sequence[Mapping[str, Any]]:
    """Return the rows with all their numbers, which a report on a network computes only now."""
    return [dict(row) for row in found.loaded_rows()] if isinstance(found, FeatureReport) else found.rows


def _record(report: FeatureReport | WeightReport, checkpoint: Path | None) -> dict[str, Any]:
    return {
        "checkpoint": checkpoint,
        "samples": report.settings.get("samples"),
        "settings": report.settings,
        "layers": _rows(report),
        "skipped": report.skipped,
    }


def write_out(result: InspectResult, out: Path, *, say: bool, escape_text: bool = True) -> None:
    """Write ``--out``, which :func:`check_out` has checked: .csv, .json (the document of ``--json``) or .gramian.

    ``say`` prints a line about the file; ``escape_text`` is as in :func:`show`.
    """
    suffix = out.suffix.lower()
    if suffix == ".json":
        atomic_write(out, json.dumps(to_json_types(result.record(None)), indent=2, allow_nan=False))
    elif suffix == ".csv":
        atomic_write(out, _csv(result.rows, escape_text))
    else:
        result.found.save(out)
    if say:
        _print_file(make_console(), out, "written")


def check_has_file(chosen: Chosen) -> None:
    """Raise an error before the work if the result, a comparison of two checkpoints, has no file of gramian."""
    if len(chosen.paths) == 2:
        raise ValueError("--out: a comparison has no file of its own; use .json or .csv, or inspect each checkpoint")


def write_page(result: InspectResult, html: Path) -> None:
    """Write ``--html``."""
    if result.second is not None and isinstance(result.found, FeatureReport):
        pages.write_comparison(result.found, result.second, html, names=names_of(*result.chosen.paths))
    else:
        pages.write_report(result.found, html, title=result.title)


def show(result: InspectResult, html: Path | None, *, as_json: bool, as_csv: bool, escape_text: bool = True) -> None:
    """Print a result as a table, as JSON or as CSV, there with an apostrophe before text that looks like a formula."""
    if as_json:
        emit(result.record(html))
        return
    if as_csv:
        sys.stdout.write(_csv(result.rows, escape_text))
        return
    console = make_console()
    what = result.chosen.name or "at initialisation"
    parts = [f"[bold]{escape(str(result.facts['model']))}[/]"] if result.facts.get("model") else []
    parts.append(escape(what))
    if result.facts.get("data"):
        parts.append(f"on {escape(str(result.facts['data']))}")
    console.print(", ".join(parts), soft_wrap=True)
    for line in result.remarks:
        console.print(escape(line), style="dim", soft_wrap=True)
    if result.comparison is not None:
        first, second = map(str, result.chosen.paths)
        console.print(replace(result.comparison, title=f"From {first} to {second}:"))
    else:
        console.print(result.found)
        if not isinstance(result.found, Trajectory):
            words = _OF_WEIGHTS if isinstance(result.found, WeightReport) else _OF_FEATURES
            console.print(words, style="dim")
    if html is not None:
        _print_file(console, html, "open it in a browser")


def _print_file(console: Console, path: Path, use: str) -> None:
    size = format_bytes(path.stat().st_size)
    console.print(f"[bold]{escape(str(path))}[/]: {size}; {use}", soft_wrap=True)


def _csv(rows: Sequence[Mapping[str, Any]], escape_text: bool) -> str:
    """Return a line per row; a number that was not measured is an empty cell."""
    names = dict.fromkeys(name for row in rows for name in row)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(names), lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        cells = {name: "" if (cell := to_json_types(value)) is None else cell for name, value in row.items()}
        writer.writerow({name: escape_formula(cell) for name, cell in cells.items()} if escape_text else cells)
    return buffer.getvalue()
