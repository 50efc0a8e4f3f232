"""Send one load by several generators: each its share of one schedule, all from one agreed instant on.

`SharedSender` takes the place of `run_load`: its result looks like that of one generator, and so do its files.

Hosts agree on the instant by their wall clocks, so the offset of each clock from ours is estimated, and its
uncertainty. The four stamps of an exchange and the choice of the exchange with the least delay are NTP's (D. Mills et
al., RFC 5905, sections 8 and 10): whatever the asymmetry of a path, the true offset lies within half of the delay of
the offset that an exchange shows, so the exchange that waited least bounds it best.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from runners.errors import MeasureError, ReadError
from runners.generators.load import TICK_S, Generator, LoadOutcome, LoadSpec, Sender, run_load
from runners.process.cpu_placement import usable_cpus
from runners.storage.schema import ClockRecord, GeneratorRecord, NetworkRecord, ShareRecord, WitnessRecord
from runners.storage.step_folder import StepFolder
from runners.targets.lab_server import NodeHost
from runners.toolchain.tools import TRUEPACE
from runners.trial import machine
from runners.trial.activity import StallWitness
from runners.trial.faults import parse_counters
from runners.trial.telemetry import Telemetry

#: The time from the agreement to the instant, in which all generators connect. The next one where that was too short.
LEADS_S = (2.0, 6.0, 18.0)
LEAD_A_CONNECTION_S = 0.0005
CONNECTS = 10
CONNECT_TIMEOUT_S = 5.0
#: Name a fleet's scheduler, its TLS files, and the server's own worker to a lab that a host of the fleet has started.
SCHEDULER_VARIABLE, TLS_VARIABLE, WORKER_VARIABLE = "LAB_SCHEDULER", "LAB_TLS", "LAB_WORKER"
_PORTS = {"http": 80, "https": 443}
_US_IN_S = 1e6
#: A connection took longer than the lead or than its time-out: the network lost its first segments, though the seat had
#: reached the servers before. A later instant is agreed on.
_AGAIN = re.compile(r"--start-at|connection timed out")
_NO_NAME = re.compile(r"[^\w.-]+")  # characters of a host's name that a folder's should not have


class LostHostError(MeasureError):
    """A host that no longer responds: its part has to be measured again, there or elsewhere."""


@dataclass(frozen=True, slots=True)
class Order:
    """The load of one generator. Scripts travel as text: a path means nothing on another host."""

    spec: LoadSpec
    scripts: tuple[tuple[str, str], ...]
    version: str
    observed: bool = True

    @classmethod
    def packed(cls, spec: LoadSpec, version: str, observed: bool = True) -> Order:
        """Return an order for a load, with the texts of its scripts."""
        texts: dict[str, str] = {}

        def pack(script: Path) -> Path:
            name = f"{len(texts)}-{script.name}"
            texts[name] = script.read_text(encoding="utf-8")
            return Path(name)

        return cls(_with_scripts(spec, pack), tuple(texts.items()), version, observed)

    def unpacked(self, folder: Path) -> LoadSpec:
        """Return the load with its scripts in a folder of this host."""
        for name, text in self.scripts:
            (folder / name).write_text(text, encoding="utf-8")
        return _with_scripts(self.spec, lambda script: folder / script)


def _with_scripts(spec: LoadSpec, moved: Callable[[Path], Path]) -> LoadSpec:
    targets = tuple(
        dataclasses.replace(target, script=moved(target.script)) if target.script else target for target in spec.targets
    )
    return dataclasses.replace(spec, script=moved(spec.script) if spec.script else None, targets=targets)


@dataclass(frozen=True, slots=True)
class Part:
    """The result of one generator: its record, the start of its window by its own clock, and its files by name."""

    record: ShareRecord
    start_unix_us: int
    files: dict[str, bytes]


class Seat(Protocol):
    """A place for one generator on some host."""

    @property
    def name(self) -> str: ...
    def look(self, urls: Sequence[str]) -> NetworkRecord:
        """Measure round trips to the servers by connecting a few times."""

    def clock(self) -> Clock:
        """Return the host's wall clock against ours."""

    def send(self, order: Order, halted: threading.Event) -> Part:
        """Send a share to its end, or until `halted`. Raises MeasureError, or LostHostError for a host that is gone."""


