"""Hosts as network namespaces, each joined to a hub that forwards: for tests, where the system allows them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runners.tests.waiting import until
from runners.toolchain.tools import ROOT

_DEVICE = "eth0"
_HUB = "hub"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def refusal() -> str | None:
    """Why there can be no namespaces here; None where there can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "network namespaces need root and iproute2"
    name = f"lab{os.getpid()}-try"
    try:
        _ip("netns", "add", name)
        _ip("-n", name, "link", "add", "name", "try0", "type", "veth", "peer", "name", "try1")
    except subprocess.CalledProcessError as error:
        return f"this system allows no network namespaces with veth ({error.stderr.strip()})"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    return None


@dataclass(frozen=True, slots=True)
class Planted:
    """What a host's link does to packets, each way."""

    delay_ms: float
    loss: float


@dataclass(slots=True)
class Network:
    """The hosts of a test, by number from 0. `made_by` says what planted the faults: netem, or a wire of our own."""

    count: int
    planted: Mapping[int, Planted] = field(default_factory=dict)
    made_by: str = "netem"
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def namespace(self, host: int | str) -> str:
        return f"lab{os.getpid()}-{host}"

    @staticmethod
    def address(host: int) -> str:
        """A host's address; the first's is 10.77.1.2."""
        return f"10.77.{host + 1}.2"

    def command(self, host: int, words: Sequence[str]) -> list[str]:
        """A command as it is run on a host."""
        return ["ip", "netns", "exec", self.namespace(host), *words]

    def start(self, host: int, *words: str, log: Path, **environment: str) -> subprocess.Popen[bytes]:
        """Start a process on a host; it ends with the network."""
        with log.open("ab") as out:
            child = subprocess.Popen(
                self.command(host, words), stdout=out, stderr=out, env=dict(os.environ, **environment),
                start_new_session=True,
            )  # fmt: skip
        self._running.append(child)
        return child

    def cut(self, host: int) -> None:
        """Take a host off the network: nobody is notified."""
        _ip("-n", self.namespace(_HUB), "link", "set", f"h{host}", "down")

    def join(self, host: int) -> None:
        """Put it back."""
        _ip("-n", self.namespace(_HUB), "link", "set", f"h{host}", "up")

    def __enter__(self) -> Network:
        hub = self.namespace(_HUB)
        _ip("netns", "add", hub)
        forward = "echo 1 > /proc/sys/net/ipv4/ip_forward"
        subprocess.run(["ip", "netns", "exec", hub, "sh", "-c", forward], check=True)
        for host in range(self.count):
            own = self.namespace(host)
            _ip("netns", "add", own)
            _ip("-n", own, "link", "set", "lo", "up")
            planted = self.planted.get(host)
            if planted is None or not self._by_netem(host, planted):
                if planted is None:
                    self._veth(host)
                else:
                    self._wire(host, planted)
        return self

    def _veth(self, host: int) -> None:
        _ip("link", "add", "name", f"l{os.getpid()}h{host}", "type", "veth", "peer", "name", f"l{os.getpid()}e{host}")
        _ip("link", "set", f"l{os.getpid()}h{host}", "netns", self.namespace(_HUB), "name", f"h{host}")
        _ip("link", "set", f"l{os.getpid()}e{host}", "netns", self.namespace(host), "name", _DEVICE)
        self._addresses(host, "10.77.{}.1/24", "10.77.{}.2/24")

    def _addresses(self, host: int, hub: str, own: str) -> None:
        for namespace, device, address in (
            (self.namespace(_HUB), f"h{host}", hub.format(host + 1)),
            (self.namespace(host), _DEVICE, own.format(host + 1)),
        ):
            _ip("-n", namespace, "addr", "add", address, "dev", device)
            _ip("-n", namespace, "link", "set", device, "up")
        _ip("-n", self.namespace(host), "route", "add", "default", "via", f"10.77.{host + 1}.1")

    def _by_netem(self, host: int, planted: Planted) -> bool:
        """Plant by the kernel's own emulation of networks, on both ends of the link; false where it has none."""
        self._veth(host)
        rules = ("netem", "delay", f"{planted.delay_ms}ms", "loss", f"{planted.loss:.3%}")
        for namespace, device in ((self.namespace(_HUB), f"h{host}"), (self.namespace(host), _DEVICE)):
            done = subprocess.run(
                ["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", *rules], check=False, capture_output=True
            )
            if done.returncode:
                _ip("-n", self.namespace(host), "link", "del", _DEVICE)
                self.made_by = "a wire of TUN devices (this kernel has no netem)"
                return False
        return True

    def _wire(self, host: int, planted: Planted) -> None:
        device = f"h{host}"
        words = [sys.executable, "-m", "runners.tests.fleet.wire", self.namespace(_HUB), self.namespace(host), device,
                 str(planted.delay_ms), str(planted.loss), "1"]  # fmt: skip
        carrying = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT)
        self._running.append(carrying)
        assert carrying.stdout is not None and carrying.stdout.readline() == b"ready\n"
        _ip("-n", self.namespace(host), "link", "set", device, "name", _DEVICE)
        self._addresses(host, "10.77.{}.1/24", "10.77.{}.2/24")

    def __exit__(self, *_: object) -> None:
        for child in reversed(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, 15) if os.getpgid(child.pid) == child.pid else child.terminate()
        for child in self._running:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
        for host in (*range(self.count), _HUB):
            subprocess.run(["ip", "netns", "del", self.namespace(host)], check=False, capture_output=True)


@dataclass(frozen=True, slots=True)
class Machines:
    """A fleet on the hosts of a network: a scheduler on the first, a worker on each."""

    network: Network
    folder: Path
    port: int = 8786

    @property
    def scheduler(self) -> str:
        return f"tcp://{Network.address(0)}:{self.port}"

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        address = Network.address(0)
        child = self.network.start(
            0, sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", address, "--port", str(self.port),
            "--no-dashboard", "--dashboard-address", "127.0.0.1:0", log=self.folder / "scheduler.log",
        )  # fmt: skip
        assert until(lambda: b"Scheduler at" in (self.folder / "scheduler.log").read_bytes())
        return child

    def start_worker(self, host: int) -> subprocess.Popen[bytes]:
        log = self.folder / f"worker-{host}.log"
        before = log.read_bytes().count(b"Registered to") if log.exists() else 0
        child = self.network.start(
            host, sys.executable, "-m", "distributed.cli.dask_worker", self.scheduler, "--host", Network.address(host),
            "--name", f"host-{host}", "--nthreads", "3", "--no-dashboard", "--dashboard-address", "127.0.0.1:0",
            "--resources", "server=1 generator=1", "--memory-limit", "0", log=log,
        )  # fmt: skip
        assert until(lambda: log.read_bytes().count(b"Registered to") > before), log.read_text()
        return child


@contextlib.contextmanager
def machines(count: int, folder: Path, planted: Mapping[int, Planted] | None = None) -> Iterator[Machines]:
    """A network with a fleet on it."""
    with Network(count, planted or {}) as network:
        fleet = Machines(network, folder)
        fleet.start_scheduler()
        for host in range(count):
            fleet.start_worker(host)
        yield fleet
