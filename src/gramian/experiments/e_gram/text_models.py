"""Language models for Fig. 11 of paper E: loaded from the data folder, or a small made one that needs no weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gramian.datasets.folder import find
from gramian.nets.checkpoints import load_pretrained, load_tokenizer

FILES = {
    "minilm": "models/all-MiniLM-L6-v2/config.json",
    "smollm2": "models/SmolLM2-135M-Instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
}
"""A file in the folder of each model, below the data folder."""
NAMES = {"made": "made model", "minilm": "all-MiniLM-L6", "smollm2": "SmolLM2-135M"}
_SPREAD = 0.02
"""Standard deviation of the weights of a new transformer, as in BERT."""


class PieceTokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used to encode words."""

    cls_token_id: int | None
    sep_token_id: int | None

    def __call__(self, text: str, *, add_special_tokens: bool) -> Mapping[str, list[int]]:
        """Return ``input_ids``."""


@dataclass(frozen=True)
class WordEncoder:
    """Encode words one by one, so that the first piece of each is known; a tokenizer for ``gramian.concepts.collect``.

    Parameters
    ----------
    pieces : callable
        Returns the token numbers of a word.
    before, after : tuple of int
        Special tokens around a sentence.

    >>> letters = WordEncoder(lambda word: [ord(letter) for letter in word], before=(1,), after=(2,))
    >>> letters(["ab c"], return_tensors="pt")["input_ids"], letters.starts(["ab", "c"])
    (tensor([[ 1, 97, 98, 99,  2]]), [1, 3])
    """

    pieces: Callable[[str], Sequence[int]]
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def __call__(self, text: list[str], *, return_tensors: str) -> dict[str, Tensor]:
        ids = [*self.before, *(piece for word in text[0].split(" ") for piece in self.pieces(word)), *self.after]
        tensor = torch.tensor([ids])
        return {"input_ids": tensor, "attention_mask": torch.ones_like(tensor)}

    def starts(self, words: Sequence[str]) -> list[int]:
        """Return the position of the first token of each word."""
        found, at = [], len(self.before)
        for word in words:
            count = len(self.pieces(word))
            if not count:
                raise ValueError(f"words: the tokenizer has no token for {word!r}: leave the sentence out")
            found.append(at)
            at += count
        return found


@dataclass(frozen=True)
class TextModel:
    """A model, its encoder of words, and the token that stands for a sentence: the first or, if causal, the last."""

    model: nn.Module
    encoder: WordEncoder
    causal: bool


# Two models of 135 million weights are 1 GB; a worker needs one at a time.
@lru_cache(maxsize=1)
def load_text_model(name: str) -> TextModel:
    """Load a model of :data:`FILES` from the data folder, or make the one named ``"made"``.

    >>> found = load_text_model("made")
    >>> found.causal, found.encoder.starts(["a", "b"])
    (False, [1, 2])
    """
    if name == "made":
        return TextModel(MadeEncoder(), WordEncoder(made_pieces, before=(0,)), causal=False)
    if name not in FILES:
        raise ValueError(f"name must be one of made, {', '.join(FILES)}, got {name!r}")
    folder = find(FILES[name]).parent
    tokenizer = cast(PieceTokenizer, load_tokenizer(folder))
    causal = name == "smollm2"
    space = " " if causal else ""

    @lru_cache(maxsize=50_000)
    def pieces(word: str) -> tuple[int, ...]:
        # Byte-pair vocabularies have words with the space before them.
        return tuple(tokenizer(space + word, add_special_tokens=False)["input_ids"])

    before, after = tokenizer.cls_token_id, tokenizer.sep_token_id
    encoder = WordEncoder(
        pieces, () if causal or before is None else (before,), () if causal or after is None else (after,)
    )
    return TextModel(load_pretrained(folder), encoder, causal)


def redrawn(model: nn.Module, rng: torch.Generator, spread: float = _SPREAD) -> nn.Module:
    """Copy a model with random weights, as a transformer starts: weights N(0, spread²), biases 0, scales 1.

    >>> layer = redrawn(nn.utils.skip_init(nn.Linear, 3, 2), torch.Generator().manual_seed(0))
    >>> layer.bias.tolist(), layer.weight.requires_grad
    ([0.0, 0.0], True)
    """
    twin = deepcopy(model)
    with torch.no_grad():
        for name, parameter in twin.named_parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, spread, generator=rng)
            else:
                parameter.fill_(0.0 if name.endswith("bias") else 1.0)
    return twin


_WORDS = 40
_LENGTH = 32


def made_pieces(word: str) -> list[int]:
    """Return the token of a word for the made model: a number between 1 and 40.

    >>> made_pieces("w7")
    [8]
    """
    return [1 + (int(word[1:]) if word[1:].isdigit() else sum(map(ord, word))) % _WORDS]


class MadeEncoder(nn.Module):
    """A transformer of three layers and 16 features, drawn with a fixed seed.

    >>> ids = torch.tensor([[0, 5, 6]])
    >>> MadeEncoder()(ids, torch.ones_like(ids)).shape
    torch.Size([1, 3, 16])
    """

    def __init__(self) -> None:
        super().__init__()
        with torch.device("meta"):
            self.embedding = nn.Embedding(_WORDS + 1, 16)
            self.positions = nn.Embedding(_LENGTH, 16)
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True) for _ in range(3)
            )
        self.to_empty(device="cpu")
        start = redrawn(self, torch.Generator().manual_seed(0), spread=0.3)
        self.load_state_dict(start.state_dict())

    def forward(self, input_ids: Int[Tensor, "n t"], attention_mask: Int[Tensor, "n t"]) -> Float[Tensor, "n t 16"]:
        """Return the hidden states of the last layer."""
        H = self.embedding(input_ids) + self.positions.weight[: input_ids.shape[1]]
        for layer in self.layers:
            H = layer(H, src_key_padding_mask=attention_mask == 0)
        return H
