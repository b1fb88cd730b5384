"""Control vectors hold what steering adds, in the layout that other programs read."""

import struct

import pytest
import torch

from gramian.concepts.control_vectors import block_number, gguf_bytes, write_control_vector
from gramian.concepts.directions import LayerDirection
from gramian.concepts.steering import shifts_by_layer


def blocks(numbers=(1, 2, 3), d=6):
    rng = torch.Generator().manual_seed(0)
    found = []
    for i in numbers:
        vector = torch.randn(d, generator=rng)
        found.append(LayerDirection(f"model.layers.{i}", vector / vector.norm(), 2.0 + i, torch.zeros(d), 0.8))
    return found


class Bytes:
    """A reader of GGUF written from its description, for files of text, int32 and float32 only."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values[0] if len(values) == 1 else values

    def text(self):
        length = self.take("<Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def read(self):
        magic, version, tensors, pairs = self.take("<4sIQQ")
        assert (magic, version) == (b"GGUF", 3)
        metadata = {}
        for _ in range(pairs):
            key, kind = self.text(), self.take("<I")
            metadata[key] = self.text() if kind == 8 else self.take({5: "<i"}[kind])
        entries = []
        for _ in range(tensors):
            name, dims = self.text(), self.take("<I")
            assert dims == 1
            entries.append((name, *self.take("<QIQ")))
        start = -(-self.at // 32) * 32
        found = {}
        for name, length, kind, offset in entries:
            assert kind == 0
            assert offset % 32 == 0
            found[name] = torch.tensor(struct.unpack_from(f"<{length}f", self.data, start + offset))
        return metadata, found


@pytest.mark.parametrize("d", [1, 6, 8, 9])
def test_a_gguf_file_reads_back(tmp_path, d):
    path = write_control_vector(tmp_path / "new/joy.gguf", blocks(d=d), strength=-0.5, model_hint="qwen2")
    metadata, found = Bytes(path.read_bytes()).read()
    assert metadata == {
        "general.architecture": "controlvector", "controlvector.model_hint": "qwen2", "controlvector.layer_count": 3,
    }  # fmt: skip
    expected = shifts_by_layer([(blocks(d=d), -0.5)])
    assert set(found) == {"direction.1", "direction.2", "direction.3"}
    for name, shift in expected.items():
        assert torch.equal(found[f"direction.{block_number(name)}"], shift)


def test_the_reader_of_gguf_reads_it_too(tmp_path):
    gguf = pytest.importorskip("gguf", reason="the reader of llama.cpp's own package")
    path = write_control_vector(tmp_path / "joy.gguf", blocks(), strength=0.5)
    reader = gguf.GGUFReader(path)
    field = reader.get_field("general.architecture")
    assert bytes(field.parts[field.data[0]]) == b"controlvector"
    expected = shifts_by_layer([(blocks(), 0.5)])
    assert {tensor.name for tensor in reader.tensors} == {"direction.1", "direction.2", "direction.3"}
    for tensor in reader.tensors:
        shift = expected[f"model.layers.{tensor.name.split('.')[1]}"]
        assert torch.equal(torch.tensor(tensor.data.copy()), shift)


def test_a_torch_file_holds_weights_only(tmp_path):
    path = write_control_vector(tmp_path / "joy.pt", blocks((0, 5)), strength=2.0, layers=["model.layers.0"])
    found = torch.load(path, weights_only=True)
    assert found["model_type"] == "llama"
    assert list(found["directions"]) == [0]
    torch.testing.assert_close(found["directions"][0].norm(), torch.tensor(4.0))


def test_only_the_chosen_layers_are_written(tmp_path):
    path = write_control_vector(tmp_path / "joy.gguf", blocks(range(8)))
    assert sorted(Bytes(path.read_bytes()).read()[1]) == [f"direction.{i}" for i in (2, 3, 4, 5)]


@pytest.mark.parametrize(
    ("name", "made", "options", "message"),
    [
        ("joy.bin", blocks(), {}, "path must end in .gguf or .pt, got joy.bin"),
        ("joy.gguf", blocks(), {"strength": 0.0}, "strength must not be 0"),
        ("joy.gguf", blocks((0, 1)), {}, "does not steer block 0"),
        ("joy.gguf", blocks((1,)) + blocks((2,), d=4), {}, "different dimensions"),
        ("joy.gguf", [LayerDirection("head", torch.ones(2), 1.0, torch.zeros(2), 0.5)], {}, "'head' has no number"),
    ],
)
def test_bad_arguments_leave_no_file(tmp_path, name, made, options, message):
    with pytest.raises(ValueError, match=message):
        write_control_vector(tmp_path / name, made, **options)
    assert not list(tmp_path.iterdir())


def test_two_layers_of_one_number_are_refused(tmp_path):
    twice = [LayerDirection(f"{part}.1", torch.ones(2), 1.0, torch.zeros(2), 0.5) for part in ("encoder", "decoder")]
    with pytest.raises(ValueError, match="have the number 1"):
        write_control_vector(tmp_path / "joy.gguf", twice)


def test_numbers_inside_words_do_not_count():
    assert block_number("gpt2.h.3") == 3
    with pytest.raises(ValueError, match="no number"):
        block_number("gpt2.block")
    assert len(gguf_bytes({1: torch.ones(3)}, "é")) % 32 == 0
