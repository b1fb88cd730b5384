"""Hidden states of many texts: collected in batches, in memory or in a folder that survives an interruption."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gramian.concepts.folder import ActivationFolder, TokenSelection, collection_key
from gramian.concepts.hidden_states import hidden_states
from gramian.concepts.layers import Layers, resolve_layers
from gramian.concepts.tokens import Tokenizer, encode, pad, plan_batches
from gramian.core.progress import progress

Chooser = Callable[[int, Int[Tensor, " t"]], Sequence[int]]
Position = Literal["last", "mean", "all"] | Chooser
"""Tokens of a text that become rows: the last one, the mean of all but the first, every one, or those that a function
of the text's number and its token numbers returns."""
_DTYPES = {torch.float16: np.float16, torch.float32: np.float32}


@dataclass(frozen=True, eq=False)
class Activations:
    """Hidden states of texts at some layers: one row per text, or one per chosen token.

    Parameters
    ----------
    layers : tuple of str
        Names of the modules.
    values : mapping of str to array (n, d)
        Rows of each layer; memory-mapped where they are in a folder.
    text : array (n,)
        Number of the text of each row.
    token : array (n,)
        Position of the token of each row in its text; −1 for the mean over a text.
    position : str
        The rule by which tokens were chosen: ``"last"``, ``"mean"``, ``"all"`` or ``"chosen"``.

    >>> rows = np.array([[3.0, 4.0]], dtype=np.float32)
    >>> found = Activations(("0",), {"0": rows}, np.array([0]), np.array([-1]))
    >>> found.typical_norm("0"), found.layer("0")
    (5.0, tensor([[3., 4.]]))
    """

    layers: tuple[str, ...]
    values: Mapping[str, Float[np.ndarray, "n d"]]
    text: Int[np.ndarray, " n"]
    token: Int[np.ndarray, " n"]
    position: str = "last"

    def __len__(self) -> int:
        return len(self.text)

    def layer(self, name: str) -> Float[Tensor, "n d"]:
        """Return the rows of one layer in float32."""
        if name not in self.values:
            raise ValueError(f"there are no activations of layer {name!r}; the layers are {', '.join(self.layers)}")
        return torch.from_numpy(np.array(self.values[name], dtype=np.float32))

    def typical_norm(self, name: str) -> float:
        """Return the median length of the rows of a layer; first tokens may be a hundred times as long as others."""
        return float(self.layer(name).norm(dim=1).median())

    def part(self, rows: Sequence[int] | Int[np.ndarray, " m"]) -> Activations:
        """Return some of the rows, in memory."""
        at = np.asarray(rows)
        values = {name: np.asarray(array[at]) for name, array in self.values.items()}
        return Activations(self.layers, values, self.text[at], self.token[at], self.position)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Activations:
        """Open a complete folder that :func:`collect` has written, after a check of all its checksums."""
        return _opened(ActivationFolder.existing(folder))


