"""Files that are not what they should be: each is refused in words that say what to do."""

import json
import os
import pickle
import stat

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save, save_file

from gramian.files import ModelFileError, container, read, registered, write


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.gramian"
    write({"X": np.arange(1000.0), "ridge": 0.5, "t": torch.ones(3)}, path)
    return path


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


@pytest.mark.parametrize("share", [0.0, 0.0005, 0.01, 0.05, 0.3, 0.999])
def test_cut_short(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    refused(path, "cut short|is empty|not a gramian model file")


def test_every_flipped_byte_is_noticed(path):
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in [0, 8, *rng.integers(9, len(content), size=60)]:
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(ModelFileError):
            read(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused(path, "checksum of .* is wrong.*Copy or download it again")


def test_something_behind_the_end_is_noticed(path):
    path.write_bytes(path.read_bytes() + b"more")
    refused(path, "damaged")


def test_a_changed_manifest_is_noticed(path):
    forge(path, lambda m: m.update(device="cuda"), seal=False)
    refused(path, "checksum")


def test_a_newer_format(path):
    forge(path, lambda m: m.update(format=container.FORMAT + 1, gramian="9.0"))
    refused(path, r"written by gramian 9.0; .* update gramian")


def test_an_unknown_type_is_not_made(path):
    forge(path, lambda m: (m["objects"].append({"type": "os.system", "state": {}}), m.update(value={"object": 0})))
    refused(path, "an object of type 'os.system', which gramian .* does not know.*use that version, or a newer one")


@pytest.mark.parametrize(
    "value",
    [
        {"call": ["os.system", "true"]},
        {"object": 99},
        {"array": -7},
        {"scalar": ["O", 1]},
        {"scalar": ["V8", 1]},
        {"dtype": "V8,V8"},
        {"torch_dtype": "load"},
        {"dict": [[["unhashable"], 1]]},
        {"tuple": 3},
        {"float": "many"},
        {},
        {"tuple": [], "list": []},
    ],
    ids=str,
)
def test_nonsense_under_a_right_checksum_is_refused(path, value):
    forge(path, lambda m: m.update(value=value))
    refused(path, "makes no sense to this gramian|does not know")


def test_an_object_made_of_itself_is_refused(path):
    record = {"type": next(iter(registered())), "state": {"a": {"object": 0}}}
    forge(path, lambda m: (m["objects"].append(record), m.update(value={"object": 0})))
    refused(path, "makes no sense to this gramian")


def test_files_of_other_kinds(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(pickle.dumps({"a": 1}))
    refused(other, "is a pickle.*run code when opened")
    other.write_text("price,rooms\n1,2\n" * 10)
    refused(other, "is not a gramian model file")
    save_file({"x": np.ones(3)}, other)
    refused(other, "safetensors file, but not one of gramian's")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.gramian")


class TestAtomic:
    def test_a_failed_write_leaves_the_old_file_and_nothing_else(self, path, monkeypatch):
        before = path.read_bytes()

        def fail(descriptor):
            raise OSError("disk full")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="disk full"):
            write({"new": 1}, path)
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]

    def test_a_missing_folder_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"there is no folder .*sub to save m.gramian in: make it first"):
            write(1, tmp_path / "sub" / "m.gramian")

    def test_a_link_stays_a_link_and_rights_are_the_usual_ones(self, path, tmp_path):
        link = tmp_path / "latest.gramian"
        link.symlink_to(path)
        write("new", link)
        assert link.is_symlink()
        assert read(path) == "new"
        usual = tmp_path / "usual"
        usual.write_text("")
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)

    def test_a_file_may_be_replaced_while_its_model_is_in_use(self, path):
        value = read(path)
        write({"X": np.zeros(1000)}, path)
        assert value["X"][-1] == 999.0


def test_tensors_go_where_they_are_sent(path):
    assert read(path, device="cpu")["t"].device.type == "cpu"
    with pytest.raises(ValueError, match="device='nowhere' cannot be used here"):
        read(path, device="nowhere")


def test_saved_where_there_is_a_device_that_is_missing_here(path):
    if torch.cuda.is_available():
        pytest.skip("there is one here")
    forge(path, lambda m: m.update(device="cuda"))
    assert read(path)["t"].device.type == "cpu"
