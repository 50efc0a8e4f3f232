"""Hosts as workers of dask.distributed: one worker per host, with one slot for each role, `server` and `generator`.

A task on a host has a lease, which the client renews. If the lease runs out, the host ends the task. A host on which a
lease can't be renewed counts as lost. Without a fleet this module is not imported and no port is opened.
"""

import asyncio
import contextlib
import ipaddress
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar, cast
from urllib.parse import urlsplit

import dask
from distributed import Client, Future, SpecCluster, Worker, WorkerPlugin
from distributed.deploy import ssh

from runners.errors import LabError, MeasureError, PlanError
from runners.fleet import shares
from runners.generators.load import Truepace
from runners.process import supervisor
from runners.storage.schema import ClockRecord, NetworkRecord
from runners.toolchain.build import truepace_tool
from runners.toolchain.tools import TRUEPACE

SERVER, GENERATOR = "server", "generator"
SLOTS = {SERVER: 1, GENERATOR: 1}
#: A worker's threads: for a server's task, a generator's task and a short task at the same time.
THREADS = 3
LEASE_S = 8.0
RENEW_S = 1.0
ASK_S = 4.0  # time for a host to respond
CONNECT_S = 20.0
_T = TypeVar("_T")
#: The end of each lease of this worker process, in seconds of the monotonic clock, by the lease's name.
_leases: dict[str, float] = {}


class LabPlugin(WorkerPlugin):  # type: ignore[misc] # distributed has no types
    """Adds handlers for clock and leases to a worker, on the worker's existing connection: no other port is opened."""

    name = "lab"

    def setup(self, worker: Worker) -> None:
        worker.handlers["lab_clock"] = lambda: [time.time_ns(), time.time_ns()]  # received, replied
        worker.handlers["lab_lease"] = _renew


def _renew(lease: str, seconds: float) -> bool:
    _leases[lease] = time.monotonic() + seconds
    return True


def lease_over(lease: str, began: float) -> bool:
    """Return whether a task's lease has run out; `began`: the task's start, in seconds of the monotonic clock."""
    return time.monotonic() > _leases.get(lease, began + LEASE_S)


@dataclass(frozen=True, slots=True)
class Tls:
    """The files of a fleet's certificates, the same on every host. Whoever has the files may run code on all hosts."""

    ca: Path
    cert: Path
    key: Path

    def settings(self) -> dict[str, object]:
        """Return dask's settings to use these files in all of its roles. Raises PlanError if a file is absent."""
        for path in (self.ca, self.cert, self.key):
            if not path.is_file():
                raise PlanError(str(path), "no such file", "name three files with --tls CA CERT KEY")
        at, roles = "distributed.comm.tls", ("client", "scheduler", "worker")
        files = {f"{at}.{role}.{of}": str(getattr(self, of)) for role in roles for of in ("cert", "key")}
        return {f"{at}.ca-file": str(self.ca), "distributed.comm.require-encryption": True, **files}


@dataclass(frozen=True, slots=True)
class Host:
    """A host whose worker process has joined the fleet."""

    address: str  # of the worker
    ip: str  # of its host
    name: str