def collect(
    model: nn.Module,
    texts: Sequence[str],
    *,
    tokenizer: Tokenizer,
    layers: Layers = "all",
    position: Position = "last",
    folder: str | os.PathLike[str] | None = None,
    batch_tokens: int = 2048,
    dtype: torch.dtype = torch.float32,
    show: bool = True,
) -> Activations:
    """Collect the hidden states of texts at some layers of a model.

    Parameters
    ----------
    model : nn.Module
        Any model that is called with ``input_ids`` and ``attention_mask``, such as those of Hugging Face.
    texts : sequence of str
    tokenizer : callable
        ``tokenizer([text], return_tensors="pt")`` returns ``input_ids`` and ``attention_mask``.
    layers : "all", names or numbers
        All blocks by default; see :func:`gramian.concepts.block_names`. A number counts blocks.
    position : "last", "mean", "all" or callable
        Tokens that become rows; ``position(number, tokens)`` returns the positions in one text, perhaps none.
    folder : path, optional
        Write the rows to files there, batch by batch. A call with the same arguments continues where an interrupted
        one has stopped, and a complete folder is only opened; other arguments or damaged files raise a ValueError.
    batch_tokens : int
        Number of tokens of a batch, including padding. Rows do not depend on it, apart from rounding.
    dtype : torch.float32 or torch.float16
        Format in which rows are stored.
    show : bool
        Show a progress bar with the time left on a terminal or in a notebook.

    Examples
    --------
    >>> from torch import nn
    >>> class Reader(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.embedding, self.blocks = nn.Embedding(128, 4), nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
    ...     def forward(self, input_ids, attention_mask):
    ...         return self.blocks[1](self.blocks[0](self.embedding(input_ids)))
    >>> def letters(text, *, return_tensors):
    ...     ids = torch.tensor([[ord(letter) for letter in text[0]]])
    ...     return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    >>> found = collect(Reader(), ["one", "three"], tokenizer=letters)
    >>> found.layers, found.layer("blocks.1").shape
    (('blocks.0', 'blocks.1'), torch.Size([2, 4]))
    """
    if dtype not in _DTYPES:
        raise ValueError(f"dtype must be torch.float32 or torch.float16, got {dtype}")
    names = resolve_layers(model, layers)
    encoded = encode(tokenizer, texts)
    if not encoded:
        raise ValueError("texts is empty: there is nothing to collect")
    selection = _selection(encoded, position)
    batches = plan_batches([len(ids) for ids in encoded], batch_tokens)
    store: ActivationFolder | None = None
    values: dict[str, np.ndarray] = {}
    if folder is not None:
        key = collection_key(model, encoded, selection, names, dtype, batches) | {"position": _rule(position)}
        store = ActivationFolder.prepared(folder, key)
        values = store.arrays if store.arrays is not None else {}
    start = 0 if store is None else store.done
    with progress("hidden states", len(batches) - start, show) as tick:
        for number in range(start, len(batches)):
            members = [i for i in batches[number] if selection.count[i]]
            found = _rows(model, encoded, selection, members, names) if members else {}
            if found and not values:
                shapes = {name: (selection.total, rows.shape[1]) for name, rows in found.items()}
                if store is None:
                    values = {name: np.zeros(shape, _DTYPES[dtype]) for name, shape in shapes.items()}
                else:
                    values = store.create(shapes, selection)
            at = np.concatenate([selection.rows(i) for i in members]) if members else np.zeros(0, dtype=np.intp)
            for name, rows in found.items():
                values[name][at] = _stored(rows, name, dtype)
            if store is not None:
                store.record(number, at)
            tick()
    if store is not None:
        return _opened(store.finished())
    return Activations(names, values, selection.text, selection.token, _rule(position))


def _selection(encoded: Sequence[Int[Tensor, " _t"]], position: Position) -> TokenSelection:
    """Return the token positions that become rows, text by text."""
    chosen: list[list[int]] = []
    for number, ids in enumerate(encoded):
        if position == "mean":
            chosen.append([-1])
        elif position == "last":
            chosen.append([len(ids) - 1])
        elif position == "all":
            chosen.append(list(range(len(ids))))
        elif callable(position):
            chosen.append([_checked(int(at), len(ids), number) for at in position(number, ids)])
        else:
            raise ValueError(f'position must be "last", "mean", "all" or a function, got {position!r}')
    selection = TokenSelection.of(chosen)
    if not selection.total:
        raise ValueError("position selects no token of any text: there is nothing to collect")
    return selection


def _rule(position: Position) -> str:
    return position if isinstance(position, str) else "chosen"


def _checked(at: int, length: int, number: int) -> int:
    if not -length <= at < length:
        raise ValueError(f"position returns token {at} of text {number}, which has {length} tokens")
    return at % length


def _rows(
    model: nn.Module,
    encoded: Sequence[Int[Tensor, " _t"]],
    selection: TokenSelection,
    members: Sequence[int],
    layers: Sequence[str],
) -> dict[str, Float[Tensor, "m d"]]:
    """Return the rows of the texts of one batch, in the order of the texts."""
    ids, mask = pad([encoded[i] for i in members])
    states = hidden_states(model, ids, mask, layers)
    found = {}
    for name, hidden in states.items():
        hidden = hidden.float().cpu()
        parts = []
        for row, i in enumerate(members):
            tokens = selection.tokens(i)
            if len(tokens) == 1 and tokens[0] == -1:
                length = len(encoded[i])
                # Decoders collect attention in the first token, whose state may be a hundred times as long as others.
                parts.append(hidden[row, min(1, length - 1) : length].mean(dim=0, keepdim=True))
            else:
                parts.append(hidden[row, torch.from_numpy(tokens)])
        found[name] = torch.cat(parts)
    return found


def _stored(rows: Float[Tensor, "m d"], name: str, dtype: torch.dtype) -> np.ndarray:
    stored = rows.to(dtype)
    if not bool(torch.isfinite(stored).all()):
        if bool(torch.isfinite(rows).all()):
            raise ValueError(f"dtype: the hidden states of {name} exceed the range of float16: use torch.float32")
        raise ValueError(f"model: the hidden states of {name} are not finite")
    return stored.numpy()


def _opened(store: ActivationFolder) -> Activations:
    assert store.arrays is not None
    return Activations(
        tuple(store.arrays), store.arrays, store.selection.text, store.selection.token, str(store.plan["position"])
    )
