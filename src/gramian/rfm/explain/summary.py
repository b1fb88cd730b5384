"""The summary of a fit: printed, and displayed by notebooks below scikit-learn's diagram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian.display import Bar, Renderable, Section, Table, bars, format_number, more_columns
from gramian.rfm.explain.importances import feature_importances
from gramian.rfm.model import FittedRFM
from gramian.rfm.training.rounds import Rounds
from gramian.rfm.uncertainty.calibration import probability_losses
from gramian.rfm.uncertainty.holdout import HoldoutPredictions, Source
from gramian.tables.targets import ClassTarget

_QUICK_ROWS = 2000
"""Beyond this many centres importances take seconds, which is too long for a display."""
_TOP_COLUMNS = 5
_SOURCES: dict[Source, str] = {
    "folds": "folds, which selected the round",
    "splits": "splits, which selected the round",
    "split": "one split, which selected the round",
    "evaluation set": "evaluation set, which selected the round",
    "leave-one-out": "leave-one-out given M, which has seen their labels",
}
"""The use that the fit has made of the held-out rows: scores on them are slightly optimistic."""

Fact = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Renderable):
    """Facts ``(name, value)`` about a fit, its most important columns, and its rounds.

    ``columns`` and ``shares`` are empty where the model has more than 2,000 centres: there they take seconds.
    ``left_out`` is the number of the other columns.
    """

    title: str
    facts: tuple[Fact, ...]
    columns: tuple[str, ...]
    shares: tuple[float, ...]
    left_out: int
    rounds: Rounds

    def sections(self) -> list[Section]:
        """Return the facts, the most important columns, and the rounds where there are several."""
        shown = [Section(self.title, Table(["", ""], [list(fact) for fact in self.facts]))]
        if self.columns:
            rows: list[list[str | Bar]] = [
                [name, bar, f"{share:.1%}"]
                for name, bar, share in zip(self.columns, bars(self.shares), self.shares, strict=True)
            ]
            note = f"{more_columns(self.left_out)}: {max(0.0, 1 - sum(self.shares)):.1%}" if self.left_out else ""
            shown.append(Section("share of sensitivity", Table(["column", "", "share"], rows), note))
        return shown + (self.rounds.sections() if len(self.rounds) > 1 else [])


def summarise(model: FittedRFM, name: str) -> Summary:
    """Collect scores on held-out rows, what was selected, the most important columns, and the rounds.

    Nothing that takes long is computed: there are no scores where the fit has held no rows out.

    Parameters
    ----------
    model : FittedRFM
    name : str
        The name of the estimator, for the title.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> dict(summarise(RFMRegressor(preset="fast").fit(X, X[:, 0]).model_, "RFMRegressor").facts)["training rows"]
    '60'
    """
    history = model.history
    selected = history.rounds[history.best_round]
    members = len(model.ensemble.machines)
    averaged = "" if members == 1 else f", {members} models averaged"
    facts = (
        *_scores(model),
        ("training rows", _rows(model)),
        ("columns", f"{len(model.columns.names):,}"),
        ("selected", f"round {selected.index} of {len(history.rounds) - 1}{averaged}"),
        ("kernel", f"{type(model.machine.kernel).__name__}, bandwidth {format_number(selected.bandwidth)}"),
        ("ridge", format_number(history.ridge)),
        ("solver", type(history.plan.solver).__name__),
    )
    columns, shares, left_out = _important(model)
    return Summary(f"{name}, fitted", facts, columns, shares, left_out, history.rounds)


def _rows(model: FittedRFM) -> str:
    n, centers = model.history.plan.n, len(model.row_index)
    return f"{n:,}" if centers == n else f"{n:,}, of which {centers:,} are centres"


def _important(model: FittedRFM) -> tuple[tuple[str, ...], tuple[float, ...], int]:
    if model.machine.n > _QUICK_ROWS:
        return (), (), 0
    names, shares = model.columns.names, feature_importances(model)
    order = np.argsort(-shares, kind="stable")[:_TOP_COLUMNS]
    return tuple(names[j] for j in order), tuple(float(shares[j]) for j in order), len(names) - len(order)


def _scores(model: FittedRFM) -> list[Fact]:
    """Return the scores on rows that the fit has held out; leave-one-out predictions are not computed for them."""
    held = model.held_out
    if held is None:
        return []
    if isinstance(model.target, ClassTarget):
        return _class_scores(model, model.target, held)
    w = held.weights / held.weights.sum()
    errors = w @ (model.target.bounded(held.outputs) - held.targets) ** 2
    spread = w @ (held.targets - w @ held.targets) ** 2
    varies = spread > 0
    if not varies.any():  # R² of a constant target does not exist
        return []
    r2 = 1 - float(np.mean(errors[varies] / spread[varies]))
    scale = "" if model.target.transform.name == "none" else ", on the scale the target was fitted on"
    return [(f"R² on held-out rows ({_SOURCES[held.source]}{scale})", f"{r2:.3f}")]


def _class_scores(model: FittedRFM, target: ClassTarget, held: HoldoutPredictions) -> list[Fact]:
    losses = probability_losses(model.log_probabilities(held.outputs), target.indices(held.targets), held.weights)
    return [
        (f"accuracy on held-out rows ({_SOURCES[held.source]})", f"{1 - losses['error']:.1%}"),
        ("log loss", format_number(losses["log_loss"])),
        ("calibration error", f"{losses['calibration_error']:.1%}"),
    ]
