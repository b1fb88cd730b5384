"""The page about one fitted model."""

from __future__ import annotations

from collections.abc import Mapping

from gramian.report.model.examples import examples_section
from gramian.report.model.learned import directions_section, importances_section, interactions_section
from gramian.report.model.measures import scores
from gramian.report.model.predictions import one_output, predictions_for, read_table
from gramian.report.model.provenance import card_section, data_section, records_section, settings_section
from gramian.report.model.rounds import rounds_section
from gramian.report.model.scores import calibration_section, score_tiles, scores_section
from gramian.report.web import page
from gramian.rfm import RFMClassifier, RFMRegressor
from gramian.rfm.explain import importances
from gramian.tables.types import TableLike, TargetLike


def model_page(
    estimator: RFMClassifier | RFMRegressor,
    X: TableLike = None,
    y: TargetLike = None,
    title: str | None = None,
    card: Mapping[str, str] | None = None,
) -> str:
    """Return the page as text; see :func:`gramian.report.write_report`."""
    model, name = estimator.fitted(), type(estimator).__name__
    X = None if X is None else read_table(X)
    predictions = predictions_for(model, X, y)
    measured, output = scores(predictions), one_output(model, predictions)
    sections = [
        scores_section(predictions, measured),
        calibration_section(estimator, predictions, X, y),
        importances_section(importances(model)),
        directions_section(model, output),
        interactions_section(model),
        rounds_section(model),
        examples_section(model, predictions, X, output),
        data_section(model, predictions, X),
        settings_section(estimator, model),
        records_section(model),
        card_section(model, predictions, name, card),
    ]
    classes = len(predictions.classes)
    outputs = f"{classes} classes" if classes else _count(predictions.y.shape[1], "target")
    columns = _count(len(model.columns.names), "column")
    lead = f"{outputs}, {columns}; the model uses {_count(len(model.row_index), 'training row')}. "
    lead += f"Evaluated on {predictions.description}."
    return page(title or f"A fitted {name}", lead, sections, top=score_tiles(measured))


def _count(n: int, name: str) -> str:
    return f"{n:,} {name}" + ("" if n == 1 else "s")
