"""Tensors of files are those that safetensors and torch read, one at a time."""

import types

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from gramian.nets.checkpoints.sources import GgufSource, SafetensorsSource, StateDictSource, count_entries

TYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int8, torch.bool]


def test_every_type_is_read_as_safetensors_reads_it(tmp_path):
    rng = torch.Generator().manual_seed(0)
    given = {str(dtype): torch.randn(5, 7, generator=rng).to(dtype) for dtype in TYPES}
    given |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3)}
    save_file(given, tmp_path / "a.safetensors")
    source = SafetensorsSource([tmp_path / "a.safetensors"])
    expected = load_file(tmp_path / "a.safetensors")
    assert set(source.names()) == set(expected)
    for name, value in expected.items():
        found = source.tensor(name)
        assert found.dtype == value.dtype
        assert found.shape == value.shape == source.shape(name)
        assert source.dtype(name) == str(value.dtype).removeprefix("torch.")
        assert source.is_float(name) == value.is_floating_point()
        assert torch.equal(found.double(), value.double())
    assert count_entries(source) == sum(value.numel() for value in expected.values())


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"a": torch.ones(40, 40)}, path)
    whole = path.read_bytes()
    for part in (whole[:100], whole[:-7], b"", b"{}" * 20):
        path.write_bytes(part)
        with pytest.raises(ValueError, match="cut short or not a safetensors file"):
            SafetensorsSource([path])
    path.write_bytes(whole)
    source = SafetensorsSource([path])
    path.write_bytes(whole[:-7])  # after it was opened
    with pytest.raises(ValueError, match="ends inside a"):
        source.tensor("a")


def test_one_name_in_two_files(tmp_path):
    for name in "ab":
        save_file({"w": torch.ones(2, 2)}, tmp_path / f"{name}.safetensors")
    paths = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    with pytest.raises(ValueError, match="keep one of the files"):
        SafetensorsSource(paths)
    assert SafetensorsSource(paths, {"w": paths[1]}).names() == ["w"]
    with pytest.raises(ValueError, match="has no v"):
        SafetensorsSource(paths, {"v": paths[0]})


def test_a_state_dict_is_not_copied():
    weight = torch.ones(3, 2, requires_grad=True)
    source = StateDictSource({"w": weight, "_extra_state": {"anything": 1}})
    assert source.names() == ["w"]
    assert source.tensor("w").data_ptr() == weight.data_ptr()
    assert not source.tensor("w").requires_grad


class TestGguf:
    def test_without_the_package_the_extra_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "gguf", None)
        with pytest.raises(ImportError, match=r"gramian\[hf\]"):
            GgufSource(tmp_path / "a.gguf")

    def test_tensors_of_a_reader(self, tmp_path, monkeypatch):
        values = np.arange(6, dtype=np.float32).reshape(2, 3)
        kind = types.SimpleNamespace(name="Q4_1")
        # the reader lists the fastest axis first
        tensor = types.SimpleNamespace(name="blk.0.w", shape=np.array([3, 2]), data=values, tensor_type=kind)
        fake = types.SimpleNamespace(
            GGUFReader=lambda path: types.SimpleNamespace(tensors=[tensor]), dequantize=lambda data, kind: data * 2
        )
        monkeypatch.setitem(__import__("sys").modules, "gguf", fake)
        source = GgufSource(tmp_path / "a.gguf")
        assert source.names() == ["blk.0.w"]
        assert (source.shape("blk.0.w"), source.dtype("blk.0.w"), source.is_float("blk.0.w")) == ((2, 3), "Q4_1", True)
        assert torch.equal(source.tensor("blk.0.w"), torch.from_numpy(2 * values))

    def test_a_real_file(self, tmp_path):
        gguf = pytest.importorskip("gguf")
        path, rng = tmp_path / "a.gguf", np.random.default_rng(0)
        W = rng.normal(size=(64, 32)).astype(np.float32)
        writer = gguf.GGUFWriter(str(path), "llama")
        writer.add_tensor("plain.weight", W)
        kind = gguf.GGMLQuantizationType.Q4_1
        writer.add_tensor("packed.weight", gguf.quantize(W, kind), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        source = GgufSource(path)
        assert source.shape("packed.weight") == (64, 32)
        assert torch.equal(source.tensor("plain.weight"), torch.from_numpy(W))
        assert (source.tensor("packed.weight") - torch.from_numpy(W)).abs().max() < 0.3
        path.write_bytes(b"GGUF" + b"\0" * 3)
        with pytest.raises(ValueError, match="cannot be read as GGUF"):
            GgufSource(path)
