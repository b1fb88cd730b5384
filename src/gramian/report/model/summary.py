"""The summary at the top of a page: what is predicted, how well, what matters, and what to beware of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gramian.display import format_number, format_percent, format_score, tag, text
from gramian.report.model.effects import effect_sentence
from gramian.report.model.fitted import fitted_rows, selected_kernels
from gramian.report.model.measures import LEVEL, Score
from gramian.report.model.predictions import Predictions
from gramian.report.model.provenance import listed, warnings_of
from gramian.report.model.scores import interval_text
from gramian.report.web import PageSection
from gramian.rfm import FittedRFM
from gramian.rfm.explain.column_effect import ColumnEffect

_NAMED_COLUMNS, _NAMED_CLASSES = 3, 6
_FEW_ROWS = 100
"""With fewer scored rows the scores are uncertain enough to say so."""
_MOST_WARNINGS, _MOST_GROUPS = 4, 2


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, the model that was scored in its place (None: the same), the name of its target, and its scores."""

    model: FittedRFM
    scored_by: FittedRFM | None
    target: str | None
    predictions: Predictions
    scores: Sequence[Score]
    shares: Sequence[tuple[str, float]]
    """Importances of the user's columns, largest first."""
    groups: Sequence[tuple[str, ...]] = ()
    """Columns that are strongly related to each other."""

    @property
    def what(self) -> str:
        """The target in a sentence."""
        return "the target" if self.target is None else self.target


def summary_section(subject: Subject, effects: Sequence[ColumnEffect]) -> PageSection:
    """Return the summary as paragraphs with a bold word at the beginning of each."""
    parts = [
        ("What it predicts.", _what(subject)),
        ("How good it is.", _how_good(subject)),
        ("What matters most.", _what_matters(subject, effects)),
    ]
    body = "".join(tag("p", tag("b", text(head)) + " " + text(words)) for head, words in parts if words)
    warnings = cautions(subject)
    body += tag("p", tag("b", "What to beware of."))
    body += tag("ul", "".join(tag("li", text(line)) for line in warnings))
    return PageSection("Summary", tag("div", body, class_="summary"))


def _what(subject: Subject) -> str:
    model, classes = subject.model, subject.predictions.classes
    columns = f"{len(model.columns.names):,} column{'s' if len(model.columns.names) > 1 else ''}"
    rows = f"The model was fitted to {fitted_rows(model).description}."
    if classes:
        named = listed(classes, _NAMED_CLASSES)
        return f"It predicts {subject.what} ({len(classes)} classes: {named}) from {columns}. {rows}"
    count = subject.predictions.y.shape[1]
    kind = "a number" if count == 1 else f"{count} numbers"
    return f"It predicts {subject.what} ({kind}) from {columns}. {rows}"


def _how_good(subject: Subject) -> str:
    predictions, first = subject.predictions, subject.scores[0]
    source = f"{len(predictions):,} rows that it was not fitted to"
    if subject.scored_by is not None:
        source = f"{len(predictions):,} held-out rows"
    elif predictions.rows is None:
        source = f"{len(predictions):,} training rows that were held out within the fit"
    if predictions.classes:
        counts = np.bincount(predictions.y, minlength=len(predictions.classes))
        words = (
            f"Of {source}, {format_percent(first.value)} are classified correctly. Without a model, always answering "
            f"{predictions.classes[int(counts.argmax())]}, the most frequent class, would be right for "
            f"{format_percent(first.baseline)}."
        )
    else:
        rmse, mae = subject.scores[1], subject.scores[2]
        words = f"On {source}, the mean absolute error is {format_score(mae.value)}; "
        words += f"always predicting their mean would give {format_score(mae.baseline)}."
        if not np.isnan(first.value):
            words += f" The model explains {format_percent(max(first.value, 0.0))} of the variance "
            words += f"(R² {format_score(first.value)}, RMSE {format_score(rmse.value)})."
    return words + _doubt(subject.scores)


def _doubt(measured: Sequence[Score]) -> str:
    """Return a sentence if the first score, or every score, is not clearly better than that of the baseline."""
    known = [score for score in measured if not np.isnan(score.low)]
    clear = [score for score in known if _is_clearly_better(score)]
    if not known or known[0] in clear:
        return ""
    first = known[0]
    doubt = f"the {LEVEL:.0%} interval of {first.measure.name}, {interval_text(first)}"
    if not clear:
        return f" These rows do not show that the model is better than none: {doubt}, includes the baseline."
    other = clear[0]
    return (
        f" That difference may be chance, since {doubt}, includes the baseline; {other.measure.name} is clearly better "
        f"than the baseline ({format_score(other.value)} against {format_score(other.baseline)})."
    )


def _is_clearly_better(score: Score) -> bool:
    return score.low > score.baseline if score.measure.higher_is_better else score.high < score.baseline


def _what_matters(subject: Subject, effects: Sequence[ColumnEffect]) -> str:
    named = [f"{name} ({format_percent(share)})" for name, share in subject.shares[:_NAMED_COLUMNS] if share > 0]
    if not named:
        return "No column changes the predictions."
    joined = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    words = f"The predictions are most sensitive to {joined}; the numbers are shares of the sensitivity."
    sentences = [effect_sentence(effect) for effect in effects]
    return " ".join([words, *[sentence for sentence in sentences if sentence][:1]])


def cautions(subject: Subject) -> list[str]:
    """Return what a reader should know before using the model, as sentences."""
    model, predictions = subject.model, subject.predictions
    out = [scored_model_sentence(subject)]
    if len(predictions) < _FEW_ROWS:
        out.append(f"The scores are from {len(predictions):,} rows only, so they are uncertain.")
    if predictions.classes:
        counts = np.bincount(predictions.y, minlength=len(predictions.classes))
        rare = [name for name, count in zip(predictions.classes, counts, strict=True) if count < 10]
        if rare:
            out.append(f"There are fewer than 10 scored rows of the class {listed(rare, _NAMED_CLASSES)}.")
    rows = fitted_rows(model)
    if rows.fitted < rows.given:
        out.append(f"Only {rows.description} were used by the fit.")
    found = warnings_of(model)
    out += found[:_MOST_WARNINGS]
    if len(found) > _MOST_WARNINGS:
        out.append(f"{format_number(len(found) - _MOST_WARNINGS)} more warnings are at the end of this page.")
    leading = {name for name, _ in subject.shares[:_NAMED_COLUMNS]}
    for group in [group for group in subject.groups if leading & set(group)][:_MOST_GROUPS]:
        out.append(
            f"The columns {listed(group, _NAMED_CLASSES)} are strongly related: which of them matters more can change "
            "from fit to fit, so add up their importance."
        )
    out.append("A column to which predictions are sensitive need not be a cause of the target.")
    return out


def scored_model_sentence(subject: Subject) -> str:
    """Return a sentence on which model was scored, and on the kernels if those of the two models differ."""
    if subject.scored_by is None:
        return f"Scores, errors and calibration are from {subject.predictions.description}."
    before, now = selected_kernels(subject.scored_by), selected_kernels(subject.model)
    other = f"{fitted_rows(subject.scored_by).given:,} other rows"
    words = (
        f"Scores, errors and calibration are from a fit with the same settings to {other}, which has not seen the "
        f"{len(subject.predictions):,} held-out rows. Everything else on this page "
        "describes the saved model, which was then fitted to all rows."
    )
    if before != now:
        words += f" The saved model has other kernels ({' + '.join(now)}) than the scored one ({' + '.join(before)})."
    return words
