"""Devices, number formats, sizes of memory and threads."""

import pytest
import torch

from gramian.core import (
    parse_bytes,
    resolve_device,
    resolve_dtype,
    threads,
)


def test_sizes_devices_and_formats_are_checked():
    assert parse_bytes("1 KiB") == 1024
    assert parse_bytes(5) == 5
    for bad in ("much", "-1GB", 0):
        with pytest.raises(ValueError, match="memory size"):
            parse_bytes(bad)
    with pytest.raises(ValueError, match="device"):
        resolve_device("abacus")
    with pytest.raises(ValueError, match="dtype"):
        resolve_dtype("float16", 10, torch.device("cpu"))
    with pytest.raises(ValueError, match="float64"):
        resolve_dtype("float64", 10, torch.device("mps"))
    assert resolve_dtype("auto", 10**6, torch.device("cpu")) == torch.float32
    with pytest.raises(ValueError, match="n_threads"), threads(0):
        pass


def test_threads_are_restored_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(KeyError), threads(1):
        raise KeyError
    assert torch.get_num_threads() == before
