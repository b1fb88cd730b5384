"""Folders and files of every layout are opened, and damaged ones refused with the fix."""

import json

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from gramian.nets.checkpoints.opening import open_checkpoint, read_config, weight_files
from nets.checkpoints.made import state, write_folder


def same(opened, weights):
    assert set(opened.source.names()) == set(weights)
    return all(torch.equal(opened.source.tensor(name), value) for name, value in weights.items())


@pytest.mark.parametrize("shards", [1, 3])
def test_a_folder_of_hugging_face(tmp_path, shards):
    folder = write_folder(tmp_path / "net", state(), shards, {"model_type": "llama"})
    opened = open_checkpoint(folder)
    assert same(opened, state())
    assert opened.config["model_type"] == "llama"
    assert opened.name == "net"


def test_torch_files_in_a_folder(tmp_path):
    torch.save({"a.weight": torch.ones(2, 3)}, tmp_path / "pytorch_model-1.bin")
    torch.save({"b.weight": torch.ones(3, 2)}, tmp_path / "pytorch_model-2.bin")
    torch.save({"state": {}}, tmp_path / "optimizer.pt")
    where = {"a.weight": "pytorch_model-1.bin", "b.weight": "pytorch_model-2.bin"}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": where}))
    assert open_checkpoint(tmp_path).source.names() == ["a.weight", "b.weight"]
    (tmp_path / "pytorch_model.bin.index.json").unlink()
    with pytest.raises(ValueError, match="several checkpoints"):
        open_checkpoint(tmp_path)


def test_safetensors_are_chosen_before_other_formats(tmp_path):
    write_folder(tmp_path, state(1))
    torch.save(state(2), tmp_path / "pytorch_model.bin")
    (tmp_path / "a.gguf").write_bytes(b"")
    assert [path.name for path in weight_files(tmp_path)] == ["model.safetensors"]
    assert same(open_checkpoint(tmp_path), state(1))


def test_single_files_state_dicts_and_modules(tmp_path):
    save_file(state(), tmp_path / "w.safetensors")
    torch.save({"model": state()}, tmp_path / "w.pt")
    assert same(open_checkpoint(tmp_path / "w.safetensors"), state())
    opened = open_checkpoint(str(tmp_path / "w.pt"))
    assert same(opened, state())
    assert opened.notes == ("the weights under 'model'",)
    assert same(open_checkpoint(state()), state())
    with torch.random.fork_rng():
        assert open_checkpoint(nn.Linear(2, 1)).name == "Linear"


class TestRefused:
    def test_a_folder_without_weights(self, tmp_path):
        with pytest.raises(ValueError, match="holds no weights"):
            open_checkpoint(tmp_path)

    def test_a_missing_file_and_a_missing_shard(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            open_checkpoint(tmp_path / "absent.pt")
        write_folder(tmp_path, state(), 3)
        (tmp_path / "model-00002-of-00003.safetensors").unlink()
        with pytest.raises(ValueError, match="lacks 1 of its shards, such as model-00002-of-00003"):
            open_checkpoint(tmp_path)

    @pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": 3}', "{}"])
    def test_a_damaged_index(self, tmp_path, text):
        write_folder(tmp_path, state(), 2)
        (tmp_path / "model.safetensors.index.json").write_text(text)
        with pytest.raises(ValueError, match="not an index of shards"):
            open_checkpoint(tmp_path)

    def test_an_index_that_points_outside(self, tmp_path):
        save_file(state(), tmp_path / "secret.safetensors")
        inner = write_folder(tmp_path / "net", state(), 2)
        where = {"weight_map": {"lm_head.weight": "../secret.safetensors"}}
        (inner / "model.safetensors.index.json").write_text(json.dumps(where))
        with pytest.raises(ValueError, match="outside the folder"):
            open_checkpoint(inner)

    def test_a_damaged_config(self, tmp_path):
        (tmp_path / "config.json").write_text("{")
        with pytest.raises(ValueError, match="is not JSON"):
            read_config(tmp_path)
