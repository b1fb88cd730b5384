"""Damage that steering does to a language model: perplexity of neutral texts, and repetition in its continuations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from gramian.concepts.generation import TextTokenizer, check_texts, padded

_TEXTS = 8
"""Number of texts in a batch: the logits of 8 texts of 64 tokens and 50,000 words take 100 MB."""


def perplexity(model: nn.Module, texts: Sequence[str], *, tokenizer: TextTokenizer, max_length: int = 256) -> float:
    r"""Return the perplexity of texts under a model, :math:`\exp(-\frac1N \sum_i \log p(t_i \mid t_{<i}))`.

    The mean is over all N tokens after the first of each text, so a long text counts more than a short one. Within
    :func:`gramian.concepts.steering.steer` it is that of the steered model; the ratio of both is the damage.

    Parameters
    ----------
    model : nn.Module
        A causal language model: its output, or the ``logits`` of it, has the shape (batch, positions, vocabulary).
    texts : sequence of str
        Ordinary texts that have nothing to do with the concept.
    tokenizer : tokenizer of the model
    max_length : int
        Largest number of tokens of a text; the rest of it is left out.
    """
    found = sorted(check_texts(texts, "texts"), key=len)  # texts of one batch have similar lengths
    if max_length < 2:
        raise ValueError(f"max_length must be at least 2, got {max_length}: the first token is not predicted")
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    total, count = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(found), _TEXTS):
            tokens = padded(tokenizer, found[start : start + _TEXTS], side="right", max_length=max_length)
            batch = {name: tensor.to(device) for name, tensor in tokens.items()}
            known = batch["attention_mask"][:, 1:].bool()
            losses = cross_entropy(
                _logits(model(**batch))[:, :-1][known].float(), batch["input_ids"][:, 1:][known], reduction="none"
            )
            total += float(losses.double().sum())
            count += len(losses)
    if not count:
        raise ValueError("texts must have at least two tokens each: the first one is not predicted")
    return math.exp(total / count)


def repetition(texts: Sequence[str], n: int = 3) -> float:
    """Return the share of the n-grams of words that occur earlier in the same text, over all texts.

    Texts of fewer than n words have none. A language model that is steered too far repeats itself.

    >>> repetition(["a b a b a b"], n=2), repetition(["one after another"], n=2)
    (0.6, 0.0)
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    again, count = 0, 0
    for text in texts:
        words = text.lower().split()
        grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
        again += len(grams) - len(set(grams))
        count += len(grams)
    return again / count if count else 0.0


def _logits(output: object) -> Tensor:
    logits = getattr(output, "logits", output)
    if not isinstance(logits, Tensor) or logits.ndim != 3:
        raise ValueError(
            f"model must return logits (batch, positions, vocabulary), and it returned {type(output).__name__}: load "
            "it with a language-model head, as transformers' AutoModelForCausalLM does"
        )
    return logits
