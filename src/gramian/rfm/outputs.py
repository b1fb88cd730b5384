"""Which output of a model is looked at: a target of a regressor, the score of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Output:
    """Output number ``index``, times ``sign``: two classes share one score, positive for the second of them.

    >>> Output(0, -1.0, "score of class 'no'", "no").sign
    -1.0
    """

    index: int
    sign: float
    name: str
    label: Any = None

    @classmethod
    def of(cls, model: Any, wanted: Any, scores: Float[np.ndarray, " c"] | None = None) -> Output:
        """What a user means by ``output=``: a label of a classifier, the number of a regressor's target, or None.

        None stands for the only target, for the second of two classes, and else for the class with the largest score.
        """
        classes = getattr(model, "classes_", None)
        if classes is None:
            return cls._target(wanted, len(model._target_scaler.center), model.target_transform_.name)
        labels = classes.tolist()
        if wanted is None:
            if len(labels) == 2:
                at = 1
            elif scores is not None:
                at = int(scores.argmax())
            else:
                raise ValueError(f"output must name one of the classes {_listed(labels)}")
        else:
            found = [i for i, label in enumerate(labels) if label == wanted]
            if not found:
                raise ValueError(f"output must be one of the classes {_listed(labels)}, got {wanted!r}")
            at = found[0]
        name = f"score of class {labels[at]}"
        return cls(0, (-1.0, 1.0)[at], name, labels[at]) if len(labels) == 2 else cls(at, 1.0, name, labels[at])

    @classmethod
    def _target(cls, wanted: Any, count: int, scale: str) -> Output:
        # Sums over columns and rows hold on the scale the target was fitted on.
        name = "prediction" if scale == "none" else f"prediction on the {scale} scale"
        if wanted is None and count == 1:
            return cls(0, 1.0, name)
        if not isinstance(wanted, int | np.integer) or not 0 <= wanted < count:
            raise ValueError(f"output must be the number of a target, 0 to {count - 1}, got {wanted!r}")
        return cls(int(wanted), 1.0, name if count == 1 else f"prediction of target {wanted}", int(wanted))


def _listed(labels: list[Any]) -> str:
    return ", ".join(map(repr, labels[:8])) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
