"""A decoder of two small blocks and a tokenizer of words, called as those of transformers are."""

from types import SimpleNamespace

import torch
from torch import nn

_TEXT = "the a film food day was is good bad fine dull very and not it we saw ate old new"
WORDS = _TEXT.split()


class Block(nn.Module):
    """Adds to each position a function of the mean of it and those before it; returns a tuple, as decoders do."""

    def __init__(self, width):
        super().__init__()
        self.mix, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, hidden, mask):
        kept = hidden * mask[..., None]
        mean = kept.cumsum(1) / mask.cumsum(1).clamp_min(1)[..., None]
        return hidden + self.out(torch.tanh(self.mix(mean))), "cache"


class TinyDecoder(nn.Module):
    def __init__(self, blocks=2, width=8, seed=0):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.embed = nn.Embedding(len(WORDS) + 2, width)
            self.layers = nn.ModuleList(Block(width) for _ in range(blocks))
            self.head = nn.Linear(width, len(WORDS) + 2, bias=False)

    def get_output_embeddings(self):
        return self.head

    def forward(self, input_ids, attention_mask=None, **_):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden = self.embed(input_ids)
        for block in self.layers:
            hidden = block(hidden, mask.to(hidden))[0]
        return SimpleNamespace(logits=self.head(hidden))

    def generate(self, input_ids, attention_mask, max_new_tokens, do_sample=False, temperature=1.0, **_):
        """Continue left-padded rows; sampling uses the global generator, as that of transformers does."""
        for _step in range(max_new_tokens):
            logits = self(input_ids, attention_mask).logits[:, -1]
            if do_sample:
                chosen = torch.multinomial((logits / temperature).softmax(1), 1)
            else:
                chosen = logits.argmax(1, keepdim=True)
            input_ids = torch.cat([input_ids, chosen], 1)
            attention_mask = torch.cat([attention_mask, torch.ones_like(chosen)], 1)
        return input_ids


class WordTokenizer:
    """Words by their number; 0 pads and 1 is unknown."""

    pad_token_id, eos_token_id, pad_token, padding_side = 0, 0, "", "right"

    def __call__(self, texts, padding=True, return_tensors=None, truncation=False, max_length=None, padding_side=None):
        rows = [[WORDS.index(word) + 2 if word in WORDS else 1 for word in text.split()] for text in texts]
        rows = [row[:max_length] if truncation else row for row in rows]
        longest = max(map(len, rows))
        left = (padding_side or self.padding_side) == "left"
        ids, mask = [], []
        for row in rows:
            gap = [0] * (longest - len(row))
            ids.append(gap + row if left else row + gap)
            mask.append(gap + [1] * len(row) if left else [1] * len(row) + gap)
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}

    def decode(self, ids, skip_special_tokens=False):
        return " ".join(self.convert_ids_to_tokens([int(i) for i in ids if int(i) > 1 or not skip_special_tokens]))

    def convert_ids_to_tokens(self, ids):
        return [WORDS[i - 2] if i > 1 else ("<pad>", "<unknown>")[i] for i in ids]