@dataclass(frozen=True, slots=True)
class LocalSeat:
    """A place on this host, whose clock, telemetry and stall witness are those of the server."""

    name: str
    generator: Generator | None = None
    cpus: tuple[int, ...] | None = None
    taskset: Path | None = None

    def look(self, urls: Sequence[str]) -> NetworkRecord:
        return NetworkRecord()

    def clock(self) -> Clock:
        return Clock()

    def send(self, order: Order, halted: threading.Event) -> Part:
        assert self.generator is not None, "the sender says which"
        return send_share(order, self.generator, self.name, halted.is_set, self.cpus, self.taskset)


def send_share(
    order: Order,
    generator: Generator,
    host: str,
    halted: Callable[[], bool],
    cpus: Sequence[int] | None = None,
    taskset: Path | None = None,
) -> Part:
    """Send a share of a load from this host, with telemetry and stall witness if it is `observed`.

    Raises MeasureError.
    """
    if generator.version != order.version:
        cause = f"its generator has version {generator.version}, not {order.version} as the server's host"
        raise MeasureError(host, cause, "install one version of the lab on all hosts")
    with tempfile.TemporaryDirectory(prefix="lab-share-") as scratch:
        folder = StepFolder(Path(scratch))
        spec = order.unpacked(folder.path)
        scripts = {path.name for path in folder.path.iterdir()}
        witness = StallWitness(TRUEPACE.with_name("stall-witness"))
        watching: AbstractContextManager[list[WitnessRecord]] = nullcontext([])
        if order.observed:
            watching = witness.watch_if_allowed(usable_cpus(), folder.stalls)
        before = segments()
        with closing(Telemetry(folder.telemetry, ())) as telemetry, watching as watched:

            def tick(pid: int, _elapsed_s: float) -> bool:
                if order.observed:
                    telemetry.sample(pid)
                return not halted()

            outcome = run_load(generator, spec, folder, cpus=cpus, taskset=taskset, tick=tick)
        sent, repeated = (None if now is None or then is None else now - then
                          for now, then in zip(segments(), before, strict=True))  # fmt: skip
        if not folder.load_json.exists():
            raise MeasureError(host, "its generator was stopped before it began", "see what stopped it")
        report = json.loads(folder.load_json.read_text(encoding="utf-8"))
        sender = GeneratorRecord(
            tool=generator.name, version=generator.version, command=outcome.command, exit_code=outcome.exit_code,
            cpu_s=outcome.cpu_s, cpus=tuple(cpus) if cpus else None,
        )  # fmt: skip
        record = ShareRecord(
            host=host,
            generator=sender,
            offered_rps=report["offered_rps"],
            completed=report["requests"]["completed"],
            kept_up=report["generator"]["kept_up"],
            verdict=report["generator"]["verdict"],
            network=NetworkRecord(sent_segments=sent, repeated_segments=repeated),
            machine=machine.facts() if order.observed else {},
            witness=watched[0] if watched else None,
        )
        paths = [path for path in folder.path.iterdir() if path.is_file() and path.name not in scripts]
        return Part(record, int(report["start_unix_us"]), {path.name: path.read_bytes() for path in paths})


def round_trips(urls: Sequence[str], connects: int = CONNECTS) -> NetworkRecord:
    """Measure the round trip to each server by connecting: TCP's handshake takes one, and no work of the server."""
    taken_us, failed = [], 0
    for url in dict.fromkeys(urls):
        address = urlsplit(url)
        port = address.port or _PORTS.get(address.scheme, 80)
        for _ in range(connects):
            begin_ns = time.monotonic_ns()
            try:
                socket.create_connection((str(address.hostname), port), CONNECT_TIMEOUT_S).close()
            except OSError:
                failed += 1
                continue
            taken_us.append((time.monotonic_ns() - begin_ns) / 1e3)
    return NetworkRecord(round_trips_us=tuple(taken_us), failed=failed)


