"""Proposition 2: with the gradient outer product the rows that are needed grow with the rank, not with the columns."""

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
_RANK = 2
"""Rank of the targets whose number of columns is varied."""


@dataclass(frozen=True)
class PolynomialTarget:
    """A polynomial of this degree and even rank in d columns, the test rows, and the largest number of rows tried."""

    degree: int
    d: int
    test: int = 500
    rank: int = 2
    most: int = 4_000

    @property
    def key(self) -> str:
        """Name of the target in keys of numbers."""
        return f"{self.degree}/{self.d}" + (f"/rank={self.rank}" if self.rank != _RANK else "")


def target(U: Float[Tensor, "n r"], degree: int) -> Float[Tensor, " n"]:
    """Return the sum over pairs of coordinates of ``u₁u₂`` (degree 2) or ``(u₁² − 1)u₂`` (degree 3).

    Both are orthogonal to all polynomials of lower degree.

    >>> target(torch.tensor([[2.0, 3.0]]), 2), target(torch.tensor([[2.0, 3.0]]), 3)
    (tensor([6.]), tensor([9.]))
    """
    if degree not in (2, 3):
        raise ValueError(f"degree must be 2 or 3, got {degree}")
    first, second = U[:, ::2], U[:, 1::2]
    return ((first if degree == 2 else first.square() - 1) * second).sum(1)


