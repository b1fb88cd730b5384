"""Measurements of ``gramian inspect``: weights alone, a network of the user, or one of a Hugging Face folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

import gramian
from gramian.cli.checkpoints import Chosen, load_weights, read_weights
from gramian.cli.inspect_data import InspectData, as_loss, read_inspect_data, read_text_data
from gramian.cli.inspect_output import InspectResult
from gramian.cli.user_code import build_model, current_folder_first
from gramian.datasets.sample_files import SampleOptions
from gramian.nets import FeatureReport, InspectOptions, inspect_checkpoints, inspect_weights
from gramian.nets.checkpoints.pretrained import batches_for, load_pretrained, load_tokenizer
from gramian.nets.checkpoints.steps import find_checkpoints
from gramian.nets.trajectory import measure_run


@dataclass(frozen=True)
class InspectRequest:
    """The checkpoints and options of one call of the command."""

    chosen: Chosen
    data: str
    rows: SampleOptions
    loss: str
    initial: Path | None
    layers: list[str] | None
    outputs: str | int
    weight_decay: float | None
    batch_size: int
    device: str | torch.device
    seed: int
    layers_at_a_time: int | None = None

    def inspect(self, model: nn.Module, given: InspectData, initial: Any = None) -> FeatureReport:
        """Measure one network on the data."""
        return gramian.inspect(
            model,
            given.data,
            given.loss,
            layers=self.layers,
            outputs=self.outputs,
            weight_decay=self.weight_decay,
            initial=initial,
            device=self.device,
            max_samples=self.rows.n_samples,
            batch_size=self.batch_size,
            seed=self.seed,
            options=InspectOptions(layers_at_a_time=self.layers_at_a_time),
        )

    def facts(self, model: str, given: InspectData) -> dict[str, Any]:
        """Return the facts of the JSON document."""
        found = {"model": model, "data": self.data, "target": self.rows.target, "loss": given.loss_name}
        return found | {"rows_in_data": given.rows, "classes": given.classes or None}


def measure_weights(chosen: Chosen, initial: Path | None, layers: list[str] | None) -> InspectResult:
    """Measure the weights of one checkpoint, of one since another, or of a run."""
    if chosen.run:
        return InspectResult(chosen, inspect_checkpoints(chosen.paths, layers=layers), title=_run_title(chosen))
    path = chosen.paths[-1]
    before = chosen.paths[0] if len(chosen.paths) == 2 else initial
    found = inspect_weights(path, initial=before, layers=layers)
    since = "" if before is None else f", since {before.name}"
    notes = tuple(str(note) for note in found.settings.get("notes", ()))
    return InspectResult(chosen, found, title=f"The weights of {path.name or path}{since}", remarks=notes)


def measure_network(request: InspectRequest, factory: str, model_args: str | None) -> InspectResult:
    """Measure the network that a factory of the user builds, with the weights of each checkpoint."""
    chosen = request.chosen
    with current_folder_first(), torch.random.fork_rng(devices=[]):

        def build(path: Path | None) -> nn.Module:
            model = build_model(factory, model_args, request.seed)
            if path is not None:
                load_weights(model, read_weights(path), path)
            return model

        first = build(chosen.paths[0] if chosen.paths else None)
        given = read_inspect_data(first, request.data, request.rows, request.loss)
        return _measure(request, first, build, given, factory)


def measure_pretrained(request: InspectRequest, text_column: str | None, max_length: int) -> InspectResult:
    """Measure the network that transformers builds from each folder, on texts or on the user's own batches."""
    chosen = request.chosen
    with current_folder_first():
        first = load_pretrained(chosen.paths[0])
        given = read_text_data(request.data, request.rows, text_column)
        if isinstance(given, InspectData):
            given = given if request.loss == "auto" else _with_loss(given, request.loss)
        else:
            texts, total = given
            tokenizer, size = load_tokenizer(chosen.paths[0]), request.batch_size
            batches, own = batches_for(first, tokenizer, texts, batch_size=size, max_length=max_length)
            given = InspectData(batches, own, "model" if own else None, total, texts.classes)
            given = given if request.loss == "auto" else _with_loss(given, request.loss)
        return _measure(request, first, _pretrained, given, "")


def _pretrained(path: Path | None) -> nn.Module:
    assert path is not None  # the command has checked that there is a folder
    return load_pretrained(path)


def _with_loss(given: InspectData, loss: str) -> InspectData:
    chosen = None if loss == "none" else as_loss(loss)
    return replace(given, loss=chosen, loss_name=None if chosen is None else loss)


def _measure(
    request: InspectRequest, first: nn.Module, build: Callable[[Path | None], nn.Module], given: InspectData, name: str
) -> InspectResult:
    chosen, facts = request.chosen, request.facts(name, given)
    if chosen.run:
        found = measure_run(
            find_checkpoints(chosen.paths),
            lambda path: first if path == chosen.paths[0] else build(path),
            lambda model, start: request.inspect(model, given, start),
        )
        return InspectResult(chosen, found, title=_run_title(chosen), facts=facts, remarks=given.remarks)
    before = None if request.initial is None else build(request.initial).state_dict()
    reports = [request.inspect(first, given, before)]
    if len(chosen.paths) == 2:
        reports.append(request.inspect(build(chosen.paths[1]), given, before))
        compared = gramian.compare(*reports)
        return InspectResult(chosen, reports[0], reports[1], compared, facts=facts, remarks=given.remarks)
    title = chosen.paths[0].name if chosen.paths else f"{name} at initialisation"
    return InspectResult(chosen, reports[0], title=title, facts=facts, remarks=given.remarks)


def _run_title(chosen: Chosen) -> str:
    return f"{chosen.paths[0].name} to {chosen.paths[-1].name}"
