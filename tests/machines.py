"""Computers of a network on one: network namespaces with their own addresses, a Dask scheduler and workers in them.

Every machine is a network namespace that is connected to a bridge by a cable (a pair of ``veth`` interfaces). The
process that uses :class:`Machines` has the bridge's own address. Linux only, with the rights of an administrator.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from distributed import Client

_PORT = 8786
_NUMBERS = itertools.count()
_IMPORTS = ("--preload", "gramian.distributed", "--preload", "gramian.rfm.training.train")
"""A process that imports torch later cannot answer meanwhile, and counts as lost on a busy computer."""
_SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "30s",  # a silent worker is given up after this time
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",  # the least that Dask accepts is 11 s
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "10",
    "OMP_NUM_THREADS": "1",
}


def why_not() -> str:
    """Return the reason why there can be no machines here; empty if there can be."""
    if shutil.which("ip") is None:
        return "there is no command ip, which makes network namespaces"
    name = f"gramian{os.getpid()}"
    if _ip("netns", "add", name, check=False):
        return "network namespaces may not be made here (an administrator may)"
    try:
        if _ip("link", "add", f"g{os.getpid()}", "type", "bridge", check=False):
            return "bridges may not be made here"
        _ip("link", "del", f"g{os.getpid()}")
    finally:
        _ip("netns", "del", name)
    return ""


@dataclass(frozen=True)
class Traffic:
    """Bytes that a machine has sent and received."""

    sent: int
    received: int


class Machines:
    """A scheduler on a machine of its own, machines with workers, and a client in this process.

    Parameters
    ----------
    count : int
        Machines with workers.
    workers : int
        Workers on each, of one thread.
    mbit : float or None
        Bandwidth of every cable in each direction, in megabits per second; unlimited by default.
    """

    def __init__(self, count: int = 3, workers: int = 1, mbit: float | None = None) -> None:
        self.count, self.workers, self.mbit = count, workers, mbit
        number = next(_NUMBERS)  # several may exist at a time
        self._name = f"g{os.getpid() % 10_000}{chr(ord('a') + number % 26)}"
        self._subnet = f"10.{200 + number % 50}.{os.getpid() % 250}"
        self._processes: dict[int, list[subprocess.Popen[bytes]]] = {}
        self.client: Client

    def __enter__(self) -> Machines:
        try:
            self._cable_up()
            address = f"tcp://{self._address(0)}:{_PORT}"
            scheduler = ["distributed.cli.dask_scheduler", "--host", self._address(0), "--port", str(_PORT)]
            self._start(0, [*scheduler, "--no-dashboard", *_IMPORTS])
            for machine in range(1, self.count + 1):
                for _ in range(self.workers):
                    host = ["--host", self._address(machine), "--nthreads", "1", "--no-dashboard", "--no-nanny"]
                    worker = ["distributed.cli.dask_worker", address, *host, "--memory-limit", "0"]
                    self._start(machine, [*worker, *_IMPORTS, "--death-timeout", "200"])
            self.client = Client(address, timeout=120, set_as_default=False)
            self.client.wait_for_workers(self.count * self.workers, timeout=200)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if hasattr(self, "client"):
            self.client.close(timeout=5)
        for machine in list(self._processes):
            self.stop_processes(machine)
        for machine in range(self.count + 1):
            _ip("netns", "del", self._namespace(machine), check=False)  # with its end of the cable
            _ip("link", "del", self._cable(machine), check=False)
        _ip("link", "del", f"{self._name}b", check=False)

    def traffic(self) -> list[Traffic]:
        """Return the bytes that each machine has sent and received so far, the scheduler's first."""
        found = []
        for machine in range(self.count + 1):
            counters = Path("/sys/class/net", self._cable(machine), "statistics")
            # This end of the cable receives what the machine sends.
            sent, received = (int((counters / name).read_text()) for name in ("rx_bytes", "tx_bytes"))
            found.append(Traffic(sent, received))
        return found

    def kill_worker(self, machine: int) -> None:
        """End one worker at once; its machine stays in the network and says so to the others."""
        process = self._processes[machine].pop()
        process.send_signal(signal.SIGKILL)
        process.wait()

    def lose(self, machine: int) -> None:
        """Take a machine out of the network without a word, and then end everything on it."""
        _ip("link", "set", self._cable(machine), "down")
        self.stop_processes(machine)

    def stop_processes(self, machine: int) -> None:
        """End all processes of a machine at once."""
        for process in self._processes.pop(machine, []):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _cable_up(self) -> None:
        bridge = f"{self._name}b"
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{self._subnet}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for machine in range(self.count + 1):
            space, cable, inside = self._namespace(machine), self._cable(machine), f"{self._name}i{machine}"
            _ip("netns", "add", space)
            _ip("link", "add", cable, "type", "veth", "peer", "name", inside)
            _ip("link", "set", inside, "netns", space)
            _ip("link", "set", cable, "master", bridge)
            _ip("link", "set", cable, "up")
            for words in (
                ("addr", "add", f"{self._address(machine)}/24", "dev", inside),
                ("link", "set", inside, "up"),
                ("link", "set", "lo", "up"),
            ):
                _ip("-n", space, *words)
            if self.mbit:
                for within, device in (((), cable), (("-n", space), inside)):
                    _limit(within, device, self.mbit)

    def _start(self, machine: int, module: list[str]) -> None:
        command = ["ip", "netns", "exec", self._namespace(machine), sys.executable, "-m", *module]
        process = subprocess.Popen(
            command, env=os.environ | _SETTINGS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._processes.setdefault(machine, []).append(process)

    def _address(self, machine: int) -> str:
        return f"{self._subnet}.{10 + machine}"

    def _namespace(self, machine: int) -> str:
        return f"{self._name}m{machine}"

    def _cable(self, machine: int) -> str:
        return f"{self._name}c{machine}"


def addresses(machines: Machines) -> list[str]:
    """Return the addresses of the machines that have a worker."""
    known = machines.client.scheduler_info(n_workers=-1)["workers"]
    return sorted({facts["host"] for facts in known.values()})


def _limit(within: tuple[str, ...], device: str, mbit: float) -> None:
    command = ["tc", *within, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{mbit}mbit"]
    subprocess.run([*command, "burst", "256kb", "latency", "400ms"], check=True, capture_output=True)


def _ip(*words: str, check: bool = True) -> int:
    return subprocess.run(["ip", *words], check=check, capture_output=True).returncode
