"""Tasks of Fig. 11 of paper E: sentiment of sentences, parts of speech and named entities of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gramian.concepts import collect
from gramian.concepts.tokens import encode, pad
from gramian.core import threads
from gramian.datasets import conll2003, sst2
from gramian.experiments.e_gram.text_models import TextModel
from gramian.nets import target_linearity

TASKS = ("sst2", "pos", "ner")
_LONGEST = 60
"""Words of the longest sentence: about 128 tokens at most, the length in the paper's code."""


@dataclass(frozen=True)
class LabelledTexts:
    """Sentences of words, with one label per sentence, or one per word; labels are numbers below ``classes``."""

    words: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[int, ...], ...]
    classes: int
    by_word: bool

    def part(self, rows: Sequence[int]) -> LabelledTexts:
        """Return some of the sentences."""
        words, labels = tuple(self.words[i] for i in rows), tuple(self.labels[i] for i in rows)
        return LabelledTexts(words, labels, self.classes, self.by_word)


def labelled_texts(task: str, *, made: bool = False) -> LabelledTexts:
    """Read the training sentences of a task, of at most 60 words, or make some for a test without data.

    In the made sentences the tag of a word is its number modulo 5, and a sentence is good if its first word is odd.

    >>> found = labelled_texts("pos", made=True)
    >>> len(found.words), all(int(word[1:]) % 5 == label for word, label in zip(found.words[0], found.labels[0]))
    (120, True)
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
    if made:
        rng = np.random.default_rng(0)
        numbers = [rng.integers(40, size=int(length)).tolist() for length in rng.integers(4, 10, size=120)]
        words = tuple(tuple(f"w{number}" for number in sentence) for sentence in numbers)
        if task == "sst2":
            return LabelledTexts(words, tuple((sentence[0] % 2,) for sentence in numbers), 2, False)
        return LabelledTexts(words, tuple(tuple(n % 5 for n in sentence) for sentence in numbers), 5, True)
    if task == "sst2":
        data = sst2("train")
        split = [tuple(text.split()) for text in data.X]
        rows = [i for i, sentence in enumerate(split) if 0 < len(sentence) <= _LONGEST]
        return LabelledTexts(tuple(split[i] for i in rows), tuple((int(data.y[i]),) for i in rows), 2, False)
    tagged = conll2003("train")
    number = {tag: at for at, tag in enumerate(tagged.tags(task))}
    labels = [tuple(number[tag] for tag in tags) for tags in getattr(tagged, task)]
    rows = [i for i, sentence in enumerate(tagged.words) if len(sentence) <= _LONGEST]
    return LabelledTexts(tuple(tagged.words[i] for i in rows), tuple(labels[i] for i in rows), len(number), True)


def positions(text_model: TextModel, words: Sequence[str], length: int, by_word: bool) -> list[int]:
    """Return the tokens that have labels: the first piece of each word, or the sentence's token."""
    if by_word:
        return text_model.encoder.starts(words)
    return [length - 1] if text_model.causal else [0]


def linearity_by_layer(text_model: TextModel, model: nn.Module, texts: LabelledTexts, components: int) -> list[float]:
    """Return the target linearity of every block's output, reduced to principal components.

    ``model`` has the architecture of ``text_model`` and may have other weights.
    """
    with threads(1):
        states = collect(
            model,
            [" ".join(words) for words in texts.words],
            tokenizer=text_model.encoder,
            position=lambda number, ids: positions(text_model, texts.words[number], len(ids), texts.by_word),
            show=False,
        )
        labels = torch.tensor([label for sentence in texts.labels for label in sentence])
        Y = nn.functional.one_hot(labels, texts.classes).double()
        return [reduced_linearity(states.layer(name).double(), Y, components) for name in states.layers]


def reduced_linearity(H: Float[Tensor, "n d"], Y: Float[Tensor, "n c"], components: int) -> float:
    """Return the target linearity of the first principal components of the features, with γ = 0.

    >>> rng = torch.Generator().manual_seed(0)
    >>> H = torch.randn(20, 3, generator=rng, dtype=torch.float64) * torch.tensor([9.0, 3.0, 1.0])
    >>> round(reduced_linearity(H, H[:, :1], 1), 1)
    1.0
    """
    centred = H - H.mean(0)
    _, vectors = torch.linalg.eigh(centred.mT @ centred)
    return target_linearity(centred @ vectors[:, -components:], Y, 0.0)


def tune(
    text_model: TextModel,
    model: nn.Module,
    texts: LabelledTexts,
    *,
    epochs: int,
    rate: float,
    batch: int,
    rng: torch.Generator,
    measured: LabelledTexts,
    components: int,
) -> list[list[float]]:
    """Fine-tune a model in place with a linear head by AdamW, and return the linearity by layer after each epoch.

    The rate rises linearly in the first tenth of the steps and then falls linearly to 0. Dropout is switched off.
    ``measured`` are the sentences on which linearity is measured.
    """
    encoded = encode(text_model.encoder, [" ".join(words) for words in texts.words])
    places = [
        positions(text_model, words, len(ids), texts.by_word) for words, ids in zip(texts.words, encoded, strict=True)
    ]
    ids, mask = pad(encoded[:1])
    with torch.no_grad():
        width = _states(model, ids, mask).shape[-1]
    head = redrawn_head(width, texts.classes, rng)
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=rate)
    total = epochs * -(-len(encoded) // batch)
    warm = max(1, total // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (total - step) / max(1, total - warm))
    )
    found = []
    model.eval()
    with threads(1):
        for _ in range(epochs):
            with torch.enable_grad():
                for rows in torch.randperm(len(encoded), generator=rng).split(batch):
                    _step(model, head, optimizer, [(encoded[i], places[i], texts.labels[i]) for i in rows.tolist()])
                    schedule.step()
            found.append(linearity_by_layer(text_model, model, measured, components))
    return found


def redrawn_head(width: int, classes: int, rng: torch.Generator) -> nn.Linear:
    """Make a linear head with weights N(0, 0.02²) and biases 0."""
    head = nn.utils.skip_init(nn.Linear, width, classes)
    with torch.no_grad():
        head.weight.normal_(0, 0.02, generator=rng)
        head.bias.zero_()
    return head


def _step(
    model: nn.Module,
    head: nn.Linear,
    optimizer: torch.optim.Optimizer,
    members: Sequence[tuple[Int[Tensor, " _t"], list[int], tuple[int, ...]]],
) -> None:
    ids, mask = pad([tokens for tokens, _, _ in members])
    H = _states(model, ids, mask)
    chosen = torch.cat([H[row, torch.tensor(places)] for row, (_, places, _) in enumerate(members)])
    labels = torch.tensor([label for _, _, of in members for label in of])
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(chosen), labels).backward()
    optimizer.step()


def _states(model: nn.Module, ids: Int[Tensor, "n t"], mask: Int[Tensor, "n t"]) -> Float[Tensor, "n t d"]:
    """Return the last hidden states: the output itself, or the first entry of Hugging Face's output."""
    output = model(input_ids=ids, attention_mask=mask)
    states: Tensor = output if isinstance(output, Tensor) else output[0]
    return states
