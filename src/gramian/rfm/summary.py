"""What a fit came to, at a glance: printed, and below scikit-learn's diagram in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian.display import Bar, Renderable, Section, Table, bars, format_number, more_columns
from gramian.rfm.columns import Columns
from gramian.rfm.judged import Judged
from gramian.rfm.rounds import Rounds

_QUICK_ROWS = 2000
"""Beyond this importances take seconds, which nobody expects of a model that is only looked at."""
_TOP = 5
_HOW = {
    "folds": "folds, which chose the round",
    "split": "one split, which chose the round",
    "evaluation set": "evaluation set, which chose the round",
    "leave-one-out": "leave-one-out given M, which has seen them",
}
"""None of these rows is quite unseen."""


@dataclass(frozen=True, eq=False)
class Summary(Renderable):
    """Facts ``(name, value)`` about a fit, its most important columns, and its rounds.

    ``columns`` and ``shares`` are empty where the model stands on so many rows that they would take a while.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    shares: tuple[float, ...]
    left_out: int
    rounds: Rounds

    def sections(self) -> list[Section]:
        found = [Section(self.title, Table(["", ""], [list(pair) for pair in self.facts]))]
        if self.columns:
            rows: list[list[str | Bar]] = [
                [name, bar, f"{share:.1%}"]
                for name, bar, share in zip(self.columns, bars(self.shares), self.shares, strict=True)
            ]
            note = f"{more_columns(self.left_out)}: {max(0.0, 1 - sum(self.shares)):.1%}" if self.left_out else ""
            found.append(Section("share of sensitivity", Table(["column", "", "share"], rows), note))
        return found + (self.rounds.sections() if len(self.rounds) > 1 else [])


class ShownInNotebooks:
    """What an estimator inherits to have :meth:`summary`, and to show it where a notebook shows the estimator."""

    def summary(self) -> Summary:
        """Scores on rows the fit had held out, what was chosen, the most important columns, and the rounds.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 3))
        >>> dict(RFMRegressor(preset="fast").fit(X, X[:, 0]).summary().facts)["stands on"]
        '60 rows'
        """
        check_is_fitted(self)
        return summary(self)

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._fit_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._fit_html()
        return bundle

    def _fit_html(self) -> str:
        return summary(self)._repr_html_() if hasattr(self, "machine_") else ""


def summary(model: Any) -> Summary:
    """See :meth:`ShownInNotebooks.summary`."""
    kept = model.rounds_[model.best_round_]
    together = "" if len(model.blend_.machines) == 1 else f", {len(model.blend_.machines)} machines together"
    facts = [
        *_scores(model),
        ("stands on", f"{len(model.row_index_):,} rows"),
        ("columns", str(len(Columns.of(model).names))),
        ("kept", f"round {kept.index} of {len(model.rounds_) - 1}{together}"),
        ("kernel", f"{type(model.kernel_).__name__}, bandwidth {format_number(kept.bandwidth)}"),
        ("ridge", format_number(model.ridge_)),
    ]
    columns, shares, left = _important(model)
    return Summary(f"{type(model).__name__}, fitted", tuple(facts), columns, shares, left, Rounds(tuple(model.rounds_)))


def _important(model: Any) -> tuple[tuple[str, ...], tuple[float, ...], int]:
    if model.machine_.n > _QUICK_ROWS and "agop" not in vars(model.blend_):
        return (), (), 0
    names, shares = Columns.of(model).names, model.feature_importances_
    order = np.argsort(-shares, kind="stable")[:_TOP]
    return tuple(names[j] for j in order), tuple(float(shares[j]) for j in order), len(names) - len(order)


def _scores(model: Any) -> list[tuple[str, str]]:
    """Scores that are there already: nothing is computed anew for a glance."""
    judged: Judged | None = model._seen_by_none
    if judged is None:
        return []
    if hasattr(model, "classes_"):
        losses = model.held_out_losses_
        return [
            (f"accuracy on held-out rows ({_HOW[judged.how]})", f"{1 - losses['error']:.1%}"),
            ("log loss", format_number(losses["log_loss"])),
            ("calibration error", f"{losses['calibration_error']:.1%}"),
        ]
    w = judged.weights / judged.weights.sum()
    errors = w @ (judged.outputs - judged.targets) ** 2
    spread = w @ (judged.targets - w @ judged.targets) ** 2
    varies = spread > 0
    if not varies.any():  # of a constant there is nothing to explain
        return []
    r2 = 1 - float(np.mean(errors[varies] / spread[varies]))
    scale = "" if model.target_transform_.name == "none" else ", on the scale the target was fitted on"
    return [(f"R² on held-out rows ({_HOW[judged.how]}{scale})", f"{r2:.3f}")]
