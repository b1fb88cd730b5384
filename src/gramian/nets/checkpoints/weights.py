"""inspect_weights: a report on the weight matrices of a checkpoint, streamed one matrix at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from gramian.core.progress import progress
from gramian.files import register
from gramian.nets.checkpoints.opening import CheckpointLike, OpenCheckpoint, open_checkpoint
from gramian.nets.checkpoints.report import WeightRecord, WeightReport
from gramian.nets.checkpoints.sources import RenamedSource, count_entries
from gramian.nets.checkpoints.spectra import change_numbers, imbalance, spectrum, weight_numbers
from gramian.nets.checkpoints.stored_matrices import (
    StoredMatrix,
    followed_by,
    module_matrices,
    select,
    stored_matrices,
)
from gramian.nets.checkpoints.torch_files import renamed, unwrapped_names, without_wrappers
from gramian.nets.layers import unwrap

register("nets", WeightRecord)


def inspect_weights(
    checkpoint: CheckpointLike,
    *,
    initial: CheckpointLike | None = None,
    layers: str | Iterable[str] | None = None,
    directions: int = 5,
) -> WeightReport:
    """Measure every weight matrix of a checkpoint without data: norms, ranks, spectrum, balance, and what changed.

    Matrices are read one at a time (and one of ``initial``), so a checkpoint may be far larger than the memory.

    Parameters
    ----------
    checkpoint
        A folder of Hugging Face (``config.json``, safetensors, also in shards), a file (``.safetensors``, ``.gguf``,
        or what ``torch.save(model.state_dict(), path)`` writes), a state dict, or a module.
    initial
        An earlier checkpoint of the same network: adds the columns about the change.
    layers
        Names or patterns of layers (``"model.layers.*.q_proj"``); every matrix by default.
    directions
        Number of strongest input directions that are compared between the two checkpoints.

    Returns
    -------
    WeightReport

    Examples
    --------
    >>> W = torch.diag(torch.tensor([2.0, 1.0, 1.0]))
    >>> report = inspect_weights({"a.weight": W, "a.bias": torch.zeros(3)}, initial={"a.weight": W / 2})
    >>> row = report.rows[0]
    >>> row["shape"], round(row["stable_rank"], 6), round(row["weight_change"], 6), round(row["nfm_cos"], 6)
    ('3×3', 1.5, 1.0, 1.0)
    """
    if directions < 1:
        raise ValueError(f"directions={directions}: compare at least 1 direction")
    opened, found, skipped = _open(checkpoint)
    if isinstance(opened.source, RenamedSource) and layers is not None:
        layers = [without_wrappers(pattern) for pattern in ([layers] if isinstance(layers, str) else layers)]
    chosen = select(found, layers)
    if not chosen:
        raise ValueError(f"{opened.name} holds no weight matrix; skipped: {dict(list(skipped.items())[:5])}")
    before: dict[str, StoredMatrix] = {}
    settings: dict[str, object] = {"checkpoint": opened.name, "parameters": count_entries(opened.source)}
    notes = list(opened.notes)
    if initial is not None:
        earlier, older, _ = _open(initial)
        before, note = _matched(older, found)
        if not any(one.layer in before for one in chosen):
            raise ValueError(
                f"initial: {earlier.name} has none of the layers of {opened.name}, such as {chosen[0].layer}"
            )
        settings |= {"initial": earlier.name, "directions": directions}
        notes += [f"{earlier.name}: {one}" for one in (*earlier.notes, note) if one]
    records = []
    with progress("reading weights", len(chosen), show=True) as tick:
        for one in chosen:
            record = _measure(one, before.get(one.layer), directions)
            if isinstance(record, str):
                skipped[one.layer] = record
            else:
                records.append(record)
            tick()
    for one in chosen:
        if initial is not None and one.layer not in before:
            notes.append(f"{one.layer} is not in the earlier checkpoint")
        elif one.layer in before and before[one.layer].shape != one.shape:
            notes.append(f"{one.layer} has another shape in the earlier checkpoint")
    if not records:
        raise ValueError(f"no matrix of {opened.name} could be measured: {dict(list(skipped.items())[:5])}")
    records = _balanced(records, chosen, followed_by(found, opened.source.names()))
    return WeightReport(records, skipped, settings | {"notes": notes})


def _open(checkpoint: CheckpointLike) -> tuple[OpenCheckpoint, list[StoredMatrix], dict[str, str]]:
    """Return a checkpoint without the prefixes of wrappers, its matrices, and the reasons for what is none."""
    if isinstance(checkpoint, nn.Module):
        inner = unwrap(checkpoint)
        return open_checkpoint(inner), *module_matrices(inner)
    opened = open_checkpoint(checkpoint)
    names, note = unwrapped_names(opened.source.names())
    if note:
        source = RenamedSource(opened.source, {new: old for old, new in names.items()})
        opened = replace(opened, source=source, notes=(*opened.notes, note))
    return opened, *stored_matrices(opened)


def _matched(older: list[StoredMatrix], newer: list[StoredMatrix]) -> tuple[dict[str, StoredMatrix], str]:
    """Return the earlier matrices under the names of the later ones, also where either have a prefix (Lightning's)."""
    before = {one.layer: one for one in older}
    names = [one.layer for one in newer]
    if not before.keys().isdisjoint(names):
        return before, ""
    found, note = renamed(before, names)
    if not found.keys().isdisjoint(names):
        return found, note
    under, _ = renamed(dict(zip(names, names, strict=True)), list(before))
    return {name: before[layer] for layer, name in under.items() if layer in before}, ""


def _measure(one: StoredMatrix, before: StoredMatrix | None, directions: int) -> WeightRecord | str:
    """Return the record of a matrix, or the reason why it has none."""
    W = one.read()
    if not _finite(W):
        return "it holds NaN or infinite numbers"
    changes: dict[str, float] = {}
    angles: list[float] = []
    if before is not None and before.shape == one.shape:
        W0 = before.read()
        parts = [change_numbers(w, w0, directions) for w, w0 in zip(W, W0, strict=True)]
        values = torch.cat([part[0] for part in parts])
        changes, angles = (parts[0][1], parts[0][2]) if len(parts) == 1 else (_mean([part[1] for part in parts]), [])
    else:
        values = torch.cat([spectrum(w) for w in W])
    values = values.sort(descending=True).values
    g, m, k = one.shape
    numbers = weight_numbers(values, g, m, k) | changes
    return WeightRecord(one.layer, one.kind, one.shape, one.dtype, values.numpy(), numbers, tuple(angles))


def _finite(W: Tensor) -> bool:
    # Part by part, because the comparison of a whole matrix would take another byte per entry, and float8 has none.
    return all(bool(torch.isfinite(part.float()).all()) for block in W for part in block.split(1024))


def _mean(numbers: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each number over the groups or experts of a layer."""
    return {name: sum(one[name] for one in numbers) / len(numbers) for name in numbers[0]}


def _balanced(records: list[WeightRecord], found: list[StoredMatrix], pairs: Mapping[str, str]) -> list[WeightRecord]:
    """Return the records with the balancedness of those whose next layer is known and was measured."""
    measured = {record.layer: record for record in records}
    stored = {one.layer: one for one in found}
    for layer, after in pairs.items():
        if layer in measured and after in measured:
            W, W_next = stored[layer].read()[0], stored[after].read()[0]
            values, values_next = (torch.from_numpy(measured[name].values) for name in (layer, after))
            numbers = measured[layer].numbers | {"balancedness": imbalance(W, values, W_next, values_next)}
            measured[layer] = replace(measured[layer], numbers=numbers)
    return list(measured.values())