@dataclass(slots=True)
class Fleet:
    """The hosts whose workers are connected to one scheduler of dask."""

    client: Client
    tls: Tls | None = None
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        self.client.register_plugin(LabPlugin())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def hosts(self, role: str = GENERATOR) -> list[Host]:
        """Return, sorted by name, the hosts that are connected now and have a slot for `role` (SERVER or GENERATOR)."""
        if self.client.status != "running":
            return []  # the scheduler is gone, or does not respond for now
        known: Mapping[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        able = ((address, about) for address, about in known.items() if about["resources"].get(role))
        hosts = (Host(address, str(about["host"]), str(about["name"])) for address, about in able)
        return sorted(hosts, key=lambda host: (host.name.zfill(8), host.address))

    def exchanges(self, host: Host) -> list[shares.Exchange]:
        """Ask a host EXCHANGES times for the time; return the time stamps. Raises LostHostError if the host is gone."""

        async def ask() -> list[shares.Exchange]:
            exchanges = []
            for _ in range(shares.EXCHANGES):
                asked_ns = time.time_ns()
                received_ns, replied_ns = await self.client.rpc(host.address).lab_clock()
                exchanges.append(shares.Exchange(asked_ns, received_ns, replied_ns, time.time_ns()))
            return exchanges

        return list(self._response(host, ask(), ASK_S * (1 + shares.EXCHANGES / 8)))

    def renew(self, host: Host, lease: str, seconds: float = LEASE_S) -> None:
        """Renew the lease of this name for `seconds` (0: end it). Raises LostHostError if the host does not respond."""
        self._response(host, self.client.rpc(host.address).lab_lease(lease=lease, seconds=seconds))

    def _response(self, host: Host, request: Any, within_s: float = ASK_S) -> Any:
        try:
            return self.client.sync(asyncio.wait_for, request, within_s, callback_timeout=2 * within_s)
        except (OSError, TimeoutError, RuntimeError) as error:
            raise lost(host, f"it does not respond ({type(error).__name__})") from error

    def run_on(self, host: Host, role: str, halted: threading.Event, work: Callable[..., _T], *arguments: object) -> _T:
        """Run `work` on a host, in its slot for `role`, and return the result; once `halted` is set, the lease ends.

        `work` gets the name of its lease as last argument, and must end once `lease_over` is true. Raises LabErrors
        of `work`, MeasureError for its other errors, and LostHostError if the host, its task or the scheduler is lost.
        """
        lease = uuid.uuid4().hex
        self.renew(host, lease)
        future: Future = self.client.submit(
            work, *arguments, lease, workers=[host.address], allow_other_workers=False,
            resources={role: 1}, pure=False, retries=0, key=f"{work.__name__}-{lease}",
        )  # fmt: skip
        changed, heard_s = threading.Event(), time.monotonic()
        future.add_done_callback(lambda _: changed.set())
        try:
            while not changed.wait(RENEW_S):
                with contextlib.suppress(shares.LostHostError):
                    self.renew(host, lease, 0.0 if halted.is_set() else LEASE_S)
                    if self.client.status == "running":
                        heard_s = time.monotonic()
                if time.monotonic() - heard_s > LEASE_S:
                    raise lost(host, f"it has not responded for {LEASE_S:g} s, or the scheduler has not")
            if future.status == "finished":
                return cast(_T, future.result(timeout=CONNECT_S))
            if future.status != "error":
                raise lost(host, f"its task is {future.status}: the worker or the scheduler has ended")
            failure = future.exception(timeout=CONNECT_S)
            if isinstance(failure, LabError):
                raise failure
            if type(failure).__module__.startswith(("distributed.scheduler", "distributed.comm")):
                raise lost(host, str(failure)) from failure
            raise MeasureError(f"host {host.name}", f"{type(failure).__name__}: {failure}", "see the worker's log")
        finally:
            with contextlib.suppress(shares.LostHostError):
                if not future.done():
                    self.renew(host, lease, 0.0)
            future.release()

    def seats(self, count: int, own_worker: str = "") -> list["RemoteSeat"]:
        """Return places for `count` generators, not on worker `own_worker`. Raises PlanError if hosts are too few."""
        free = [host for host in self.hosts() if host.address != own_worker]
        if len(free) < count:
            cause = f"{len(free)} hosts besides the server's have a slot for a generator, {count} are wanted"
            raise PlanError("the fleet", cause, "start more workers, or give fewer with --generators")
        return [RemoteSeat(self, host) for host in free[:count]]


def lost(host: Host, cause: str) -> shares.LostHostError:
    return shares.LostHostError(f"host {host.name} ({host.address})", cause, "see whether it and its worker still run")


@dataclass(frozen=True, slots=True)
class RemoteSeat:
    """A place for a generator on a host of the fleet."""

    fleet: Fleet
    host: Host

    def look(self, urls: Sequence[str]) -> NetworkRecord:
        for url in urls:
            if _is_loopback(urlsplit(url).hostname) and not _is_loopback(self.host.ip):
                cause = f"its server listens on the loopback, where host {self.host.name} can't reach it"
                raise PlanError(url, cause, "give --listen ADDRESS, and write {host} for it in a target.yaml")
        return self.fleet.run_on(self.host, GENERATOR, threading.Event(), _look, tuple(urls))

    def clock(self) -> ClockRecord:
        return shares.estimated(self.fleet.exchanges(self.host))

    def send(self, order: shares.Order, halted: threading.Event) -> shares.Part:
        return self.fleet.run_on(self.host, GENERATOR, halted, _send, order, self.host.name)


def _is_loopback(address: str | None) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address or "").is_loopback
    return address == "localhost"


def _look(urls: Sequence[str], _lease: str) -> NetworkRecord:
    return shares.round_trips(urls)


def _send(order: shares.Order, host: str, lease: str) -> shares.Part:
    tool, began = truepace_tool(TRUEPACE), time.monotonic()
    generator = Truepace(tool.path, tool.version)
    return shares.send_share(order, generator, host, lambda: lease_over(lease, began), observed=True)


