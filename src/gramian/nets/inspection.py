"""inspect: from (model, data) to one record per layer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from gramian.core.progress import progress
from gramian.nets.batches import Batch, Unpack, batches, can_repeat
from gramian.nets.capture import Capture
from gramian.nets.collect import Collector, Options
from gramian.nets.layers import find_layers, unwrap
from gramian.nets.losses import Loss
from gramian.nets.record import LayerRecord
from gramian.nets.report import FeatureReport


def inspect(
    model: nn.Module,
    data: Any,
    loss: Loss | nn.Module | str | None = None,
    *,
    layers: str | Sequence[str] | Callable[[str, nn.Module], bool] | None = None,
    outputs: str | int | Sequence[int] = "all",
    projections: str = "fresh",
    weight_decay: float | torch.optim.Optimizer | Mapping[str, float] | None = None,
    device: str | torch.device = "auto",
    initial: nn.Module | Mapping[str, Tensor] | None = None,
    step: float = 1.0,
    geometry: bool = True,
    ridge: float = 1e-3,
    output: Callable[[Any], Tensor] | None = None,
    unpack: Unpack | None = None,
    max_samples: int | None = None,
    batch_size: int = 256,
    max_dim: int = 4096,
    sketch: int = 256,
    seed: int = 0,
) -> FeatureReport:
    """See what every layer of a model has learned: one row per layer, every feature matrix on request.

    Parameters
    ----------
    model
        Any ``nn.Module``. It is run in eval mode and comes back as it was: modes, hooks, ``requires_grad``.
    data
        A tensor, a tuple of tensors ``(X, y)``, or any iterable of batches: tensors, tuples whose last
        element is the target, or mappings as Hugging Face models take them.
    loss
        The loss that was trained: ``"mse"``, ``"cross_entropy"``, a torch criterion (its ``reduction`` is
        honoured), any callable ``loss(output, target)`` that returns one value per sample ``(n,)`` or their
        mean, or ``"model"`` where the model's output carries ``.loss``. Without it the loss-free matrices
        are measured.
    layers
        Names or patterns (``"encoder.*.query"``), or a function of ``(name, module)``; every layer by
        default.
    outputs
        ``"all"`` takes one backward pass per output. An integer takes that many random ±1 combinations of the
        outputs instead, which is unbiased; the error is in the column ``agop_error``. A list takes those
        outputs. Beyond 512 outputs ``"all"`` becomes 64 projections, with a warning.
    projections
        ``"fresh"`` draws the random combinations anew for each sample, so the error falls with the number of samples
        too. ``"shared"`` takes the same ones for all samples, which ``agop_centered`` needs: its error falls with the
        number of projections only.
    weight_decay
        λ of the training loss ``(1/n) Σ ℓᵢ + (λ/2)‖θ‖²``, per layer as a mapping, or the optimiser itself:
        SGD and Adam add λW to the gradient, AdamW does not, and its preconditioner is read from its state.
    device
        ``"auto"`` stays where the model is; anything else moves the model there and back.
    initial
        The state dict at initialisation (or the untrained model): adds C-NFA, double-centred and PTK-centred
        NFA.
    step
        η of the virtual covariance shift.
    geometry
        Whether to relate features and targets (target linearity, surrogates, neural collapse), where there
        are targets.
    ridge
        γ of the target linearity, relative to the mean eigenvalue of the features' (centred) Gram matrix.
    output, unpack
        How to read a tensor from what the model returns, and ``(args, kwargs, target)`` from a batch, where
        the defaults do not fit.
    max_samples, batch_size
        How many samples to look at, and the batch size when ``data`` is one tensor.
    max_dim, sketch
        Matrices with more rows than ``max_dim`` are not formed: comparisons run through thin factors, or,
        when both sides are wider, through this many random probes.
    seed
        Of the private generator behind projections and probes.

    Returns
    -------
    FeatureReport

    Examples
    --------
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    ...     X = torch.randn(64, 5)
    >>> report = inspect(model, (X, X[:, :1]), loss="mse", weight_decay=1e-3)
    >>> report.layers
    ['0', '2']
    >>> report.matrix("0", "agop").shape
    (5, 5)
    >>> round(report.similarity("2", "nfm", "agop", power=0.5), 6)
    1.0
    """
    if projections not in ("fresh", "shared"):
        raise ValueError(f'projections must be "fresh" or "shared", got {projections!r}')
    inner = unwrap(model)
    found, skipped = find_layers(inner, layers)
    if not found:
        raise ValueError(
            "the model has no layer that can be measured"
            + (f"; skipped: {skipped}" if skipped else ": it has no weight matrix")
        )
    options = Options(
        loss=loss,
        outputs=outputs,
        projections=projections,
        weight_decay=weight_decay,
        step=step,
        geometry=geometry,
        ridge=ridge,
        output=output,
        initial=_initial_tensors(inner, initial),
        max_dim=max_dim,
        sketch=sketch,
        seed=seed,
    )
    # A model with randomness of its own must not advance the user's generator.
    with _on_device(inner, device) as place, torch.random.fork_rng(devices=[]), parametrize.cached():
        collector = Collector(inner, found, options)

        def read() -> Iterator[Any]:
            return batches(
                data,
                device=place,
                batch_size=batch_size,
                keep_target=loss == "model",
                unpack=unpack,
                max_samples=max_samples,
            )

        with (
            Capture(inner, found, collector.features.show) as capture,
            torch.enable_grad(),
            progress("inspecting", _count(data), show=True) as tick,
        ):
            for batch in read():
                collector.add(capture, batch)
                tick()
        records, unmeasured = collector.finish(capture)
        means = collector.features.means(collector.samples)
        if means and can_repeat(data):
            # With gradients on: without them attention takes a fused path that no hook sees.
            with Capture(inner, found, collector.features.show) as capture, torch.enable_grad():
                _add_nc4(records, collector, capture, means, read())
    skipped.update(unmeasured)
    if not records:
        raise ValueError(f"no layer could be measured; skipped: {skipped}")
    if collector.projected_from:
        warnings.warn(
            f"{collector.projected_from} outputs were sampled with {sum(collector.projections)} "
            "random projections; the "
            "column agop_error gives the relative error (pass outputs=<number> to choose)",
            stacklevel=2,
        )
    few = {name: m.h.shape[0] for name, m in collector.features.inputs.items() if m.count <= m.h.shape[0]}
    if few:
        warnings.warn(
            f"{collector.samples} samples for up to {max(few.values())} features in {len(few)} layers: any "
            "target is linear in so many features, so target_linearity and nc1 say little (use more data)",
            stacklevel=2,
        )
    return FeatureReport(records, skipped, collector.settings())


def _add_nc4(
    records: dict[str, LayerRecord],
    collector: Collector,
    capture: Capture,
    means: dict[str, Tensor],
    data: Iterator[Batch],
) -> None:
    """NC4 needs the finished class means, so it takes a second pass."""
    agree, seen = dict.fromkeys(means, 0), 0
    for batch in data:
        _, f = collector.forward(capture, batch)
        for name, count in collector.features.agreement(means, f.argmax(1).cpu()).items():
            agree[name] += count
        seen += batch.size
    for name, count in agree.items():
        if name in records:
            records[name].geometry["nc4"] = count / seen


def _initial_tensors(model: nn.Module, initial: nn.Module | Mapping[str, Tensor] | None) -> dict[str, Tensor] | None:
    if initial is None:
        return None
    computed = [name for name, module in model.named_modules() if parametrize.is_parametrized(module)]
    if computed:
        raise ValueError(
            f"initial: the weights of {computed[:3]} come from a parametrisation, so the initial network "
            "cannot be rebuilt from its state; remove it (torch.nn.utils.parametrize) or leave initial out"
        )
    state = unwrap(initial).state_dict() if isinstance(initial, nn.Module) else dict(initial)
    now = model.state_dict()
    missing = [key for key in now if key not in state]
    if missing:
        raise ValueError(f"initial has no entry for {missing[:3]}: pass the state_dict of this very model")
    wrong = [key for key in now if state[key].shape != now[key].shape]
    if wrong:
        raise ValueError(f"initial has another shape than the model for {wrong[:3]}")
    return {key: state[key].detach() for key in now}


@contextmanager
def _on_device(model: nn.Module, device: str | torch.device) -> Iterator[torch.device]:
    first = next(model.parameters(), None)
    home = torch.device("cpu") if first is None else first.device
    if device == "auto" or torch.device(device) == home:
        yield home
        return
    if len({p.device for p in model.parameters()}) > 1:
        raise ValueError("device: the model is spread over several devices, use device='auto'")
    try:
        model.to(device)
        yield torch.device(device)
    finally:
        model.to(home)


def _count(data: Any) -> int | None:
    """How many batches there will be, where the data says so."""
    return len(data) if hasattr(data, "__len__") and not isinstance(data, Tensor | tuple) else None