def target_egop(basis: Float[Tensor, "d r"], degree: int) -> Float[Tensor, "d d"]:
    """Return the expected gradient outer product for normal inputs; of a pair it is ``diag(1, 1)`` or ``diag(4, 2)``.

    >>> target_egop(torch.eye(2), 3).diagonal()
    tensor([4., 2.])
    """
    pair = torch.tensor([1.0, 1.0] if degree == 2 else [4.0, 2.0], dtype=basis.dtype)
    return (basis * pair.repeat(basis.shape[1] // 2)) @ basis.mT


def r2_of_rows(X: Tensor, y: Tensor, n: int, test: int, degree: int) -> float:
    """Return the test R² of ridge regression with ``(1 + xᵀz)^degree`` on the first n rows; the last are for tests."""
    train, rest = X[:n], X[-test:]
    K = (1 + train @ train.mT).pow(degree)
    K.diagonal().add_(_RIDGE * float(K.diagonal().mean()))
    factor = torch.linalg.cholesky(K)
    coef = torch.cholesky_solve(y[:n, None], factor)
    error = (1 + rest @ train.mT).pow(degree) @ coef - y[-test:, None]
    return 1 - float(error.square().sum() / y[-test:].square().sum())


def rows_needed(X: Tensor, y: Tensor, test: int, degree: int, most: int) -> float:
    """Return the smallest number of rows with a test R² of at least 0.9, to 5 %; infinite if `most` rows have less."""
    if r2_of_rows(X, y, most, test, degree) < _LEVEL:
        return math.inf
    low, high = 1, most
    while high - low > max(1, 0.05 * low):
        middle = (low + high) // 2
        if r2_of_rows(X, y, middle, test, degree) >= _LEVEL:
            high = middle
        else:
            low = middle
    return float(high)


def growth(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return slopes of log rows by degree: against log C(d + p, p) at rank 2, and against log C(r + p, p) at one d.

    A slope is infinite if the largest number of rows does not suffice for one of its targets.
    """
    numbers = {}
    for degree in (2, 3):
        found = [PolynomialTarget(**record["spec"]) for record in records if record["spec"]["degree"] == degree]
        rows = {key: value for record in records for key, value in record["numbers"].items()}
        columns = [spec for spec in found if spec.rank == _RANK]
        fixed = {spec.d for spec in found if spec.rank != _RANK}
        ranks = [spec for spec in found if spec.d in fixed]
        for name, side, specs, sizes in (
            (f"slope/plain/{degree}", "plain", columns, [spec.d for spec in columns]),
            (f"slope/transformed/{degree}", "transformed", columns, [spec.d for spec in columns]),
            (f"slope/rank/{degree}", "transformed", ranks, [spec.rank for spec in ranks]),
        ):
            if len(specs) > 1:
                needed = [rows[f"{side}/{spec.key}"] for spec in specs]
                counts = [math.comb(size + degree, degree) for size in sizes]
                numbers[name] = slope(counts, needed) if math.inf not in needed else math.inf
    return numbers


def _claims() -> Iterator[Claim]:
    for degree in (2, 3):
        yield between(
            f"slope/plain/{degree}",
            0.85,
            1.15,
            "“Ω(dᵖ) samples are required”, a remark that cites a proof for d → ∞: as many rows as there are monomials, "
            "C(d + p, p); bisection to 5 % and the draw leave 0.05",
            label=f"degree {degree}: slope of the rows that R² = 0.9 needs against C(d + p, p), inputs as they are",
            null=Null(0.0, "a number of rows that does not grow"),
        )
        yield between(
            f"slope/transformed/{degree}",
            -0.15,
            0.15,
            "O(rᵖ) rows, whatever the number of columns: no slope, with the noise of counts near C(r + p, p)",
            label=f"degree {degree}: slope of the rows that R² = 0.9 needs against C(d + p, p), inputs M^½x",
            kind="proved identity",
            null=Null(1.0, "a number of rows that grows with the monomials of all columns"),
        )
        yield between(
            f"slope/rank/{degree}",
            0.85,
            1.15,
            "O(rᵖ) rows, as many as there are monomials of r coordinates, C(r + p, p); the lower end is ours; "
            "bisection to 5 % and the draw leave 0.05",
            label=f"degree {degree}, after the transformation: slope of the rows for R² = 0.9 against C(r + p, p)",
            kind="proved identity",
            null=Null(0.0, "a number of rows that does not depend on the rank, as without the transformation"),
        )


def _draw(records: Sequence[dict[str, Any]], figure: Figure) -> None:
    figure.set_size_inches(6.4, 3.4)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, degree in zip(axes, (2, 3), strict=True):
        columns = sorted({r["spec"]["d"] for r in records if r["spec"]["degree"] == degree})
        ranks = sorted({r["spec"]["rank"] for r in records if r["spec"]["degree"] == degree and r["spec"]["rank"] > 2})
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
        for rank in ranks:
            found = [r for r in records if (r["spec"]["degree"], r["spec"]["rank"]) == (degree, rank)]
            d = found[0]["spec"]["d"]
            mean = np.mean([r["numbers"][f"transformed/{degree}/{d}/rank={rank}"] for r in found])
            ax.plot(d, mean, "s", color=style.BLUE, markersize=4, label="M^½ x, ranks 4, 8, 16" if rank == 4 else None)
        ax.set(xlabel="columns d", title=f"degree p = {degree}", yscale="log", xticks=columns)
        style.finish(ax, "y")
    axes[0].set_ylabel("rows for R² = 0.9")
    axes[0].legend(frameon=False, fontsize=8)
    style.finish(axes[0], "y")


_SMALL = (
    *(PolynomialTarget(2, d) for d in (10, 20, 40)),
    *(PolynomialTarget(3, d) for d in (5, 10, 20)),
    *(PolynomialTarget(degree, 20, rank=rank) for degree in (2, 3) for rank in (4, 8, 16)),
)


@experiment(
    "b/prop2",
    "B",
    "Proposition 2: rows that a polynomial of low rank needs, with and without the gradient outer product",
    specs={
        "smoke": (
            PolynomialTarget(2, 4, 100, most=200),
            PolynomialTarget(2, 8, 100, most=200),
            PolynomialTarget(2, 8, 100, rank=4, most=200),
            PolynomialTarget(3, 3, 100, most=200),
        ),
        "small": _SMALL,
        "paper": _SMALL,
    },
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
    version=2,  # the largest number of rows is tested and does not follow C(d + p, p); ranks above 2
    draw=_draw,
    derive=growth,
)
def sample_complexity(spec: PolynomialTarget, seed: int) -> Result:
    """Find the rows that kernel ridge regression needs on x and on ``M^½ x``."""
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(spec.most + spec.test, spec.d, generator=rng, dtype=torch.float64)
    basis = haar(spec.d, rng)[:, : spec.rank]
    y = target(X @ basis, spec.degree)
    M = target_egop(basis, spec.degree)
    M = M * (spec.rank / float(M.trace()))
    with threads(1):
        plain = rows_needed(X, y, spec.test, spec.degree, spec.most)
        transformed = rows_needed(X @ psd_power(M, 0.5), y, spec.test, spec.degree, spec.most)
    return Result({f"plain/{spec.key}": plain, f"transformed/{spec.key}": transformed})
