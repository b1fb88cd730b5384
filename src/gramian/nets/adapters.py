"""Callbacks that call :meth:`Monitor.step` from inside a training framework.

The frameworks are extras: they are imported when an adapter is created, never before.
"""

from __future__ import annotations

import importlib
from typing import Any

from gramian.nets.monitor import Monitor


def lightning_callback(monitor: Monitor) -> Any:
    """A Lightning ``Callback`` that steps the monitor before every optimiser step and logs its measurements.

    ``Trainer(callbacks=[lightning_callback(monitor)])``; works with ``lightning`` and ``pytorch_lightning``.
    Measurements go to every logger of the trainer. Where a module has several optimisers, the monitor follows
    its own, or the first that steps.
    """
    base = _import_first(
        "Lightning", ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks"), "Callback", "lightning"
    )

    class GramianCallback(base):  # type: ignore[misc, valid-type]
        def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
            if not _is_own(monitor, optimizer):
                return
            # Lightning has divided by the scale of 16-bit training, which leaves steps that are not finite out.
            scaler = getattr(getattr(trainer, "precision_plugin", None), "scaler", None)
            found = monitor.step(None if scaler is None else 1.0)
            if found is not None:
                for logger in trainer.loggers:
                    logger.log_metrics(found, step=trainer.global_step)

    return GramianCallback()


def trainer_callback(monitor: Monitor) -> Any:
    """A Hugging Face ``TrainerCallback`` that does the same: ``Trainer(callbacks=[trainer_callback(monitor)])``.

    Measurements are appended to ``state.log_history`` of the trainer, beside its own entries.
    """
    base = _import_first("Hugging Face Trainer", ("transformers",), "TrainerCallback", "transformers")
    if not hasattr(base, "on_pre_optimizer_step"):
        # An older trainer would accept the callback and never call it.
        raise ImportError(
            "the Hugging Face Trainer adapter needs transformers 4.46 or newer: pip install -U transformers"
        )

    class GramianCallback(base):  # type: ignore[misc, valid-type]
        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            optimizer = kwargs.get("optimizer")
            if not _is_own(monitor, optimizer):
                return
            scaler = getattr(optimizer, "scaler", None)
            # The trainer divides by the scale of 16-bit training where it clips gradients, as it does by default.
            unscaled = bool(args.max_grad_norm)
            found = monitor.step(None if scaler is None else 1.0 if unscaled else scaler.get_scale())
            if found is not None:
                state.log_history.append({"step": state.global_step, **found})

    return GramianCallback()


def _is_own(monitor: Monitor, optimizer: Any) -> bool:
    """True for the monitor's optimiser, also inside a wrapper of the framework; a monitor without one adopts the
    first that steps."""
    inner = getattr(optimizer, "optimizer", optimizer)
    if monitor.optimizer is None:
        monitor.optimizer = inner
    return monitor.optimizer is inner or monitor.optimizer is optimizer


def _import_first(title: str, modules: tuple[str, ...], name: str, package: str) -> Any:
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            continue
    raise ImportError(f"the {title} adapter needs {package}: pip install {package}")
