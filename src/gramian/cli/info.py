"""``gramian info``: versions, device, memory, threads; what a report of a problem should contain."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click
import torch
from rich.table import Table

from gramian import __version__
from gramian.cli.output import emit
from gramian.cli.show import make_console
from gramian.core import format_bytes, free_bytes, resolve_device, resolve_memory
from gramian.datasets.folder import VARIABLE

_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "matplotlib")


def collect() -> dict[str, Any]:
    """Facts about this installation and machine.

    >>> collect()["device"] in ("cpu", "cuda", "mps")
    True
    """
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
    """Show versions, device, memory and threads: what the report of a problem should contain.

    \b
    Examples:
      gramian info
      gramian info --json
    """
    facts = collect()
    if as_json:
        emit(facts)
        return
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold cyan")
    table.add_column(overflow="fold")
    rows = [
        ("gramian", facts["gramian"]),
        ("python", f"{facts['python']} on {facts['platform']}"),
        *((name, found or "not installed") for name, found in facts["packages"].items()),
        ("device", f"{facts['device']} ({facts['device_name']})"),
        ("memory", f"{format_bytes(facts['free_bytes'])} free; a fit uses up to {format_bytes(facts['budget_bytes'])}"),
        ("threads", f"{facts['torch_threads']} for torch, {facts['cpus']} CPUs"),
        ("data", facts["data_folder"] or f"{VARIABLE} is not set"),
    ]
    for name, value in rows:
        table.add_row(name, value)
    make_console().print(table)
