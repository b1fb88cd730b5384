"""The page about one fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gramian.report.model.about import card_section, data_section, records_section, settings_section
from gramian.report.model.evidence import evidence, one_output, read_table
from gramian.report.model.examples import examples_section
from gramian.report.model.learned import (
    directions_section,
    importances_section,
    interactions_section,
    rounds_section,
)
from gramian.report.model.measures import scores
from gramian.report.model.scores import calibration_section, score_tiles, scores_section
from gramian.report.web import page
from gramian.rfm.columns import Columns


def model_page(
    model: Any, X: Any = None, y: Any = None, title: str | None = None, card: Mapping[str, str] | None = None
) -> str:
    """The page as text; see :func:`gramian.report.write_report`."""
    X = None if X is None else read_table(X)
    found = evidence(model, X, y)
    measured, output = scores(found), one_output(model, found)
    sections = [
        scores_section(found, measured),
        calibration_section(model, found, X, y),
        importances_section(model.importances()),
        directions_section(model, output),
        interactions_section(model),
        rounds_section(model),
        examples_section(model, found, X, output),
        data_section(model, found, X),
        settings_section(model),
        records_section(model),
        card_section(model, found, card),
    ]
    what = f"{len(found.classes)} classes" if found.classes else f"{found.y.shape[1]} target{_s(found.y.shape[1])}"
    columns = len(Columns.of(model).names)
    lead = f"{what}, {columns:,} column{_s(columns)}, stands on {len(model.row_index_):,} rows. "
    lead += f"Judged on {found.words}."
    return page(title or f"A fitted {type(model).__name__}", lead, sections, top=score_tiles(measured))


def _s(count: int) -> str:
    return "" if count == 1 else "s"
