"""``gramian info``: versions, device, memory and threads, for reports of problems."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from gramian import __version__

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib")


def collect() -> dict[str, Any]:
    """Return facts about this installation and this computer.

    >>> collect()["device"] in ("cpu", "cuda", "mps")
    True
    """
    import torch  # here: help needs none of it

    from gramian.core import free_bytes, resolve_device, resolve_memory
    from gramian.datasets.folder import VARIABLE

    device = resolve_device("auto")
    return {
        "gramian": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "device": device.type,
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
        "free_bytes": free_bytes(device),
        "budget_bytes": resolve_memory(None, device),
        "torch_threads": torch.get_num_threads(),
        "cpus": os.cpu_count(),
        "data_folder": os.environ.get(VARIABLE),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def info(as_json: bool) -> None:
    """Show versions, device, memory and threads, for reports of problems.

    \b
    Examples:
      gramian info
      gramian info --json
    """
    from gramian.cli.output import emit, make_console  # here: help needs none of it
    from gramian.core import format_bytes
    from gramian.datasets.folder import VARIABLE
    from gramian.display import Column, Section, Table, to_rich

    facts = collect()
    if as_json:
        emit(facts)
        return
    rows = [
        ("gramian", facts["gramian"]),
        ("python", f"{facts['python']} on {facts['platform']}"),
        *((name, found or "not installed") for name, found in facts["packages"].items()),
        ("device", f"{facts['device']} ({facts['device_name']})"),
        ("memory", f"{format_bytes(facts['free_bytes'])} free; a fit uses up to {format_bytes(facts['budget_bytes'])}"),
        ("threads", f"{facts['torch_threads']} for torch, {facts['cpus']} CPUs"),
        ("data", facts["data_folder"] or f"{VARIABLE} is not set"),
    ]
    make_console().print(to_rich([Section("", Table(["", Column("", "left")], rows))]))
