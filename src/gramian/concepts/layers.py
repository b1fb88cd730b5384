"""Names of the layers of a language model whose outputs are its hidden states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import nn

Layers = str | int | Sequence[str | int]
"""``"all"``, the name of a module, the number of a block (negative numbers count from the end), or several of them."""


def block_names(model: nn.Module) -> tuple[str, ...]:
    """Return the module names of a model's blocks: the largest ``nn.ModuleList`` whose entries have one type.

    Of several such lists of the same length, the one with the most parameters is used.

    >>> model = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])})
    >>> block_names(model)
    ('layers.0', 'layers.1')
    """
    best: tuple[int, int] = (0, -1)
    names: tuple[str, ...] = ()
    for name, module in model.named_modules():
        if not isinstance(module, nn.ModuleList) or len({type(block) for block in module}) != 1:
            continue
        size = (len(module), sum(parameter.numel() for parameter in module.parameters()))
        if size > best:
            best = size
            names = tuple(f"{name}.{index}" if name else str(index) for index in range(len(module)))
    if not names:
        raise ValueError(
            f"{type(model).__name__} has no nn.ModuleList of equal blocks: pass layers as a list of module names, "
            "which model.named_modules() shows"
        )
    return names


def resolve_layers(model: nn.Module, layers: Layers = "all") -> tuple[str, ...]:
    """Return module names for ``layers``: every block for ``"all"``, else the given names and block numbers.

    >>> model = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])})
    >>> resolve_layers(model, [-1])
    ('layers.1',)
    """
    if isinstance(layers, str) and layers == "all":
        return block_names(model)
    given: Iterable[str | int] = [layers] if isinstance(layers, str | int) else layers
    modules = dict(model.named_modules())
    found = []
    for layer in given:
        name = _numbered(model, layer) if isinstance(layer, int) else layer
        if name not in modules or not name:
            near = ", ".join(list(modules)[1:6])
            raise ValueError(f"layers: {type(model).__name__} has no module {name!r}; its modules begin with {near}, …")
        found.append(name)
    if not found:
        raise ValueError('layers must name at least one module; "all" stands for every block')
    if len(set(found)) != len(found):
        raise ValueError(f"layers must be distinct, got {', '.join(found)}")
    return tuple(found)


def _numbered(model: nn.Module, number: int) -> str:
    names = block_names(model)
    if not -len(names) <= number < len(names):
        raise ValueError(f"layers: {type(model).__name__} has {len(names)} blocks, and no block {number}")
    return names[number]
