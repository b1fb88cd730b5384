"""The page about one fitted model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gramian.report.model.effects import column_effects, effects_section
from gramian.report.model.examples import examples_section
from gramian.report.model.learned import directions_section, importances_section
from gramian.report.model.measures import scores
from gramian.report.model.outcomes import outcomes_section
from gramian.report.model.pairs import pairs_section
from gramian.report.model.predictions import one_output, predictions_for, read_table, take
from gramian.report.model.provenance import card_section, data_section, records_section, settings_section
from gramian.report.model.rounds import rounds_section
from gramian.report.model.scores import calibration_section, score_tiles, scores_section
from gramian.report.model.summary import Subject, summary_section
from gramian.report.web import page
from gramian.rfm import RFMClassifier, RFMRegressor
from gramian.rfm.explain import importances, permutation_importances
from gramian.tables.types import TableLike, TargetLike

Estimator = RFMClassifier | RFMRegressor


def model_page(
    estimator: Estimator,
    X: TableLike = None,
    y: TargetLike = None,
    title: str | None = None,
    card: Mapping[str, str] | None = None,
    target: str | None = None,
    scored_by: Estimator | None = None,
) -> str:
    """Return the page as text; see :func:`gramian.report.write_report`."""
    model, name = estimator.fitted(), type(estimator).__name__
    X = None if X is None else read_table(X)
    if scored_by is not None and (X is None or y is None):
        raise ValueError("scored_by needs X and y, the rows that were held out of its fit")
    scorer = None if scored_by is None else scored_by.fitted()
    predictions = predictions_for(scorer or model, X, y, held_out=scorer is not None)
    if scorer is not None and (
        scorer.columns.names != model.columns.names or (scorer.classes is None) != (model.classes is None)
    ):
        raise ValueError("scored_by must be a model of the same target and the same columns")
    sensitivity, output = importances(model), one_output(model, predictions)
    # A model that was fitted to the held-out rows has permutation importances from its own refits, if from any.
    permutation = None
    if y is not None and scorer is None and np.ptp(model.target.codes(y), axis=0).any():
        permutation = permutation_importances(model, X, y)
    shares = [(sensitivity.columns[j], float(sensitivity.shares[j])) for j in sensitivity.order]
    values = X if X is None or predictions.rows is None else take(X, predictions.rows)
    effects = column_effects(model, shares, values)
    groups = [tuple(sensitivity.columns[j] for j in group) for group in sensitivity.groups]
    subject = Subject(model, scorer, _target_name(target, y), predictions, scores(predictions), shares, groups)
    # The saved model was fitted to held-out rows too: they are examples of its predictions, not of its errors.
    explained = predictions if scorer is None else predictions_for(model)
    classes = () if model.classes is None else tuple(str(label) for label in model.classes.tolist())
    sections = [
        summary_section(subject, effects),
        scores_section(predictions, subject.scores),
        outcomes_section(predictions),
        importances_section(sensitivity, permutation),
        effects_section(effects, classes, known=X is not None),
        calibration_section(scored_by or estimator, predictions, X, y),
        examples_section(model, explained, X, output),
        directions_section(model, output),
        pairs_section(model),
        rounds_section(model),
        data_section(model, predictions, X),
        settings_section(estimator, model),
        records_section(model),
        card_section(model, predictions, name, card),
    ]
    lead = f"{name} of gramian, a kernel machine that learns which directions of the input matter."
    return page(title or f"A fitted {name}", lead, sections, top=score_tiles(subject.scores))


def _target_name(given: str | None, y: TargetLike) -> str | None:
    """Return the name of the target: the given one, or that of a pandas Series."""
    own = getattr(y, "name", None)
    return given if given is not None else str(own) if isinstance(own, str) else None
