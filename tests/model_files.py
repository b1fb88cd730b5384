"""Types for model files of the tests, and files that are changed or refused."""

import hashlib
import json
from dataclasses import dataclass, field

import pytest
import torch
from safetensors.numpy import load, save

from gramian.files import ModelFileError, container, read


@dataclass(frozen=True, eq=False)
class Leaf:
    X: torch.Tensor
    name: str = "leaf"


@dataclass(frozen=True)
class Counted:
    numbers: tuple
    total: float = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "total", float(sum(self.numbers)))


class Box:
    """Not a dataclass: made without arguments, then given its state."""

    def __init__(self, colour="red"):
        self.colour = colour


def manifest_of(path):
    content = path.read_bytes()
    head = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(head["__metadata__"]["gramian"])


def forge(path, change, seal=True):
    """Change the manifest, and by default its checksum too, as a malicious writer would."""
    manifest = manifest_of(path)
    manifest.pop("sha256")
    change(manifest)
    sha = container._checksum(manifest) if seal else "0" * 64
    text = json.dumps({"sha256": sha, **manifest}, separators=(",", ":"))
    path.write_bytes(save(load(path.read_bytes()), metadata={"gramian": text}))


def rewrite(path, change):
    """Change the text of the manifest, and put its checksum right: it need not be what ``json`` writes."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + length])
    text = change(head["__metadata__"]["gramian"].encode())
    rest = b"{" + text[len(b'{"sha256":"",') + 64 :]
    head["__metadata__"]["gramian"] = f'{{"sha256":"{hashlib.sha256(rest).hexdigest()}",{rest[1:].decode()}'
    packed = json.dumps(head).encode()
    path.write_bytes(len(packed).to_bytes(8, "little") + packed + content[8 + length :])


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        read(path)
    assert isinstance(caught.value, ValueError)
    assert str(path) in str(caught.value)
