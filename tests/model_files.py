"""Types for model files of the tests, and files that are changed or refused."""

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


def refused(path, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        read(path)
    assert isinstance(caught.value, ValueError)
    assert str(path) in str(caught.value)