def segments() -> tuple[int | None, int | None]:
    """Return the numbers of TCP segments that this host has sent and sent again; None without counters in /proc."""
    with suppress(OSError):
        counters = parse_counters(Path("/proc/self/net/snmp").read_text(encoding="ascii"))
        return counters.get("OutSegs"), counters.get("RetransSegs")
    return None, None


class SharedSender:
    """Sends a load from several seats as `run_load` does from one.

    A closed loop of a number of requests (a fill) is not measured, and is sent by one generator of this host.
    """

    def __init__(self, seats: Sequence[Seat]) -> None:
        self.seats = tuple(seats)

    def __call__(
        self,
        generator: Generator,
        spec: LoadSpec,
        folder: StepFolder,
        *,
        cpus: Sequence[int] | None = None,
        taskset: Path | None = None,
        tick: Callable[[int, float], bool] = lambda _pid, _elapsed: True,
    ) -> LoadOutcome:
        """Send the load. Raises MeasureError where a generator refuses, LostHostError where its host is gone."""
        if spec.rate_rps is None and spec.requests is not None:
            return run_load(generator, spec, folder, cpus=cpus, taskset=taskset, tick=tick)
        if generator.name != "truepace":
            raise MeasureError(generator.name, "it can't share a load with other generators", "use the lab's own")
        seats = [dataclasses.replace(seat, generator=generator, cpus=tuple(cpus) if cpus else None, taskset=taskset)
                 if isinstance(seat, LocalSeat) else seat for seat in self.seats]  # fmt: skip
        urls = [target.url for target in spec.targets] or [spec.url]
        looked = [seat.look(urls) for seat in seats]
        shares = list(_shares(spec, len(seats)))
        for lead_s in LEADS_S:
            clocks = [seat.clock() for seat in seats]
            began_ns = time.time_ns()
            start_ns = began_ns + int((lead_s + spec.connections * LEAD_A_CONNECTION_S) * 1e9)
            orders = [
                Order.packed(dataclasses.replace(share, start_unix_ns=clock.theirs_ns(start_ns)), generator.version,
                             observed=not isinstance(seat, LocalSeat))
                for share, clock, seat in zip(shares, clocks, seats, strict=True)
            ]  # fmt: skip
            try:
                parts, stopped = _sent(seats, orders, tick)
            except MeasureError as refusal:
                if _AGAIN.search(refusal.cause) and lead_s != LEADS_S[-1]:
                    continue
                raise
            break
        ended_ns = time.time_ns()
        start_us = round(start_ns / 1e3 + spec.warmup_s * _US_IN_S)
        later = [seat.clock() for seat in seats]
        records, folders = list[ShareRecord](), list[StepFolder]()
        for place, (part, clock, after, network) in enumerate(zip(parts, clocks, later, looked, strict=True), start=1):
            own_folder = StepFolder(folder.shares / f"{place}-{_NO_NAME.sub('_', part.record.host)}")
            _write(part, clock, own_folder)
            folders.append(own_folder)
            stepped_ns = clock.stepped_ns(after, (ended_ns - began_ns) / 1e9)
            round_trips_us, failed = network.round_trips_us, network.failed
            own = msgspec.structs.replace(
                part.record,
                folder=own_folder.path.name,
                stalled_ms=_stalled_ms(own_folder, start_us, spec.duration_s),
                began_us=float(clock.ours_us(part.start_unix_us) - start_us),
                clock=None if isinstance(seats[place - 1], LocalSeat) else clock.record(stepped_ns),
                network=msgspec.structs.replace(part.record.network, round_trips_us=round_trips_us, failed=failed),
            )
            records.append(own)
        from runners.fleet.merge import merge  # not above: a host's event loop would wait for its imports

        merge(folders, folder, start_us)
        cpu_s = [record.generator.cpu_s for record in records]
        worst = max(record.generator.exit_code or 0 for record in records)
        used_s = None if None in cpu_s else sum(used for used in cpu_s if used is not None)
        command, begin_us, end_us = records[0].generator.command, began_ns // 1000, ended_ns // 1000
        return LoadOutcome(command, worst, begin_us, end_us, stopped, used_s, tuple(records))


