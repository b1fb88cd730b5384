"""Device, number format, memory and threads.

Nothing here is global: the estimator makes each choice once and passes it down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


def resolve_device(device: str | torch.device = "auto") -> torch.device:
    """Return the named device, or for ``"auto"`` CUDA if available, else MPS, else the CPU.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if str(device) != "auto":
        try:
            chosen = torch.device(device)
            torch.zeros(1, device=chosen)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"device={device!r} cannot be used here: {str(error).splitlines()[0]}") from error
        if chosen.type == "meta":
            raise ValueError('device="meta" holds no numbers; use "cpu"')
        return chosen
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def wide_dtype(device: torch.device) -> torch.dtype:
    """Return the format in which sums and distances are accumulated: float64, or float32 on devices without it.

    >>> wide_dtype(torch.device("cpu"))
    torch.float64
    """
    return torch.float32 if device.type == "mps" else torch.float64


def resolve_dtype(dtype: str | torch.dtype, n: int, device: torch.device) -> torch.dtype:
    """Return the working format. ``"auto"`` is float64 up to 500 rows, where it costs little, and float32 beyond.

    >>> resolve_dtype("auto", 100, torch.device("cpu"))
    torch.float64
    """
    if dtype == "auto":
        return torch.float64 if n <= 500 and device.type != "mps" else torch.float32
    chosen = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if chosen not in (torch.float32, torch.float64):
        raise ValueError(f'dtype must be "auto", "float32" or "float64", got {dtype!r}')
    if chosen == torch.float64 and device.type == "mps":
        raise ValueError('this device has no float64; use dtype="float32" or device="cpu"')
    return chosen


def parse_bytes(size: int | float | str) -> int:
    """Convert a number, or a string such as ``"8GB"`` or ``"512 MiB"``, to bytes.

    >>> parse_bytes("1.5 GB")
    1500000000
    """
    if isinstance(size, int | float):
        value = float(size)
    else:
        match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?i?)b?\s*", size.lower())
        if match is None:
            raise ValueError(f'a memory size is a number of bytes or a string such as "8GB", got {size!r}')
        value = float(match[1]) * _UNITS[match[2]]
    if not 0 < value < float("inf"):
        raise ValueError(f"a memory size must be positive and finite, got {size!r}")
    return int(value)


def format_bytes(size: float) -> str:
    """Format a byte count for display.

    >>> format_bytes(1_600_000_000)
    '1.6 GB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def free_bytes(device: torch.device) -> int:
    """Return the memory that is free on the device now (on the CPU: available to a new allocation without swapping)."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
        if match:
            return int(min(int(match[1]) * 1024, _container_bytes()))
    return _physical_bytes() // 2


def resolve_memory(max_memory: int | float | str | None, device: torch.device) -> int:
    """Return the memory budget in bytes: the user's limit, or 80 % of the free memory.

    >>> resolve_memory("2GB", torch.device("cpu"))
    2000000000
    """
    return int(0.8 * free_bytes(device)) if max_memory is None else parse_bytes(max_memory)


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Run a block with n torch threads and restore the previous number after it; ``None`` changes nothing.

    >>> with threads(1):
    ...     torch.get_num_threads()
    1
    """
    if n is None:
        yield
        return
    if not (isinstance(n, int) and n >= 1):
        raise ValueError(f"n_threads must be an integer of at least 1, got {n!r}")
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _container_bytes() -> float:
    """Memory that the control group leaves to this process; infinite without a control group or a limit."""
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if not (limit.exists() and used.exists()) or limit.read_text().strip() == "max":
        return float("inf")
    return max(int(limit.read_text()) - int(used.read_text()), 0)


def _physical_bytes() -> int:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 4 * 2**30  # the system does not tell: assume a small laptop
