"""Checkpoints made for tests: folders of Hugging Face with shards, and sparse files of a large virtual size."""

import json
import struct

import torch
from safetensors.torch import save_file


def state(seed=0, width=6, blocks=2, dtype=torch.float32):
    """Weights with the names of a small language model."""
    rng = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=rng).to(dtype)

    found = {"model.embed_tokens.weight": draw(11, width)}
    for i in range(blocks):
        found |= {
            f"model.layers.{i}.self_attn.q_proj.weight": draw(width, width),
            f"model.layers.{i}.mlp.up_proj.weight": draw(4 * width, width),
            f"model.layers.{i}.mlp.down_proj.weight": draw(width, 4 * width),
            f"model.layers.{i}.norm.weight": torch.ones(width, dtype=dtype),
        }
    return found | {"lm_head.weight": draw(11, width)}


def write_folder(folder, weights, shards=1, config=None):
    """Write a folder as Hugging Face does: one safetensors file, or shards with their index."""
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    if shards == 1:
        save_file(weights, folder / "model.safetensors")
        return folder
    names = list(weights)
    where = {}
    for j in range(shards):
        file = f"model-{j + 1:05d}-of-{shards:05d}.safetensors"
        part = {name: weights[name] for name in names[j::shards]}
        save_file(part, folder / file)
        where |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    return folder


def write_sparse_folder(folder, shapes, shards, code="BF16", size=2):
    """Write shards of zeros with one nonzero entry per tensor, as sparse files that take almost no disk.

    The entry (0, 0) is 1 in bfloat16, so every matrix has rank 1.
    """
    folder.mkdir(parents=True, exist_ok=True)
    where, names = {}, list(shapes)
    for j in range(shards):
        file = f"model-{j + 1:05d}-of-{shards:05d}.safetensors"
        header, offset = {}, 0
        for name in names[j::shards]:
            length = size * shapes[name][0] * shapes[name][1]
            header[name] = {"dtype": code, "shape": list(shapes[name]), "data_offsets": [offset, offset + length]}
            offset += length
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with (folder / file).open("wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            begin = out.tell()
            for about in header.values():
                out.seek(begin + about["data_offsets"][0])
                out.write(struct.pack("<H", 0x3F80))
            out.truncate(begin + offset)
        where |= dict.fromkeys(header, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    return folder