@contextmanager
def sending(generators: int) -> Iterator[Sender]:
    """Yield the sender of a run's loads: one generator of this machine, several, or those of the fleet's other hosts.

    Raises PlanError where the fleet has too few hosts.
    """
    if not generators:
        yield run_load
        return
    if not os.environ.get(SCHEDULER_VARIABLE):
        yield SharedSender([LocalSeat(f"local-{place}") for place in range(1, generators + 1)])
        return
    from runners.fleet import workers  # here, because a lab without a fleet needs no dask

    with workers.from_environment() as fleet:
        yield SharedSender(fleet.seats(generators, os.environ.get(WORKER_VARIABLE, "")))


@contextmanager
def node_hosts() -> Iterator[tuple[NodeHost, ...]]:
    """Yield the hosts of the environment's fleet for nodes of a cluster, this machine last; none without a fleet.

    A job that a host of the fleet measures has its nodes on that host alone, since the other hosts measure too.
    """
    if not os.environ.get(SCHEDULER_VARIABLE) or os.environ.get(WORKER_VARIABLE):
        yield ()
        return
    from runners.fleet import hosts, workers  # as above

    with workers.from_environment() as fleet:
        places = [hosts.FleetHost(fleet, host) for host in fleet.hosts(workers.SERVER)]
        try:
            yield tuple(sorted(places, key=lambda place: place.address == place.seen_from))
        finally:
            for place in places:
                place.close()


def _shares(spec: LoadSpec, seats: int) -> Iterator[LoadSpec]:
    """Yield the loads of the generators. Raises MeasureError where the connections can't be dealt out evenly."""
    if spec.connections % seats:
        cause = f"{spec.connections} connections can't be dealt out evenly to {seats} generators"
        raise MeasureError("the load", cause, f"give a multiple, such as {math.ceil(spec.connections / seats) * seats}")
    connections = spec.connections // seats
    for place in range(seats):
        yield dataclasses.replace(
            spec,
            connections=connections,
            threads=min(spec.threads, connections),
            share=(place + 1, seats) if spec.rate_rps is not None and seats > 1 else None,
        )


def _sent(
    seats: Sequence[Seat], orders: Sequence[Order], tick: Callable[[int, float], bool]
) -> tuple[list[Part], bool]:
    """Let all generators send to their end, or stop all where one fails; return their parts and if `tick` stopped them.

    Raises the failure of the first generator that failed, but a LostHostError before all others.
    """
    halted, changed, stopped = threading.Event(), threading.Event(), False
    first: list[Future[Part]] = []
    with ThreadPoolExecutor(len(seats), thread_name_prefix="share") as pool:
        try:
            futures = [pool.submit(seat.send, order, halted) for seat, order in zip(seats, orders, strict=True)]
            for future in futures:
                future.add_done_callback(lambda _: changed.set())
            begin, ticks = time.monotonic(), 0
            while not all(future.done() for future in futures):
                if not first and (first := [future for future in futures if future.done() and future.exception()]):
                    halted.set()
                elapsed_s = time.monotonic() - begin
                if elapsed_s >= ticks * TICK_S:
                    ticks += 1
                    if not halted.is_set() and not tick(0, elapsed_s):
                        stopped = True
                        halted.set()
                changed.wait(max(0.0, ticks * TICK_S - elapsed_s))
                changed.clear()
        except BaseException:
            halted.set()
            raise
        failures = [failure for future in (*first, *futures) if (failure := future.exception())]
        # a host that is gone is the cause of other failures, and the first failure that of unfinished parts
        for failure in sorted(failures, key=lambda error: not isinstance(error, LostHostError)):
            raise failure
        return [future.result() for future in futures], stopped


