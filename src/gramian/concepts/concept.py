"""A concept that was found in the hidden states of a model: directions, scores, a detector, in one frozen value."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gramian.concepts.activations import collect
from gramian.concepts.detector import Detector
from gramian.concepts.directions import LayerDirection
from gramian.concepts.gram_rounds import RadialKernel
from gramian.concepts.layer_machine import LayerFit, ThinPlusIdentity
from gramian.concepts.row_space import Flattening
from gramian.concepts.scores import Interval, Kind
from gramian.concepts.steering import steer as steer_model
from gramian.concepts.token_scores import TokenScores
from gramian.concepts.tokens import Tokenizer, encode
from gramian.display import Renderable, Section, Table, format_fixed
from gramian.files import ModelFileError, read, register, write
from gramian.kernels import Gaussian, KernelOperator, Laplace
from gramian.rfm.machine import KernelMachine

METHODS = ("rfm", "logistic", "mean_difference", "pca")
Method = Literal["rfm", "logistic", "mean_difference", "pca"]


@dataclass(frozen=True)
class LayerSetting:
    """The setting of a layer's probe that the folds have selected."""

    layer: str
    kernel: RadialKernel
    flatten: float
    ridge: float
    round: int


@dataclass(frozen=True, eq=False, repr=False)
class Concept(Renderable):
    """Directions of a concept in each layer, their scores on held-out rows, and a detector over all layers.

    :func:`gramian.concepts.fit_concept` makes it. A probe shows that a concept can be read from hidden states, not that
    the model uses it.

    Attributes
    ----------
    name : str
    kind : "classes", "soft" or "graded"
    classes : tuple of str
        Names of the classes, sorted; ``("more",)`` for graded labels.
    columns : tuple of str
        The classes that have directions: the second of two, or each of several against the rest.
    position : str
        Tokens that the training rows were taken from.
    rows : int
        Number of training rows.
    scale : tuple of float
        Ends of the scale of graded labels; (0, 1) otherwise.
    found : mapping
        Directions by method, then by class, then by layer.
    spreads : mapping
        Standard deviations of the training rows along them, by method: (classes, layers).
    aucs : mapping
        Out-of-fold AUC of each layer with its interval, by method; the concordance for graded labels.
    gains : tuple of Interval
        AUC of the recursive feature machine minus that of the best baseline, by layer, on the same held-out rows.
    settings : tuple of LayerSetting
    detector : Detector
    machines : tuple of LayerFit
        Fitted probes of the detector's layers.
    """

    name: str
    kind: Kind
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    position: str
    rows: int
    scale: tuple[float, float]
    found: Mapping[str, tuple[tuple[LayerDirection, ...], ...]]
    spreads: Mapping[str, Float[Tensor, "c l"]]
    aucs: Mapping[str, tuple[Interval, ...]]
    gains: tuple[Interval, ...]
    settings: tuple[LayerSetting, ...]
    detector: Detector
    machines: tuple[LayerFit, ...]

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of all layers."""
        return tuple(setting.layer for setting in self.settings)

    def directions(self, method: str = "rfm", of: str | None = None) -> tuple[LayerDirection, ...]:
        """Return one direction per layer.

        Parameters
        ----------
        method : "rfm", "logistic", "mean_difference" or "pca"
        of : str, optional
            The class towards which the directions point; the last one by default.
        """
        if method not in self.found:
            raise ValueError(f"method must be one of {', '.join(self.found)}, got {method!r}")
        return self.found[method][self._column(of)]

    def score(
        self, texts: Sequence[str], *, model: nn.Module, tokenizer: Tokenizer, show: bool = True
    ) -> Float[np.ndarray, "n ..."]:
        """Score texts by the detector: the probability of the concept ``(n,)``, or of each class ``(n, classes)``.

        For graded labels it is the expected grade. ``model`` must be the model that the concept was found in.
        """
        return self._in_units(self.probabilities(self._outputs(texts, model, tokenizer, show)))

    def probabilities(self, hidden: Mapping[str, Float[Tensor, "n d"]]) -> Float[Tensor, "n k"]:
        """Return the detector's probabilities from hidden states by layer; only the detector's layers are read."""
        names = [self.layers[index] for index in self.detector.layers]
        missing = [name for name in names if name not in hidden]
        if missing:
            raise ValueError(f"hidden must have the hidden states of {', '.join(missing)}")
        outputs = [
            fit.outputs(_width_checked(hidden[name], fit, name)) for name, fit in zip(names, self.machines, strict=True)
        ]
        return self.detector.probabilities(torch.stack(outputs, dim=1))

    def prediction_sets(
        self, texts: Sequence[str], *, model: nn.Module, tokenizer: Tokenizer, coverage: float = 0.9, show: bool = True
    ) -> list[tuple[str, ...]] | list[tuple[float, float]]:
        """Return for each text the classes that it may have, such that the true one is among them with ``coverage``.

        The guarantee is that of conformal prediction, for texts like the training texts; a set may be empty. For graded
        labels the result is an interval of grades.
        """
        tolerance = self.detector.tolerance(coverage)
        p = self.probabilities(self._outputs(texts, model, tokenizer, show))
        if self.kind == "graded":
            low, high = self.scale
            ends = [(max(float(v) - tolerance, 0.0), min(float(v) + tolerance, 1.0)) for v in p[:, 0]]
            return [(low + (high - low) * a, low + (high - low) * b) for a, b in ends]
        both = torch.cat([1 - p, p], dim=1) if p.shape[1] == 1 else p
        return [
            tuple(name for name, v in zip(self.classes, row, strict=True) if 1 - v <= tolerance)
            for row in both.tolist()
        ]

    def token_scores(
        self,
        texts: Sequence[str],
        *,
        model: nn.Module,
        tokenizer: Tokenizer,
        method: str = "rfm",
        of: str | None = None,
        show: bool = True,
    ) -> list[TokenScores]:
        """Score every token of each text along the directions of the detector's layers, weighted as it weights them."""
        column, chosen = self._column(of), self.detector.layers
        directions = [self.directions(method, of)[index] for index in chosen]
        states = collect(
            model, texts, tokenizer=tokenizer, layers=[one.layer for one in directions], position="all", show=show
        )
        weights = self.detector.weights / self.detector.weights.sum().clamp_min(1e-12)
        total = torch.zeros(len(states))
        for weight, index, one in zip(weights.tolist(), chosen, directions, strict=True):
            spread = float(self.spreads[method][column, index]) or 1.0
            total += weight * one.along(states.layer(one.layer)) / spread
        name = self.columns[column]
        decode = getattr(tokenizer, "decode", None)
        scored = []
        for number, ids in enumerate(encode(tokenizer, texts)):
            tokens = tuple(str(int(i)) if decode is None else str(decode([int(i)])) for i in ids)
            scored.append(TokenScores(name, tokens, total[torch.from_numpy(states.text == number)].numpy()))
        return scored

    def steer(
        self,
        model: nn.Module,
        strength: float,
        layers: Literal["auto"] | Sequence[str] = "auto",
        method: str = "rfm",
        of: str | None = None,
    ) -> AbstractContextManager[nn.Module]:
        """Steer a model along the directions; see :func:`gramian.concepts.steering.steer`."""
        return steer_model(model, [(self.directions(method, of), strength)], layers=layers)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the concept to a file of numbers and text, with checksums; opening it runs no code."""
        write(self, path, "concept")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Concept:
        """Open a file that :meth:`save` has written; a damaged file is refused with a ``ModelFileError``."""
        found = read(path)
        if not isinstance(found, cls):
            raise ModelFileError(f"{path} holds a {type(found).__name__}, not a concept: gramian.load opens models")
        return found

    def sections(self) -> list[Section]:
        """Return a table of the scores by layer, one column per method."""
        rows = []
        for index, setting in enumerate(self.settings):
            cells = [format_fixed(self.aucs[method][index].value, 3) for method in METHODS]
            gain = self.gains[index]
            interval = f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"
            weight = self.detector.layers.index(index) if index in self.detector.layers else None
            share = (
                "" if weight is None else f"{float(self.detector.weights[weight] / self.detector.weights.sum()):.0%}"
            )
            probe = f"{type(setting.kernel).__name__}, round {setting.round}, ridge {setting.ridge:g}"
            rows.append([setting.layer, *cells, interval, share, probe])
        headings = ["layer", "RFM", "logistic", "mean diff.", "PCA", "RFM − best other", "weight", "probe"]
        measure = "share of correctly ordered pairs" if self.kind == "graded" else "AUC"
        note = f"{measure} on held-out rows of five folds; 95 % intervals over rows; weight in the detector"
        return [Section(f"{self.name}: {', '.join(self.classes)} ({self.rows:,} rows)", Table(headings, rows), note)]

    def __repr__(self) -> str:
        return f"Concept({self.name!r}, classes={self.classes!r}, layers={len(self.settings)}, rows={self.rows})"

    def _column(self, of: str | None) -> int:
        if of is None:
            return len(self.columns) - 1
        if of not in self.columns:
            raise ValueError(f"of must be one of {', '.join(self.columns)}, got {of!r}")
        return self.columns.index(of)

    def _outputs(
        self, texts: Sequence[str], model: nn.Module, tokenizer: Tokenizer, show: bool
    ) -> dict[str, Float[Tensor, "n d"]]:
        position = self.position
        if position not in ("last", "mean"):
            position = "last"  # rows of chosen tokens: the text ends with the token of interest
        names = [self.layers[index] for index in self.detector.layers]
        chosen: Literal["last", "mean"] = "mean" if position == "mean" else "last"
        states = collect(model, texts, tokenizer=tokenizer, layers=names, position=chosen, show=show)
        return {name: states.layer(name) for name in names}

    def _in_units(self, p: Float[Tensor, "n k"]) -> Float[np.ndarray, "n ..."]:
        low, high = self.scale
        values: np.ndarray = p.numpy()
        return low + (high - low) * values[:, 0] if values.shape[1] == 1 else values


def _width_checked(hidden: Float[Tensor, "n d"], fit: LayerFit, name: str) -> Float[Tensor, "n d"]:
    if hidden.shape[1] != fit.machine.X.shape[1]:
        raise ValueError(
            f"model: the hidden states of {name} have width {hidden.shape[1]}, and those of the concept "
            f"{fit.machine.X.shape[1]}: use the model that the concept was found in"
        )
    return hidden


register("kernels", Gaussian, KernelOperator, Laplace)
register("rfm", KernelMachine)
register("concepts", Concept, Detector, Flattening, Interval, LayerDirection, LayerFit, LayerSetting, ThinPlusIdentity)
