"""Functions for tests of worker processes, importable by them."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from threadpoolctl import threadpool_info


def misbehave(item, base):
    """Raise, exit, sleep or print, as the item says; add base to numbers."""
    if item == "raise":
        raise ValueError("no\nluck")
    if item == "die":
        os._exit(3)
    if item == "sleep":
        time.sleep(60)
    if item == "print":
        os.write(1, b"not to be seen\n")
        return "printed"
    return base + item


def threads(item):
    """Return the number of threads of torch and of each linear algebra library in this process."""
    return torch.get_num_threads(), [pool["num_threads"] for pool in threadpool_info()]


@dataclass(frozen=True)
class KilledOnce:
    """A function whose first call kills its process at once, as the system does when memory is used up."""

    function: Callable
    file: Path
    """It will contain the number of the process."""

    def __call__(self, *args):
        with suppress(FileExistsError), self.file.open("x") as file:
            file.write(str(os.getpid()))
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.function(*args)
