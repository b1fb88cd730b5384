"""Selection of one output of a model: a target of a regressor, or the score of a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from gramian.rfm.model import FittedRFM
from gramian.tables.targets import ClassTarget
from gramian.tables.types import Label

_LISTED_LABELS = 8


@dataclass(frozen=True)
class Output:
    """Output number ``index`` times ``sign``: two classes share one score, which is positive for the second of them.

    ``label`` is the class of a classifier, or the number of the target where a regressor has several.

    >>> Output(0, -1.0, "score of class no", "no").sign
    -1.0
    """

    index: int
    sign: float
    name: str
    label: Label = None

    @classmethod
    def of(cls, model: FittedRFM, wanted: Label, scores: Float[np.ndarray, " c"] | None = None) -> Output:
        """Resolve an argument ``output=``: a label of a classifier, the number of a regressor's target, or None.

        None selects the only target, the second of two classes, and else the class with the largest of ``scores``. The
        name tells where the prediction of these scores is clipped to the range of the training targets.

        >>> import numpy as np
        >>> from gramian import RFMClassifier
        >>> X = np.linspace(-1, 1, 30)[:, None]
        >>> model = RFMClassifier(preset="fast", n_rounds=0).fit(X, np.where(X[:, 0] > 0, "yes", "no")).model_
        >>> Output.of(model, None).name, Output.of(model, "no").sign
        ('score of class yes', -1.0)
        """
        if not isinstance(model.target, ClassTarget):
            found = cls._of_target(wanted, len(model.target_scaler.center), model.target.transform.name)
            if scores is None or np.array_equal(model.target.bounded(scores), scores):
                return found
            return replace(found, name=f"{found.name} before it is clipped")
        labels = model.target.classes.tolist()
        at = _class_index(labels, wanted, scores)
        name = f"score of class {labels[at]}"
        return cls(0, (-1.0, 1.0)[at], name, labels[at]) if len(labels) == 2 else cls(at, 1.0, name, labels[at])

    @classmethod
    def _of_target(cls, wanted: Label, count: int, scale: str) -> Output:
        # Sums over columns and rows hold on the scale the target was fitted on.
        name = "prediction" if scale == "none" else f"prediction on the {scale} scale"
        if wanted is None and count == 1:
            return cls(0, 1.0, name)
        if not isinstance(wanted, int | np.integer) or not 0 <= wanted < count:
            explained = f": the model predicts {count} targets, and one at a time is explained" if count > 1 else ""
            raise ValueError(f"output must be the number of a target, 0 to {count - 1}, got {wanted!r}{explained}")
        return cls(int(wanted), 1.0, name if count == 1 else f"prediction of target {wanted}", int(wanted))


def _class_index(labels: Sequence[Label], wanted: Label, scores: Float[np.ndarray, " c"] | None) -> int:
    if wanted is not None:
        matching = [i for i, label in enumerate(labels) if label == wanted]
        if not matching:
            raise ValueError(f"output must be one of the classes {_listed(labels)}, got {wanted!r}")
        return matching[0]
    if len(labels) == 2:
        return 1
    if scores is None:
        raise ValueError(f"output must name one of the classes {_listed(labels)}")
    return int(scores.argmax())


def _listed(labels: Sequence[Label]) -> str:
    rest = len(labels) - _LISTED_LABELS
    return ", ".join(map(repr, labels[:_LISTED_LABELS])) + (f" and {rest} more" if rest > 0 else "")
