"""Tokens whose unembedding is nearest to a direction: a first look at the words that steering makes more likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from gramian.concepts.directions import LayerDirection
from gramian.concepts.generation import TextTokenizer


@dataclass(frozen=True)
class NearestTokens:
    """Tokens along a direction of a layer: ``more`` have the largest cosines, ``less`` the smallest, strongest first.

    The direction is compared with the rows of the unembedding as it is. That is exact for a shift of the last layer up
    to its normalisation; for earlier layers, the layers between them change it, so the tokens are a hint and no more.
    """

    layer: str
    more: tuple[str, ...]
    less: tuple[str, ...]


def nearest_tokens(
    model: nn.Module, direction: LayerDirection, *, tokenizer: TextTokenizer, count: int = 8
) -> NearestTokens | None:
    """Return the tokens whose rows of the unembedding have the largest and the smallest cosine with a direction.

    Rows are centred first, because a common part of all rows changes no probability. Returns None for a model without
    ``get_output_embeddings``, or whose unembedding has other dimensions than the hidden states.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    found = getattr(model, "get_output_embeddings", None)
    head = cast(Callable[[], nn.Module | None], found)() if callable(found) else None
    weight = getattr(head, "weight", None)
    if not isinstance(weight, Tensor) or weight.ndim != 2 or weight.shape[1] != len(direction.vector):
        return None
    with torch.no_grad():
        rows = weight.float() - weight.float().mean(0)
        lengths = rows.norm(dim=1)
        # A token that was hardly trained has a short row, whose cosine is that of its starting values.
        known = lengths > 0.5 * lengths.median()
        cosines = rows @ direction.vector.to(rows) / lengths.clamp_min(torch.finfo(rows.dtype).tiny)
        order = torch.argsort(torch.where(known, cosines, torch.zeros_like(cosines)), descending=True, stable=True)
    count = min(count, len(order) // 2)
    names = [tokenizer.decode([int(i)]) for i in (*order[:count], *order.flip(0)[:count])]
    return NearestTokens(direction.layer, tuple(names[:count]), tuple(names[count:]))
