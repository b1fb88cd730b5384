"""A target as numbers, before its coding is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gramian.tables.scaling import Array


@dataclass(frozen=True, eq=False)
class RawTarget:
    """Target as numbers, which merging of rows needs: values of a regression, or indices of ``classes``.

    ``factors`` are the weights of the classes, if there are any.
    """

    values: NDArray[np.float64]
    classes: NDArray[Any] | None = None
    factors: Array | None = None
