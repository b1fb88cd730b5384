"""Refits of a fitted model on random parts of its training rows: how importances vary from sample to sample.

Each refit repeats the rounds of one member, drawn by its share, with the kernel, the ridges and the bandwidths (in
median distances) that were selected, on m of the n rows without replacement; a ridge per row is multiplied by the
weight of the m rows. For a statistic that is a mean over rows, the difference between such a refit and the fit has the
variance ``σ² (n − m)/m``, where σ² is that of a fit to n rows; two fits to n rows each differ by ``2σ²``. Squared
deviations of refits are therefore multiplied by ``2m/(n − m)``. Another fit may also select other members: the spread
of the members around their average is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int

from gramian.core import threads
from gramian.core.rows import Rows
from gramian.rfm.explain.groups import Groups
from gramian.rfm.explain.permuted import permutation_drops
from gramian.rfm.explain.training_rows import SolvedRows, why_unsolved
from gramian.rfm.machine import KernelMachine, sampled_squares
from gramian.rfm.model import FittedRFM, MemberHistory
from gramian.rfm.training.rounds import Candidate, rounds
from gramian.rfm.training.tuning import ReplayedParams
from gramian.solvers import Direct
from gramian.tables.scaling import Array

_SEED = 0
_FITTED_SHARE = 0.8
"""Share of the rows in a refit. Of 0.5, 0.65 and 0.8 this gave the narrowest intervals that contained 9 of 10 shares of
fits to other rows (breast cancer and a formula with noise, 300 rows each); fewer rows learn other features."""
_FITTED_ROWS, _HELD_OUT_ROWS = 400, 200
"""Rows of a refit, and rows held out of it on which columns are permuted, at most: a refit takes 0.1 s."""
_LEAST_ROWS = 20
_COLUMNS = 300
"""Encoded columns beyond which a refit takes seconds."""


@dataclass(frozen=True, eq=False)
class Refits:
    """Results of b refits on ``fitted_rows`` of ``n_rows`` training rows, for p columns and g groups of them.

    ``shares (b, p)`` are shares of the sensitivity, each of a refit of member ``members (b,)``, and ``member_shares (k,
    p)`` those of the members themselves, whose weights in the average are ``weights (k,)``. ``drops (b, p + g)`` are
    losses of the score when a column or a group is permuted in rows that are held out of the refit, ``held_out_rows``
    of them; ``scores (b,)`` are the scores before.
    """

    shares: Float[np.ndarray, "b p"]
    members: Int[np.ndarray, " b"]
    member_shares: Float[np.ndarray, "k p"]
    weights: Float[np.ndarray, " k"]
    drops: Float[np.ndarray, "b q"]
    scores: Float[np.ndarray, " b"]
    n_rows: int
    fitted_rows: int
    held_out_rows: int

    @property
    def widening(self) -> float:
        """``2m/(n − m)``: from the variance of refits on m rows to that of the difference of two fits to n rows."""
        return 2 * self.fitted_rows / (self.n_rows - self.fitted_rows)


def why_no_refits(model: FittedRFM) -> str:
    """Return the reason why a model cannot be refitted from what it holds, or not in a short time; "" if it can.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(12, 2))
    >>> why_no_refits(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_)
    'it has fewer than 20 training rows'
    """
    if not model.ensemble.members:
        return why_unsolved(model) or "it holds no record of how its rounds are repeated"
    if model.machine.n < _LEAST_ROWS:
        return f"it has fewer than {_LEAST_ROWS} training rows"
    if model.preprocessing.n_columns > _COLUMNS:
        return f"it has more than {_COLUMNS} encoded columns, and refits would take long"
    return why_unsolved(model)


def refit_on_parts(model: FittedRFM, count: int, columns: Sequence[int], groups: Groups, seed: int) -> Refits:
    """Refit a model ``count`` times on four fifths of its training rows, or on 400 rows where that is more.

    ``columns`` and ``groups`` are permuted in rows that are held out of a refit.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0]).model_
    >>> found = refit_on_parts(model, 3, [0, 1], (), seed=0)
    >>> found.shares.shape, found.fitted_rows, bool((found.shares[:, 0] > 0.8).all())
    ((3, 2), 64, True)
    """
    rng, members = np.random.default_rng(seed), model.ensemble.members
    chances = np.array([member.share for member in members])
    chances /= chances.sum()
    found = []
    with threads(model.n_threads):
        solved = SolvedRows.of(model)
        data = Rows(model.machine.X[solved.at], solved.Y, solved.weights)
        n = len(data)
        m = min(int(_FITTED_SHARE * n), _FITTED_ROWS)
        for _ in range(count):
            order = torch.from_numpy(rng.permutation(n)).to(data.X.device)
            fitted, held_out = data[order[:m].sort().values], data[order[m : m + _HELD_OUT_ROWS]]
            k = int(rng.choice(len(members), p=chances))
            machine = _refit(members[k], fitted, model)
            score, drops = _drops(model, machine, held_out, columns, groups, rng)
            found.append((_shares(model, machine, fitted), k, drops, score))
        own = _member_shares(model, data)
    parts, drawn, drops, scores = (np.array(part) for part in zip(*found, strict=True))
    return Refits(parts, drawn, own, chances, drops, scores, n, m, len(held_out))


def _shares(model: FittedRFM, machine: KernelMachine, rows: Rows) -> Float[np.ndarray, " p"]:
    squares = sampled_squares(partial(machine.gradient, by_input=False), rows.X, rows.weights)
    return shares(model.columns.fold(squares.cpu().numpy().astype(np.float64)))


def _member_shares(model: FittedRFM, rows: Rows) -> Float[np.ndarray, "k p"]:
    """Return the shares of each member; those of their average for all, where a member is several machines."""
    machines, members = model.ensemble.machines, model.ensemble.members
    if len(machines) == len(members):
        return np.stack([_shares(model, machine, rows) for machine in machines if isinstance(machine, KernelMachine)])
    squares = sampled_squares(model.ensemble.own_gradient, rows.X, rows.weights).cpu().numpy()
    return np.tile(shares(model.columns.fold(squares)), (len(members), 1))


def _refit(member: MemberHistory, rows: Rows, model: FittedRFM) -> KernelMachine:
    """Repeat the rounds of a member on some rows."""
    solver = Direct()
    last, most = len(member.path) - 1, model.history.plan.max_bytes
    candidate = Candidate(member.kernel, member.update, solver, solver, last, most, _SEED)
    growth = 1.0 if member.weight is None else rows.total_weight / member.weight
    *_, (_, machine) = rounds(candidate, rows, ReplayedParams(member.path, _SEED, growth))
    return machine


def _drops(
    model: FittedRFM,
    machine: KernelMachine,
    rows: Rows,
    columns: Sequence[int],
    groups: Groups,
    rng: np.random.Generator,
) -> tuple[float, Float[np.ndarray, " q"]]:
    """Permute columns of rows that a machine was not fitted to."""

    def outputs(Z: Array) -> Array:
        predicted = machine.predict(model.tensor(Z), batch_invariant=False)
        return model.target_scaler.inverse_transform(predicted.cpu().numpy().astype(np.float64))

    codes = model.target_scaler.inverse_transform(rows.Y.cpu().numpy().astype(np.float64))
    weights = model.target.unweighted(rows.weights_or_ones.cpu().numpy().astype(np.float64), codes)
    Z = model.features.expand(rows.X.cpu().numpy())
    return permutation_drops(model, outputs, Z, codes, weights, columns, groups, rng)


def shares(totals: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch p"]:
    """Divide by the sum over the last axis; the shares are equal where all totals are 0.

    >>> import numpy as np
    >>> shares(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    """
    size = totals.sum(axis=-1, keepdims=True)
    return np.where(size > 0, totals / np.where(size > 0, size, 1.0), 1 / totals.shape[-1])
