"""Texts as token numbers, and batches of texts of similar length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor


@runtime_checkable
class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used here."""

    def __call__(self, text: list[str], *, return_tensors: str) -> Mapping[str, Tensor]:
        """Return ``input_ids`` and ``attention_mask``, both (texts, tokens)."""


def encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Int[Tensor, " _t"]]:
    """Return the token numbers of each text, one text at a time, so that no padding is needed.

    >>> def letters(text, *, return_tensors):
    ...     ids = torch.tensor([[ord(letter) for letter in text[0]]])
    ...     return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    >>> encode(letters, ["ab", "c"])
    [tensor([97, 98]), tensor([99])]
    """
    if isinstance(texts, str):
        raise ValueError("texts must be a sequence of texts, got one text: put it in a list")
    encoded = []
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"texts must be strings, but text {number} is a {type(text).__name__}")
        found = tokenizer([text], return_tensors="pt")
        ids = found["input_ids"][0][found["attention_mask"][0].bool()]
        if not len(ids):
            raise ValueError(f"texts: text {number} has no tokens ({text!r}): leave it out")
        encoded.append(ids)
    return encoded


def plan_batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Return the numbers of the texts in each batch: similar lengths, at most ``batch_tokens`` tokens with padding.

    Long texts come first, so that a lack of memory shows at once. A text longer than ``batch_tokens`` is a batch of
    its own.

    >>> plan_batches([2, 9, 3, 2], batch_tokens=6)
    [[1], [2, 0], [3]]
    """
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens must be a positive number of tokens, got {batch_tokens!r}")
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    for i in order:
        # The first text of a batch is its longest, and the others are padded to its length.
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= batch_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def pad(encoded: Sequence[Int[Tensor, " _t"]]) -> tuple[Int[Tensor, "n t"], Int[Tensor, "n t"]]:
    """Return token numbers padded on the right to one length, and the mask of the tokens that are not padding.

    >>> pad([torch.tensor([5, 6]), torch.tensor([7])])[1]
    tensor([[1, 1],
            [1, 0]])
    """
    longest = max(len(ids) for ids in encoded)
    ids = torch.zeros(len(encoded), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(encoded):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
    return ids, mask
