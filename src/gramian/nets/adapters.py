"""Thin callbacks that call :meth:`Monitor.step` from inside a training framework.

The frameworks are extras: they are imported when an adapter is made, never before.
"""

from __future__ import annotations

import importlib
from typing import Any

from gramian.nets.monitor import Monitor


def lightning_callback(monitor: Monitor) -> Any:
    """A Lightning ``Callback`` that steps the monitor before every optimiser step and logs what it measures.

    ``Trainer(callbacks=[lightning_callback(monitor)])``; works with ``lightning`` and ``pytorch_lightning``.
    """
    base = _first("Lightning", ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks"), "Callback", "lightning")

    class GramianCallback(base):  # type: ignore[misc, valid-type]
        def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
            if monitor.optimizer is None:
                monitor.optimizer = getattr(optimizer, "optimizer", optimizer)
            found = monitor.step()
            if found is not None and trainer.logger is not None:
                trainer.logger.log_metrics(found, step=trainer.global_step)

    return GramianCallback()


def trainer_callback(monitor: Monitor) -> Any:
    """A Hugging Face ``TrainerCallback`` that does the same:
    ``Trainer(callbacks=[trainer_callback(monitor)])``.

    Measurements are appended to ``state.log_history`` of the trainer, beside its own.
    """
    base = _first("Hugging Face Trainer", ("transformers",), "TrainerCallback", "transformers")

    class GramianCallback(base):  # type: ignore[misc, valid-type]
        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if monitor.optimizer is None:
                optimizer = kwargs.get("optimizer")
                monitor.optimizer = getattr(optimizer, "optimizer", optimizer)
            found = monitor.step()
            if found is not None:
                state.log_history.append({"step": state.global_step, **found})

    return GramianCallback()


def _first(title: str, modules: tuple[str, ...], name: str, package: str) -> Any:
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            continue
    raise ImportError(f"the {title} adapter needs {package}: pip install {package}")
