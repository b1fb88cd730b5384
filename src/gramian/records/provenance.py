"""Versions and hardware that a record was made with."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from gramian.core.version import __version__
from gramian.records.cell import Record


def provenance() -> Record:
    """Return the time, the versions of the main packages and the processor; no host name and no folder.

    >>> sorted(provenance())
    ['finished', 'machine', 'versions']
    """
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "gramian": __version__,
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "machine": {"cores": os.cpu_count(), "cpu": _cpu_name()},
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
