"""Contributions of columns to one prediction, and the training rows with the largest influence on it.

``f(x) − f(x⁰) = Σⱼ (xⱼ − x⁰ⱼ) ∫₀¹ ∂ⱼf(x⁰ + t(x − x⁰)) dt``: the gradient of the model integrated on the straight line
from a reference row (integrated gradients). :mod:`gramian.rfm.explain.influence` has the formula for training rows.
They describe to what the prediction is sensitive, not what causes the target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gramian.rfm.explain.explanation import Explanation, Explanations, Method
from gramian.rfm.explain.influence import Influence, LeaveOneOut
from gramian.rfm.explain.output import Output
from gramian.rfm.explain.training_rows import entries_of
from gramian.rfm.model import FittedRFM
from gramian.tables.column_map import is_missing, row_as_table
from gramian.tables.targets import ClassTarget
from gramian.tables.types import Label, TableLike

_FIRST_NODES, _MOST_NODES = 32, 256
_GAP_OF_DIFFERENCE, _GAP_OF_PARTS = 1e-2, 1e-3
"""The path is refined until the gap is below this share of the difference, or of the sum of all |contributions|."""

Row = Float[np.ndarray, " d"]
"""A row of standardised columns."""


def explain(
    model: FittedRFM,
    X: TableLike,
    output: Label = None,
    n_influential: int = 5,
    method: Method = "path",
    reference: TableLike = None,
) -> Explanation | Explanations:
    """Split a prediction into contributions of the user's columns, and find the training rows that influence it most.

    ``"path"``: ``c_j = (z_j − z⁰_j) ∫₀¹ ∂f/∂z_j(z⁰ + t(z − z⁰)) dt`` in standardised columns, from the reference row z⁰
    on a straight line (integrated gradients; Gauss–Legendre nodes are doubled from 32 to 256 until the error of
    ``Σ c_j = f(z) − f(z⁰)``, which is recorded as ``gap``, is below 1 %). ``"gradient"``: the local
    ``c_j = (z_j − z⁰_j) ∂f/∂z_j(z)``. Contributions of encoded columns are summed to those of the user's columns.

    Parameters
    ----------
    model : FittedRFM
    X : one row or a table (n, d)
    output : label, int or None
        The class whose score is explained (by default the predicted one; for two classes the decision score, which is
        that of the second), or the number of a target where there are several.
    n_influential : int
        Number of training rows to list: those whose removal changes the score most, see
        :mod:`gramian.rfm.explain.influence`. Finding them inverts a matrix of all training rows; 0 leaves that out.
    method : "path" or "gradient"
    reference : one row, optional
        The start of the path; by default the mean training row (of encoded columns).

    Returns
    -------
    Explanation, or a list of them where X holds several rows
        It can be printed, displayed by a notebook, and converted by ``to_pandas()``.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, 4 * X[:, 0] - X[:, 2]).model_
    >>> found = explain(model, [0.5, 0.5, 0.5])
    >>> [round(float(c)) for c in 2 * found.contributions]
    [4, 0, -1]
    >>> found.influence.to_pandas().columns.tolist()
    ['position', 'target', 'similarity', 'change', 'without']
    """
    if method not in ("path", "gradient"):
        raise ValueError(f'method must be "path" or "gradient", got {method!r}')
    if not isinstance(n_influential, int | np.integer) or n_influential < 0:
        raise ValueError(f"n_influential must be a non-negative integer, got {n_influential!r}")
    table = row_as_table(X)
    Z = model.preprocessing.transform(table)
    explainer = _Explainer.starting_at(_start(model, reference), model, output, n_influential, method)
    found = [explainer.explain(z, _values(model, z, model.columns.cells(table, i))) for i, z in enumerate(Z)]
    return found[0] if len(found) == 1 else Explanations(found)


def explain_standardised(
    model: FittedRFM, Z: Float[np.ndarray, "m d"], output: Label = None, n_influential: int = 5
) -> list[Explanation]:
    """Explain rows of standardised columns, such as the centres of a model, by the path method.

    Values are entries of the user's columns, as far as their encoding tells them.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_
    >>> Z, _ = model.center_rows(3)
    >>> [len(found.contributions) for found in explain_standardised(model, Z)]
    [2, 2, 2]
    """
    explainer = _Explainer.starting_at(model.mean_row(), model, output, n_influential, "path")
    entries = entries_of(model, model.preprocessing.scaler.inverse_transform(Z))
    return [explainer.explain(z, values) for z, values in zip(Z, entries, strict=True)]


def _values(model: FittedRFM, z: Row, cells: tuple[object, ...]) -> tuple[object, ...]:
    """Return the entries of a row: None where one is missing, and a number that was given as text as a number."""
    own = model.columns.own(model.preprocessing.scaler.inverse_transform(z[None]))[0]
    return tuple(
        None
        if is_missing(cell)
        else float(f"{number:.12g}")
        if isinstance(cell, str) and not np.isnan(number)
        else cell
        for cell, number in zip(cells, own, strict=True)
    )


def _start(model: FittedRFM, reference: TableLike) -> Row:
    if reference is None:
        return model.mean_row()
    Z = model.preprocessing.transform(row_as_table(reference))
    if len(Z) != 1:
        raise ValueError(f"reference must be one row, got {len(Z)}")
    start: Row = Z[0]
    return start


@dataclass(frozen=True, eq=False)
class _Explainer:
    """The arguments of :func:`explain`, resolved, and the outputs ``start_scores (c,)`` at the reference row.

    ``left_out`` is the inverse of the training rows' system, or the reason why there is none.
    """

    model: FittedRFM
    start: Row
    start_scores: Float[np.ndarray, " c"]
    wanted: Label
    n_influential: int
    method: Method
    left_out: LeaveOneOut | str

    @classmethod
    def starting_at(cls, start: Row, model: FittedRFM, wanted: Label, n_influential: int, method: Method) -> _Explainer:
        """Compute the outputs at the reference row."""
        left_out = LeaveOneOut.of(model) if n_influential else ""
        return cls(model, start, model.outputs_at(start[None])[0], wanted, n_influential, method, left_out)

    def explain(self, z: Row, values: tuple[object, ...]) -> Explanation:
        """Explain one row of standardised columns, whose entries in the user's table are ``values``."""
        model = self.model
        scores = model.outputs_at(z[None])[0]
        output = Output.of(model, self.wanted, scores)
        i, sign = output.index, output.sign
        score, reference_score = sign * float(scores[i]), sign * float(self.start_scores[i])
        slopes = sign * model.mean_gradient(z, z, i, 1)
        along, nodes = slopes * (z - self.start), 1
        if self.method == "path":
            along, nodes = self._along_path(z, output, score - reference_score)
        contributions = model.columns.fold(along)
        prediction, probabilities = _prediction(model, scores, score)
        # The value that replaces a missing entry has a slope, but no entry of the user's changes it.
        missing = [is_missing(value) for value in values]
        return Explanation(
            prediction=prediction,
            probabilities=probabilities,
            output=output,
            score=score,
            reference_score=reference_score,
            method=self.method,
            columns=model.columns.names,
            values=values,
            contributions=contributions,
            sensitivity=np.where(missing, np.nan, model.columns.own(slopes / model.preprocessing.scaler.scale)),
            gap=score - reference_score - float(contributions.sum()),
            nodes=nodes,
            influence=self._influence(z, scores, output),
        )

    def _along_path(self, z: Row, output: Output, difference: float) -> tuple[Row, int]:
        """Return the contributions of encoded columns along the straight path, and the number of nodes."""
        nodes = _FIRST_NODES
        while True:
            slopes = output.sign * self.model.mean_gradient(self.start, z, output.index, nodes)
            along = slopes * (z - self.start)
            gap = abs(difference - float(along.sum()))
            tolerance = max(_GAP_OF_DIFFERENCE * abs(difference), _GAP_OF_PARTS * float(np.abs(along).sum()))
            if gap <= tolerance or 2 * nodes > _MOST_NODES:
                return along, nodes
            nodes *= 2

    def _influence(self, z: Row, scores: Float[np.ndarray, " c"], output: Output) -> Influence:
        if isinstance(self.left_out, str):
            return Influence.none(self.model.columns.names, self.left_out)
        return self.left_out.influence(z, scores, output, self.n_influential)


def _prediction(
    model: FittedRFM, scores: Float[np.ndarray, " c"], score: float
) -> tuple[float | Label, dict[Label, float] | None]:
    """Return the prediction in the user's terms, and a classifier's probabilities by label."""
    if not isinstance(model.target, ClassTarget):
        return float(model.target.transform.inverse_transform(np.array([score]))[0]), None
    labels = model.target.classes.tolist()
    shares = np.exp(model.log_probabilities(scores[None]))[0]
    return labels[int(model.target.indices(scores[None])[0])], dict(zip(labels, shares.tolist(), strict=True))
