"""Freed blocks go back to the system, where the C library can return them."""

import subprocess
import sys

import pytest

from gramian.core import freed_memory

SCRIPT = """
import ctypes, pathlib
from gramian.core.freed_memory import return_freed_memory
def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
blocks = [libc.malloc(100_000) for _ in range(800)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
for block in blocks[:-1]:  # the last one is above all others, so that the C library cannot shrink its heap by itself
    libc.free(block)
before = resident()
assert return_freed_memory()
print(before - resident())
"""


@pytest.mark.skipif(freed_memory._trim() is None, reason="this C library has no malloc_trim")
def test_freed_blocks_are_returned():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 60_000_000


def test_without_glibc_nothing_is_done(monkeypatch):
    monkeypatch.setattr(freed_memory, "_trim", lambda: None)
    assert freed_memory.return_freed_memory() is False
