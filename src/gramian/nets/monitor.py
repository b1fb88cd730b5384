"""Monitor: the measurements of inspect while a network trains."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gramian.core import pearson, wide_dtype
from gramian.core.warn import warn
from gramian.features import vcs_from_moments
from gramian.nets.batches import can_repeat
from gramian.nets.collect import Outputs
from gramian.nets.decay import WeightDecay, resolve_decay
from gramian.nets.initial import reason_against_initial
from gramian.nets.inspection import inspect
from gramian.nets.layers import Layer, LayerSelection, find_layers, unwrap
from gramian.nets.losses import LossLike
from gramian.nets.options import INITIAL_COLUMNS, InspectOptions
from gramian.nets.report import FeatureReport

if TYPE_CHECKING:
    import pandas as pd


BLOCK = 65536  # entries of a product that fits into the cache


def column_products(W: Float[Tensor, "g m k"], G: Float[Tensor, "g m k"]) -> Float[Tensor, "g k"]:
    """``Σⱼ W_jk G_jk``, the diagonal of ``WᵀG``, a block of rows at a time.

    The product of whole weights would be written to new memory and read again at every step: six times slower at
    1024 × 1024.

    >>> column_products(torch.ones(1, 3, 2), 2 * torch.ones(1, 3, 2))
    tensor([[6., 6.]])
    """
    rows = max(1, BLOCK // W[:, :1].numel())
    total = torch.zeros_like(W[:, 0])
    for w, g in zip(W.split(rows, 1), G.split(rows, 1), strict=True):
        total += (w * g).sum(1)
    return total


class Monitor:
    """Measure a model every k steps of training, and sum its virtual covariance shift over all steps.

    Call :meth:`step` once per training step, between ``loss.backward()`` and ``optimizer.step()``, with
    ``scale=scaler.get_scale()`` under a gradient scaler. It adds this step's virtual covariance shift
    ``−η (Wᵀ∇L + ∇LᵀW) − 2ηλ WᵀW`` to the sum, with the optimiser's weight decay λ and the sign of ∇L changed where it
    maximises (paper E: for small steps of plain gradient descent it tracks the change of WᵀW; momentum and Adam change
    its scale) and, every ``every`` steps, the first included, runs :func:`gramian.nets.inspect` on ``data``, with
    the weights the model had when the monitor was created as the initial ones. In between it costs one
    product per weight (``vcs="diagonal"``), one matrix product per weight (``"full"``), or nothing
    (``"off"``).

    Parameters
    ----------
    model, data, loss
        As for :func:`gramian.nets.inspect`; ``data`` is a fixed probe set that can be read many times.
    every
        Steps between measurements.
    optimizer
        Gives the learning rate of each weight and, unless ``weight_decay`` is given, the weight decay (FACT
        is left out, with a warning, where its stationarity condition is not known). Without it η = 1.
    vcs
        Sum the ``"diagonal"`` of the shift, the ``"full"`` matrix, or nothing (``"off"``).
    layers, outputs, weight_decay, batch_size, seed, options
        As for :func:`gramian.nets.inspect`.
    log
        ``log(metrics, step)`` is called after every measurement with a flat ``dict[str, float]``: a function of your
        own, or one of :mod:`gramian.nets.trackers` for TensorBoard, Weights & Biases and MLflow.

    Examples
    --------
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    ...     X = torch.randn(32, 4)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> monitor = Monitor(model, (X, X[:, :1]), loss="mse", every=5, optimizer=optimizer)
    >>> for _ in range(11):
    ...     optimizer.zero_grad()
    ...     nn.functional.mse_loss(model(X), X[:, :1]).backward()
    ...     _ = monitor.step()
    ...     optimizer.step()
    >>> monitor.steps
    [0, 5, 10]
    >>> monitor.metrics["0/c_nfa_cos"] > 0
    True
    """

    def __init__(
        self,
        model: nn.Module,
        data: object,
        loss: LossLike | None = None,
        *,
        every: int = 100,
        optimizer: torch.optim.Optimizer | None = None,
        vcs: str = "diagonal",
        log: Callable[[dict[str, float], int], object] | None = None,
        layers: LayerSelection | None = None,
        outputs: Outputs = "all",
        weight_decay: WeightDecay = None,
        batch_size: int = 256,
        seed: int = 0,
        options: InspectOptions | None = None,
    ):
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        if vcs not in ("diagonal", "full", "off"):
            raise ValueError(f'vcs must be "diagonal", "full" or "off", got {vcs!r}')
        if not can_repeat(data):
            raise ValueError("data is an iterator, which is empty after one measurement: pass a list or a loader")
        self.model, self.every, self.optimizer, self.log = model, every, optimizer, log
        self.weight_decay = weight_decay
        self.initial = {key: value.detach().clone() for key, value in unwrap(model).state_dict().items()}
        self._inspect = partial(
            inspect,
            model,
            data,
            loss,
            layers=layers,
            outputs=outputs,
            initial=self.initial if self._knows_start(options) else None,
            batch_size=batch_size,
            seed=seed,
            options=options,
        )
        self.count = 0
        self.steps: list[int] = []
        self.history: list[dict[str, float]] = []
        self.report: FeatureReport | None = None
        self._vcs_kind = vcs
        self._decay_unknown = False
        found, _ = find_layers(unwrap(model), layers)
        # The matrix of a parameter that a module multiplies by itself is known in a forward pass only.
        self._layers = {layer.name: layer for layer in found if layer.is_oriented}
        self._vcs: dict[str, Tensor] = {}

    @property
    def metrics(self) -> dict[str, float]:
        """The last measurement as a flat dict."""
        if not self.history:
            raise ValueError("nothing was measured yet: call step() or measure()")
        return dict(self.history[-1])

    def step(self, scale: float | None = None) -> dict[str, float] | None:
        """Count one training step; returns the measurement if one is due at this step.

        Parameters
        ----------
        scale
            Under a gradient scaler (mixed precision) the number by which the gradients are too large now:
            ``scaler.get_scale()``, or 1 after ``scaler.unscale_(optimizer)``. Gradients that are not finite then add no
            shift, because the scaler leaves their step out.
        """
        if scale is not None and not scale > 0:
            raise ValueError(f"scale must be positive, got {scale}: pass scaler.get_scale()")
        step, due = self.count, self.count % self.every == 0
        found = self._measure() if due else None
        if self._vcs_kind != "off" and (scale is None or self._steps_finitely()):
            self._add_shift(1.0 if scale is None else scale)
        self.count += 1  # before the log, which may raise: the step is then counted, and not measured twice
        if found is not None and self.log is not None:
            self.log(dict(found), step)
        return found

    def measure(self) -> dict[str, float]:
        """Measure now, independently of the step count."""
        found = self._measure()
        if self.log is not None:
            self.log(dict(found), self.count)
        return found

    def state_dict(self) -> dict[str, object]:
        """Everything that a resumed run needs: step count, history, initial weights and the summed shift.

        ``torch.save`` stores it, and ``torch.load(..., weights_only=True)`` reads it.
        """
        return {
            "count": self.count,
            "steps": list(self.steps),
            "history": [dict(entry) for entry in self.history],
            "initial": {key: value.clone() for key, value in self.initial.items()},
            "vcs_kind": self._vcs_kind,
            "vcs": {name: total.clone() for name, total in self._vcs.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state of :meth:`state_dict`; the last report is not part of it."""
        if state["vcs_kind"] != self._vcs_kind:
            raise ValueError(
                f"the state was saved with vcs={state['vcs_kind']!r}, and the monitor has {self._vcs_kind!r}"
            )
        if set(state["initial"]) != set(self.initial):
            raise ValueError(
                "the state has the initial weights of another model: load it into a monitor of the same one"
            )
        self.count, self.steps = int(state["count"]), list(state["steps"])
        self.history = [dict(entry) for entry in state["history"]]
        self.initial.update({key: value.to(self.initial[key].device) for key, value in state["initial"].items()})
        devices = {name: layer.weight().device for name, layer in self._layers.items()}
        self._vcs = {name: total.clone().to(devices[name]) for name, total in state["vcs"].items()}
        self.report = None

    def _measure(self) -> dict[str, float]:
        grads = [(p, p.grad) for p in self.model.parameters()]
        decay = self.weight_decay if self.weight_decay is not None else self._known_decay()
        self.report = self._inspect(weight_decay=decay)
        for p, grad in grads:
            assert p.grad is grad  # inspect differentiates with torch.autograd.grad and never accumulates into .grad
        found = self.report.metrics() | self._shift_metrics()
        loss = self.report.settings["loss"]
        if isinstance(loss, float):
            found["loss"] = loss
        self.steps.append(self.count)
        self.history.append(found)
        return found

    def vcs(self, layer: str) -> np.ndarray:
        """The summed virtual covariance shift of a layer: its diagonal (k,), or the matrix (k, k) for
        ``vcs="full"``.

        A grouped layer gives one per group.
        """
        if self._vcs_kind == "off":
            raise ValueError('vcs="off": create the Monitor with vcs="diagonal" or "full"')
        if layer not in self._vcs:
            raise ValueError(f"layer {layer!r} has no virtual covariance shift yet; there are {list(self._vcs)}")
        return self._vcs[layer].squeeze(0).double().cpu().numpy()

    def to_pandas(self) -> pd.DataFrame:
        """All measurements, one row per measured step (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas (history has the same numbers)") from error
        return pd.DataFrame(self.history, index=pd.Index(self.steps, name="step"))

    def _repr_html_(self) -> str:
        if self.report is None:
            return "<p>Monitor: nothing was measured yet</p>"
        when = f"Monitor, measured {len(self.steps)} times, last at step {self.steps[-1]}"
        return f"<p>{when}</p>{self.report._repr_html_()}"

    def series(self, key: str) -> list[float]:
        """One number over training, NaN where it was not measured."""
        return [entry.get(key, math.nan) for entry in self.history]

    def _known_decay(self) -> torch.optim.Optimizer | None:
        if self.optimizer is None or self._decay_unknown:
            return None
        try:
            for name, layer in self._layers.items():
                resolve_decay(self.optimizer, name, layer.weight())
        except ValueError as error:
            self._decay_unknown = True
            warn(f"{error}; the monitor continues without FACT")
            return None
        return self.optimizer

    def _knows_start(self, options: InspectOptions | None) -> bool:
        reason = reason_against_initial(unwrap(self.model))
        if reason is not None and (options is None or options.wants(*INITIAL_COLUMNS)):
            warn(f"{reason}; the monitor continues without the columns that need the initial weights")
        return reason is None

    def _steps_finitely(self) -> bool:
        """True where a gradient scaler lets the optimiser step: no gradient that it trains is infinite or NaN."""
        groups = [{"params": self.model.parameters()}] if self.optimizer is None else self.optimizer.param_groups
        gradients = (p.grad for group in groups for p in group["params"] if p.grad is not None)
        return all(bool(torch.isfinite(grad.to_dense()).all()) for grad in gradients)

    def _step_of(self, parameter: Tensor) -> tuple[float, float, float]:
        """Learning rate, weight decay and sign with which the optimiser trains a weight; no step where it does not.

        The sign is that of the loss in what the optimiser minimises: −1 where it maximises the loss.
        """
        if self.optimizer is None:
            return 1.0, 0.0, 1.0
        for group in self.optimizer.param_groups:
            if any(p is parameter for p in group["params"]):
                sign = -1.0 if group.get("maximize") else 1.0
                return float(group["lr"]), float(group.get("weight_decay", 0.0)), sign
        return 0.0, 0.0, 1.0

    @torch.no_grad()
    def _add_shift(self, scale: float) -> None:
        for name, layer in self._layers.items():
            weight = layer.weight()
            grad = weight.grad if weight.is_leaf else None
            if grad is None:
                continue
            W, G = layer.matrix(weight), layer.matrix(grad.to_dense() if grad.is_sparse else grad)
            eta, decay, sign = self._step_of(weight)
            if sign / scale != 1:
                G = sign / scale * G
            if decay:
                G = G + decay * W  # the decay's own share of the shift, −2ηλ WᵀW
            # The gradient is that of the mean loss, so its cross moment WᵀG counts as one sample.
            if self._vcs_kind == "diagonal":
                cross = column_products(W, G)[..., None, None]  # each entry of the diagonal is a 1 × 1 matrix
                shift = vcs_from_moments(cross, None, samples=1, step=eta)[..., 0, 0]
            else:
                shift = vcs_from_moments(W.mT @ G, None, samples=1, step=eta)
            if name not in self._vcs:
                # float64 wherever the device has it: thousands of small steps are added.
                self._vcs[name] = torch.zeros(shift.shape, dtype=wide_dtype(weight.device), device=weight.device)
            self._vcs[name] += shift

    def _shift_metrics(self) -> dict[str, float]:
        found = {}
        for name, total in self._vcs.items():
            layer: Layer = self._layers[name]
            W = layer.matrix(layer.weight().detach()).double()
            initial = self.initial[layer.state_key(unwrap(self.model))].to(layer.weight().device)
            W0 = layer.matrix(initial).double()
            gram, first = ((V.square().sum(1) if self._vcs_kind == "diagonal" else V.mT @ V) for V in (W, W0))
            found[f"{name}/vcs_pearson"] = pearson(total.double().cpu(), (gram - first).cpu())
            found[f"{name}/vcs_nfm_pearson"] = pearson(total.double().cpu(), gram.cpu())
        return {key: value for key, value in found.items() if not math.isnan(value)}