def quiet(tls: Tls | None) -> contextlib.ExitStack:
    """Configure dask without retries and with the files of `tls`, until the returned stack is closed."""
    settings: dict[str, object] = {
        "distributed.scheduler.allowed-failures": 0,
        "distributed.comm.timeouts.connect": f"{CONNECT_S:g}s",
        "distributed.admin.tick.limit": "30s",  # event loops wait for a core under load
        "distributed.scheduler.worker-ttl": None,
        "distributed.scheduler.work-stealing": False,
        "distributed.worker.memory.terminate": False,
        "distributed.diagnostics.nvml": False,
    }
    stack = contextlib.ExitStack()
    stack.enter_context(dask.config.set(settings | (tls.settings() if tls else {})))
    return stack


def connected(scheduler: str, tls: Tls | None = None) -> Fleet:
    """Return the fleet of a scheduler that runs already. Raises PlanError if it does not respond."""
    if scheduler.startswith("tls://") and tls is None:
        raise PlanError(scheduler, "its certificates are not named", "give --tls CA CERT KEY")
    try:
        with quiet(tls) as stack:
            client = stack.enter_context(Client(scheduler, timeout=CONNECT_S, set_as_default=False))
            return Fleet(client, tls, stack.pop_all())
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        cause = f"it does not respond ({error})"
        raise PlanError(f"scheduler {scheduler}", cause, "start it, or check address and TLS") from error


def by_ssh(hosts: Sequence[str], tls: Tls | None, connect: Mapping[str, Any] | None = None) -> Fleet:
    """Start by SSH a scheduler on the first host and a worker on every host. Raises PlanError if that fails.

    Scheduler and workers listen on their host's address alone, and end with the SSH connection. The lab and the TLS
    files must be at the same paths on all hosts. `connect`: options of asyncssh.
    """
    common = {"protocol": "tls://" if tls else "tcp://", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    python = os.environ.get("LAB_REMOTE_PYTHON", sys.executable)
    reached = {"connect_options": dict(connect or {}), "remote_python": f"{python} -m {supervisor.__name__}"}
    slots = {"nthreads": THREADS, "resources": SLOTS, "memory_limit": 0}

    def started(host: str, kind: type, about: dict[str, Any], **more: object) -> dict[str, object]:
        options = {**reached, "address": host, "kwargs": {**common, "host": host, **about}, **more}
        return {"cls": kind, "options": options}

    scheduler = started(hosts[0], ssh.Scheduler, {"port": 0})
    workers = {
        host: started(host, ssh.Worker, {"name": host, **slots}, worker_class="distributed.Nanny") for host in hosts
    }
    stack = quiet(tls)
    try:
        with stack:
            cluster = stack.enter_context(SpecCluster(workers, scheduler, name="lab"))
            client = stack.enter_context(Client(cluster, set_as_default=False))
            return Fleet(client, tls, stack.pop_all())
    except Exception as error:  # asyncssh, the system and dask have errors of their own
        cause = f"they can't be started ({type(error).__name__}: {error})"
        remedy = "see whether `ssh HOST lab doctor` works for each"
        raise PlanError(f"hosts {', '.join(hosts)}", cause, remedy) from error


def opened(scheduler: str | None, hosts: str | None, tls: Sequence[Path] | None, no_tls: bool) -> Fleet:
    """Return the fleet of a running `scheduler`, or start one on `hosts` (separated by commas).

    `tls`: CA, certificate, key. Raises PlanError for `scheduler` with `hosts`, or `hosts` without `tls` or `no_tls`.
    """
    files = Tls(*(path.resolve() for path in tls)) if tls else None
    if scheduler and hosts:
        raise PlanError("--scheduler and --hosts", "the one names workers that run, the other starts some", "give one")
    if scheduler:
        return connected(scheduler, files)
    if files is None and not no_tls:
        cause = "whoever reaches a worker without TLS may run code on its host"
        remedy = "give --tls CA CERT KEY (on all hosts at one place), or --no-tls in a network of yours alone"
        raise PlanError("--hosts", cause, remedy)
    return by_ssh([host.strip() for host in (hosts or "").split(",") if host.strip()], files)


def environment(fleet: Fleet, host: Host) -> dict[str, str]:
    """Return the environment variables by which a lab on a host of the fleet finds the fleet."""
    tls = fleet.tls
    files = os.pathsep.join(str(path) for path in (tls.ca, tls.cert, tls.key)) if tls else ""
    scheduler = str(fleet.client.scheduler_info(n_workers=0)["address"])
    return {shares.SCHEDULER_VARIABLE: scheduler, shares.TLS_VARIABLE: files, shares.WORKER_VARIABLE: host.address}


def from_environment() -> Fleet:
    """Return the fleet that the environment variables name. Raises PlanError if its scheduler does not respond."""
    files = os.environ.get(shares.TLS_VARIABLE)
    return connected(os.environ[shares.SCHEDULER_VARIABLE], Tls(*map(Path, files.split(os.pathsep))) if files else None)
