"""Continuations of prompts by a language model, batched, and the same for the same generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn


@runtime_checkable
class TextTokenizer(Protocol):
    """A tokenizer with the call of transformers: texts to ``input_ids`` and ``attention_mask``, and tokens to text."""

    padding_side: str

    def __call__(
        self,
        text: list[str],
        *,
        return_tensors: str,
        padding: bool = False,
        truncation: bool = False,
        max_length: int | None = None,
    ) -> Mapping[str, Tensor]:
        """Return the tokens of texts, padded to the longest."""

    def decode(self, ids: Tensor | list[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of tokens."""


def continue_prompts(
    model: nn.Module,
    prompts: Sequence[str],
    *,
    tokenizer: TextTokenizer,
    max_new_tokens: int = 24,
    rng: torch.Generator | None = None,
    temperature: float = 1.0,
    batch_size: int = 64,
) -> list[str]:
    """Return the continuation of each prompt, without the prompt.

    Prompts are padded on the left and continued together by the model's ``generate``, which steering and a key-value
    cache take part in as they do in a single call. The global generators are in the same state afterwards.

    Parameters
    ----------
    model : nn.Module
        With the method ``generate`` of transformers.
    prompts : sequence of str
    tokenizer : tokenizer of the model
    max_new_tokens : int
        Largest number of tokens of a continuation.
    rng : torch.Generator, optional
        Generator of the samples; without one the most probable token is always taken.
    temperature : float
        Temperature of the samples.
    batch_size : int
        Number of prompts that are continued together.
    """
    generate = getattr(model, "generate", None)
    if not callable(generate):
        raise ValueError(
            f"model must have the method generate, and {type(model).__name__} has none: load it with a language-model "
            "head, as transformers' AutoModelForCausalLM does"
        )
    texts = check_texts(prompts, "prompts")
    if max_new_tokens < 1 or batch_size < 1 or not temperature > 0:
        raise ValueError("max_new_tokens, batch_size and temperature must be positive")
    device = next((parameter.device for parameter in model.parameters()), torch.device("cpu"))
    options: dict[str, object] = {"max_new_tokens": max_new_tokens, "do_sample": rng is not None}
    if rng is not None:
        options["temperature"] = temperature
    found: list[str] = []
    for start in range(0, len(texts), batch_size):
        tokens = padded(tokenizer, texts[start : start + batch_size], side="left")
        width = tokens["input_ids"].shape[1]
        with torch.no_grad(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            if rng is not None:  # generate knows the global generator only, which is restored afterwards
                torch.manual_seed(int(torch.randint(2**31, (1,), generator=rng)))
            batch = {name: tensor.to(device) for name, tensor in tokens.items()}
            made = cast(Callable[..., Tensor], generate)(**batch, **_padding(tokenizer), **options)
        found += [tokenizer.decode(row[width:], skip_special_tokens=True) for row in made]
    return found


def padded(
    tokenizer: TextTokenizer, texts: Sequence[str], *, side: str, max_length: int | None = None
) -> dict[str, Tensor]:
    """Return tokens and attention mask of texts, padded on one side; the tokenizer's own side is restored."""
    before = tokenizer.padding_side
    tokenizer.padding_side = side
    try:
        made = tokenizer(
            list(texts), padding=True, return_tensors="pt", truncation=max_length is not None, max_length=max_length
        )
    finally:
        tokenizer.padding_side = before
    return {name: made[name] for name in ("input_ids", "attention_mask")}


def check_texts(texts: Sequence[str], name: str) -> list[str]:
    """Return texts as a list, or raise an error that names the argument.

    >>> check_texts("one text", "prompts")
    Traceback (most recent call last):
    ValueError: prompts must be a list of texts that are not empty, got one text: wrap it in a list
    """
    if isinstance(texts, str):
        raise ValueError(f"{name} must be a list of texts that are not empty, got one text: wrap it in a list")
    found = list(texts)
    if not found or not all(isinstance(text, str) and text.strip() for text in found):
        raise ValueError(f"{name} must be a list of texts that are not empty")
    return found


def _padding(tokenizer: TextTokenizer) -> dict[str, object]:
    """Return the token of padding as an option, where the tokenizer has one: generate warns without it."""
    for name in ("pad_token_id", "eos_token_id"):
        number = getattr(tokenizer, name, None)
        if number is not None:
            return {"pad_token_id": number}
    return {}