def _write(part: Part, clock: Clock, folder: StepFolder) -> None:
    """Write a generator's files into a folder of the step, all times by our clock."""
    shutil.rmtree(folder.path, ignore_errors=True)
    folder.path.mkdir(parents=True)
    for name, content in part.files.items():
        (folder.path / name).write_bytes(content)
    if not clock.offset_ns:
        return
    if folder.telemetry.exists():
        samples = [json.loads(line) for line in folder.telemetry.read_text(encoding="utf-8").splitlines()]
        lines = (json.dumps({**sample, "unix_us": clock.ours_us(sample["unix_us"])}) for sample in samples)
        folder.telemetry.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if folder.stalls.exists():
        folder.stalls.write_text(_shifted(folder.stalls.read_text(encoding="ascii"), clock), encoding="ascii")


def _stalled_ms(folder: StepFolder, start_unix_us: int, duration_s: float) -> float | None:
    """Return for how long the cores of a generator's host stalled in the window; None without a stall log."""
    if not folder.stalls.exists():
        return None
    from runners.readers.activity import read_stall_log  # as above

    with suppress(ReadError):
        return float(read_stall_log(folder.stalls).frame(start_unix_us, duration_s)["duration_ms"].sum())
    return None


def _shifted(stalls: str, clock: Clock) -> str:
    """Return a stall log with its wall-clock times converted to our clock."""
    lines = []
    for line in stalls.splitlines():
        head, separator, wall = line.partition(" unix_ns=")
        lines.append(f"{head}{separator}{int(wall) - clock.offset_ns}" if separator else line)
    return "\n".join(lines) + "\n"


EXCHANGES = 32
_NS_IN_US = 1000.0
#: The most by which two clocks that are not set drift apart, as a share of the time (RFC 5905, section 7.3: PHI is
#: 15 ppm; a clock that is being steered may run 500 ppm fast or slow).
DRIFT = 500e-6


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its reply: `asked_ns` and `answered_ns` by our clock, the two between them by the other's."""

    asked_ns: int
    received_ns: int
    replied_ns: int
    answered_ns: int

    @property
    def offset_ns(self) -> int:
        """The lead of the other clock if both ways took the same time."""
        return (self.received_ns - self.asked_ns + self.replied_ns - self.answered_ns) // 2

    @property
    def delay_ns(self) -> int:
        """The time on both ways together."""
        return self.answered_ns - self.asked_ns - (self.replied_ns - self.received_ns)


@dataclass(frozen=True, slots=True)
class Clock:
    """Another host's wall clock: ahead of ours by `offset_ns`, give or take `uncertainty_ns`."""

    offset_ns: int = 0
    uncertainty_ns: int = 0
    round_trip_ns: int = 0
    exchanges: int = 0

    @classmethod
    def estimate(cls, exchanges: Sequence[Exchange]) -> Clock:
        """Estimate from the exchange that waited least."""
        best = min(exchanges, key=lambda exchange: exchange.delay_ns)
        return cls(best.offset_ns, max(1, (best.delay_ns + 1) // 2), best.delay_ns, len(exchanges))

    def theirs_ns(self, ours_ns: int) -> int:
        """Return a moment of our clock by theirs."""
        return ours_ns + self.offset_ns

    def ours_us(self, theirs_us: int) -> int:
        """Return a moment of their clock by ours, in microseconds."""
        return theirs_us - round(self.offset_ns / _NS_IN_US)

    def stepped_ns(self, later: Clock, between_s: float) -> int:
        """Return by how much a clock was set between two estimates; 0 where drift and uncertainty explain it."""
        moved = later.offset_ns - self.offset_ns
        explained = self.uncertainty_ns + later.uncertainty_ns + between_s * DRIFT * 1e9
        return moved if abs(moved) > explained else 0

    def record(self, stepped_ns: int = 0) -> ClockRecord:
        """Return the record for a step; `stepped_ns`: by how much a clock was set meanwhile."""
        return ClockRecord(
            offset_us=self.offset_ns / _NS_IN_US,
            uncertainty_us=self.uncertainty_ns / _NS_IN_US,
            round_trip_us=self.round_trip_ns / _NS_IN_US,
            exchanges=self.exchanges,
            stepped_us=stepped_ns / _NS_IN_US,
        )
