"""Damaged, foreign and outdated files are refused with a message that says what to do."""

import os
import pickle
import stat
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import gramian
from gramian.files import ModelFileError, container, read, write
from model_files import forge, manifest_of, refused


@pytest.mark.parametrize("share", [0.0, 0.0005, 0.01, 0.05, 0.3, 0.999])
def test_a_file_that_is_cut_short_is_refused(path, share):
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


def test_arrays_of_every_format_and_order_are_read_by_safetensors(tmp_path):
    rng = np.random.default_rng(0)
    kinds = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
    shapes = [(), (0, 3), (3, 5)]
    arrays = {f"{kind} {shape}": np.asarray(9 * rng.random(shape), kind) for kind in kinds for shape in shapes}
    arrays |= {"transposed": rng.random((4, 3)).T, "strided": rng.random(10)[::3]}
    arrays["swapped"] = rng.random(3).astype(">f8")
    path = tmp_path / "arrays.gramian"
    container.pack(path, {"value": 1}, arrays)
    found = load_file(path)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found[name], array)


def test_arrays_are_written_without_a_copy(tmp_path):
    arrays = {"a": np.zeros(4_000_000), "b": np.ones((1000, 3000))}
    tracemalloc.start()
    container.pack(tmp_path / "large.gramian", {"value": 1}, arrays)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


def test_bytes_after_the_end_are_noticed(path):
    path.write_bytes(path.read_bytes() + b"more")
    refused(path, "damaged")


def test_a_changed_manifest_is_noticed(path):
    forge(path, lambda m: m.update(device="cuda"), seal=False)
    refused(path, "checksum")


def test_a_newer_format_asks_for_an_update(path):
    forge(path, lambda m: m.update(format=container.FORMAT + 1, gramian="9.0"))
    refused(path, r"written by gramian 9.0; .* update gramian")


def test_a_file_of_an_older_format_asks_for_the_version_that_wrote_it():
    """The file was written by gramian 0.1.0 before format 2 existed."""
    old = Path(__file__).parent / "data" / "format-old.gramian"
    assert manifest_of(old)["format"] == 1
    written = f"has format 1, written by gramian 0.1.0 before format {container.FORMAT}"
    refused(old, f"{written}.*load it with .*, or fit the model again")
    with pytest.raises(ModelFileError, match="fit the model again"):
        gramian.load(old)


def test_an_older_format_that_is_damaged_is_damaged(path):
    forge(path, lambda m: m.update(format=container.FORMAT - 1), seal=False)
    refused(path, "checksum")


def test_files_of_other_formats_are_refused(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(pickle.dumps({"a": 1}))
    refused(other, "is a pickle.*run code when opened")
    other.write_text("price,rooms\n1,2\n" * 10)
    refused(other, "is not a gramian model file")
    save_file({"x": np.ones(3)}, other)
    refused(other, "safetensors file, but not one of gramian:")
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
        with pytest.raises(FileNotFoundError, match=r"there is no folder .*sub to save m.gramian in: create it first"):
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
