"""Proposition 2: with the gradient outer product the rows that are needed no longer grow with the columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from gramian.core import haar, psd_power, threads
from gramian.experiments import Claim, Null, Result, between, experiment
from gramian.experiments.b_rfm.propositions import slope
from gramian.report import style

_RIDGE = 1e-8
"""Ridge as a multiple of the mean of the kernel matrix's diagonal: no noise, so only for the rounding."""
_LEVEL = 0.9


@dataclass(frozen=True)
class PolynomialTarget:
    """A polynomial of this degree and of rank 2 in d columns, and the number of test rows."""

    degree: int
    d: int
    test: int = 500


def target(U: Float[Tensor, "n 2"], degree: int) -> Float[Tensor, " n"]:
    """Return ``u₁u₂`` (degree 2) or ``(u₁² − 1)u₂`` (degree 3): both orthogonal to all polynomials of lower degree.

    >>> target(torch.tensor([[2.0, 3.0]]), 2), target(torch.tensor([[2.0, 3.0]]), 3)
    (tensor([6.]), tensor([9.]))
    """
    if degree not in (2, 3):
        raise ValueError(f"degree must be 2 or 3, got {degree}")
    return U[:, 0] * U[:, 1] if degree == 2 else (U[:, 0].square() - 1) * U[:, 1]


def target_egop(basis: Float[Tensor, "d 2"], degree: int) -> Float[Tensor, "d d"]:
    """Return the expected gradient outer product of the target for normal inputs: ``diag(1, 1)`` or ``diag(4, 2)``.

    >>> target_egop(torch.eye(2), 3).diagonal()
    tensor([4., 2.])
    """
    weights = torch.tensor([1.0, 1.0] if degree == 2 else [4.0, 2.0], dtype=basis.dtype)
    return (basis * weights) @ basis.mT


def r2_of_rows(X: Tensor, y: Tensor, n: int, test: int, degree: int) -> float:
    """Return the test R² of ridge regression with ``(1 + xᵀz)^degree`` on the first n rows; the last are for tests."""
    train, rest = X[:n], X[-test:]
    K = (1 + train @ train.mT).pow(degree)
    K.diagonal().add_(_RIDGE * float(K.diagonal().mean()))
    factor = torch.linalg.cholesky(K)
    coef = torch.cholesky_solve(y[:n, None], factor)
    error = (1 + rest @ train.mT).pow(degree) @ coef - y[-test:, None]
    return 1 - float(error.square().sum() / y[-test:].square().sum())


def rows_needed(X: Tensor, y: Tensor, test: int, degree: int, most: int) -> int:
    """Return the smallest number of rows with a test R² of at least 0.9, to 5 %, by bisection from `most`."""
    low, high = 1, most
    while high - low > max(1, 0.05 * low):
        middle = (low + high) // 2
        if r2_of_rows(X, y, middle, test, degree) >= _LEVEL:
            high = middle
        else:
            low = middle
    return high


def growth(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the slope of log rows against log C(d + p, p) by degree, and the growth from the fewest columns."""
    numbers = {}
    for degree in (2, 3):
        found = [record for record in records if record["spec"]["degree"] == degree]
        if len(found) < 2:
            continue
        counts = [math.comb(record["spec"]["d"] + degree, degree) for record in found]
        for side in ("plain", "transformed"):
            rows = [record["numbers"][f"{side}/{degree}/{record['spec']['d']}"] for record in found]
            numbers[f"slope/{side}/{degree}"] = slope(counts, rows)
    return numbers


def _claims() -> Iterator[Claim]:
    for degree in (2, 3):
        yield between(
            f"slope/plain/{degree}",
            0.85,
            1.15,
            "as many rows as there are monomials, C(d + p, p); bisection to 5 % and the draw leave 0.05",
            label=f"degree {degree}: slope of the rows that R² = 0.9 needs against C(d + p, p), inputs as they are",
            kind="proved identity",
            null=Null(0.0, "a number of rows that does not grow"),
        )
        yield between(
            f"slope/transformed/{degree}",
            -0.15,
            0.15,
            "O(rᵖ) rows, whatever the number of columns: no slope, with the noise of counts near C(r + p, p)",
            label=f"degree {degree}: the same slope after the transformation by M^½",
            kind="proved identity",
            null=Null(1.0, "a number of rows that grows with the monomials of all columns"),
        )


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(6.4, 3.4)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, degree in zip(axes, (2, 3), strict=True):
        columns = sorted({r["spec"]["d"] for r in records if r["spec"]["degree"] == degree})
        for side, label, colour in (
            ("plain", "x", style.ORANGE),
            ("transformed", "M^½ x", style.BLUE),
        ):
            values = [
                [r["numbers"][f"{side}/{degree}/{d}"] for r in records if f"{side}/{degree}/{d}" in r["numbers"]]
                for d in columns
            ]
            ax.plot(columns, [np.mean(v) for v in values], "o-", color=colour, label=label)
        ax.plot(columns, [math.comb(d + degree, degree) for d in columns], "--", color=style.GREY, label="C(d + p, p)")
        ax.set(xlabel="columns d", title=f"degree p = {degree}", yscale="log", xticks=columns)
        style.finish(ax, "y")
    axes[0].set_ylabel("rows for R² = 0.9")
    axes[0].legend(frameon=False, fontsize=8)
    style.finish(axes[0], "y")


_SMALL = tuple(PolynomialTarget(2, d) for d in (10, 20, 40)) + tuple(PolynomialTarget(3, d) for d in (5, 10, 20))


@experiment(
    "b/prop2",
    "B",
    "Proposition 2: rows that a polynomial of rank 2 needs, with and without the gradient outer product",
    specs={
        "smoke": (PolynomialTarget(2, 4, 100), PolynomialTarget(2, 8, 100), PolynomialTarget(3, 3, 100)),
        "small": _SMALL,
        "paper": _SMALL,
    },
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
    draw=_draw,
    derive=growth,
)
def sample_complexity(spec: PolynomialTarget, seed: int) -> Result:
    """Find the rows that kernel ridge regression needs on x and on ``M^½ x``."""
    rng = torch.Generator().manual_seed(seed)
    most = 2 * math.comb(spec.d + spec.degree, spec.degree)
    X = torch.randn(most + spec.test, spec.d, generator=rng, dtype=torch.float64)
    basis = haar(spec.d, rng)[:, :2]
    y = target(X @ basis, spec.degree)
    M = target_egop(basis, spec.degree)
    M = M * (2 / float(M.trace()))
    name = f"{spec.degree}/{spec.d}"
    with threads(1):
        plain = rows_needed(X, y, spec.test, spec.degree, most)
        transformed = rows_needed(X @ psd_power(M, 0.5), y, spec.test, spec.degree, most)
    return Result({f"plain/{name}": float(plain), f"transformed/{name}": float(transformed)})
