"""Labels of a concept as numbers: names of classes, probabilities, or grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gramian.concepts.scores import Kind
from gramian.core.splits import FIFTHS, draw_splits

LabelKind = Literal["auto", "classes", "soft", "graded"]
_MOST_CLASSES = 10


@dataclass(frozen=True, eq=False)
class Target:
    """Labels as ``Y (n, c)`` between 0 and 1, one column per direction that is sought.

    Two classes and grades have one column, more classes one column each, against the rest. ``low`` and ``high`` are the
    ends of the scale of graded labels.
    """

    kind: Kind
    classes: tuple[str, ...]
    Y: Float[Tensor, "n c"]
    low: float = 0.0
    high: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each column: the class whose presence it says, or ``"more"`` for graded labels."""
        return self.classes[1:] if self.Y.shape[1] == 1 and self.kind != "graded" else self.classes

    def folds(self, seed: int) -> list[tuple[Tensor, Tensor]]:
        """Return five pairs of training and held-out rows; every fold has its share of each class or grade."""
        if self.Y.shape[1] > 1:
            strata = self.Y.argmax(dim=1).numpy()
        else:
            ranks = np.argsort(np.argsort(self.Y[:, 0].numpy(), kind="stable"), kind="stable")
            strata = ranks * FIFTHS // len(ranks) if self.kind != "classes" else self.Y[:, 0].numpy().round()
        splits = draw_splits(len(self.Y), FIFTHS, seed=seed, strata=strata.astype(np.intp))
        return [(split.train, split.held_out) for split in splits]


def make_target(labels: Sequence[object] | np.ndarray | Tensor, kind: LabelKind = "auto") -> Target:
    """Convert labels to numbers.

    Parameters
    ----------
    labels : sequence or array
        One label per row. Names, booleans, and at most 10 different whole numbers are classes; other numbers are grades
        on a scale. An array (n, classes) contains probabilities.
    kind : "auto", "classes", "soft" or "graded"
        State the kind where this rule is wrong; ``"soft"`` declares numbers to be probabilities of the concept.

    >>> target = make_target(["no", "yes"] * 5)
    >>> target.classes, target.names, target.Y[:2].squeeze().tolist()
    (('no', 'yes'), ('yes',), [0.0, 1.0])
    >>> make_target([0.5, 2.5, 4.5] * 4).Y[:3].squeeze().tolist()
    [0.0, 0.5, 1.0]
    """
    if kind not in get_args(LabelKind):
        raise ValueError(f"kind must be one of {', '.join(get_args(LabelKind))}, got {kind!r}")
    values = np.asarray(labels.cpu() if isinstance(labels, Tensor) else labels)
    if not len(values) or values.ndim not in (1, 2):
        raise ValueError(f"labels must be one label per row, or (rows, classes), got shape {values.shape}")
    numeric = values.dtype.kind in "fiu"
    if numeric and not np.isfinite(values.astype(np.float64)).all():
        raise ValueError("labels must be finite: leave out rows without a label")
    if values.ndim == 2:
        return _soft_classes(values, kind)
    if kind == "auto":
        whole = numeric and bool((values == np.round(values)).all())
        named = not numeric or (whole and len(np.unique(values)) <= _MOST_CLASSES)
        kind = "classes" if named else "graded"
    if kind != "classes" and not numeric:
        raise ValueError(f"labels must be numbers for kind={kind!r}, got {values.dtype}")
    if kind == "soft":
        return _probabilities(values.astype(np.float64))
    return _classes(values) if kind == "classes" else _graded(values.astype(np.float64))


def _classes(values: np.ndarray) -> Target:
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"labels must have at least two classes, and all are {classes[0]!r}")
    rarest = int(np.bincount(codes).min())
    if rarest < FIFTHS:
        raise ValueError(f"labels must have at least {FIFTHS} rows of each class for the folds, and one has {rarest}")
    Y = np.eye(len(classes))[codes]
    columns = Y[:, 1:] if len(classes) == 2 else Y
    return Target("classes", tuple(str(name) for name in classes), torch.from_numpy(columns).float())


def _soft_classes(values: np.ndarray, kind: LabelKind) -> Target:
    if kind not in ("auto", "soft") or values.shape[1] < 2:
        raise ValueError(f"labels of shape {values.shape} must be probabilities of at least two classes")
    if (values < 0).any() or not np.allclose(values.sum(axis=1), 1, atol=1e-3):
        raise ValueError("labels (rows, classes) must be probabilities: not negative, with a sum of 1 in each row")
    columns = values[:, 1:] if values.shape[1] == 2 else values
    names = tuple(str(c) for c in range(values.shape[1]))
    return Target("soft", names, torch.from_numpy(columns.astype(np.float32)))


def _probabilities(values: np.ndarray) -> Target:
    if (values < 0).any() or (values > 1).any():
        raise ValueError("labels must be between 0 and 1 for kind='soft'")
    _check_spread(values)
    return Target("soft", ("no", "yes"), torch.from_numpy(values.astype(np.float32))[:, None])


def _graded(values: np.ndarray) -> Target:
    _check_spread(values)
    low, high = float(values.min()), float(values.max())
    scaled = torch.from_numpy(((values - low) / (high - low)).astype(np.float32))
    return Target("graded", ("more",), scaled[:, None], low, high)


def _check_spread(values: np.ndarray) -> None:
    if values.min() == values.max():
        raise ValueError(f"labels must differ, and all are {values[0]!r}")
    if len(values) < 2 * FIFTHS:
        raise ValueError(f"labels: {len(values)} rows are too few for {FIFTHS} folds")
