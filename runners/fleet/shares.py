"""Send one load by several generators: each sends a share of one schedule, and all start at one instant.

Hosts agree on the instant by their wall clocks, whose offset is estimated from NTP's four time stamps (D. Mills et al.,
RFC 5905, sections 8 and 10): the true offset differs from an exchange's estimate by at most half of its delay.
"""

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
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from msgspec.structs import replace

from runners.errors import MeasureError, ReadError
from runners.generators.load import TICK_S, Generator, LoadOutcome, LoadSpec, Sender, run_load
from runners.storage.schema import ClockRecord, NetworkRecord, ShareRecord, WitnessRecord
from runners.storage.step_folder import StepFolder
from runners.trial import machine
from runners.trial.activity import stalls_watched
from runners.trial.faults import tcp_counters
from runners.trial.step import generator_record
from runners.trial.telemetry import telemetry

if TYPE_CHECKING:
    from runners.fleet.workers import RemoteSeat

Seat: TypeAlias = "LocalSeat | RemoteSeat"

#: Seconds from the agreement on a start to the start. If a generator needs longer to connect, the next lead is tried.
LEADS_S = (2.0, 6.0, 18.0)
LEAD_A_CONNECTION_S = 0.0005
CONNECTS = 10
CONNECT_TIMEOUT_S = 5.0
#: The variables by which a lab on a fleet's host finds the fleet's scheduler and TLS files, and the host's own worker.
SCHEDULER_VARIABLE, TLS_VARIABLE, WORKER_VARIABLE = "LAB_SCHEDULER", "LAB_TLS", "LAB_WORKER"
#: Errors after which the next lead is tried: a connection took too long, as the network lost its first segments.
_AGAIN = re.compile(r"--start-at|connection timed out")
_NO_NAME = re.compile(r"[^\w.-]+")  # characters of a host's name that a folder's name should not have


class LostHostError(MeasureError):
    """The error that a host no longer responds; its measurement has to be repeated, on this or another host."""


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """The load that one `generator` is to send. It holds scripts as text, as other hosts do not have the files."""

    spec: LoadSpec
    scripts: dict[Path, str]  # the text by path
    generator: Generator

    @classmethod
    def packed(cls, spec: LoadSpec, generator: Generator) -> "Order":
        scripts = {spec.script, *(target.script for target in spec.targets)}
        return cls(spec, {path: path.read_text(encoding="utf-8") for path in scripts if path}, generator)

    def unpacked(self, folder: Path) -> LoadSpec:
        """Write the scripts into a folder of the host that sends; return the load with the scripts' paths there."""
        places: dict[Path | None, Path] = {}
        for number, (script, text) in enumerate(self.scripts.items()):
            places[script] = folder / f"{number}-{script.name}"
            places[script].write_text(text, encoding="utf-8")
        targets = (dataclasses.replace(target, script=places.get(target.script)) for target in self.spec.targets)
        return dataclasses.replace(self.spec, script=places.get(self.spec.script), targets=tuple(targets))


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """The result of one generator that shares a load."""

    record: ShareRecord
    start_unix_us: int  # the start of its recorded window, by its own clock
    files: dict[str, bytes]  # by name


@dataclasses.dataclass(frozen=True, slots=True)
class LocalSeat:
    """A place for a generator on the server's own host: one clock, telemetry and stall log serve both programs."""

    name: str

    def look(self, urls: Sequence[str]) -> NetworkRecord:
        """Return an empty record: round trips to the servers are measured from other hosts only."""
        return NetworkRecord()

    def clock(self) -> ClockRecord:
        """Return a record without an offset: server and generator have the same clock."""
        return ClockRecord()

    def send(self, order: Order, halted: threading.Event) -> Part:
        """Send a share until it ends or `halted` is set; return the share's result. Raises MeasureError on failure."""
        return send_share(order, order.generator, self.name, halted.is_set, observed=False)


def send_share(order: Order, generator: Generator, host: str, halted: Callable[[], bool], observed: bool) -> Part:
    """Send a share of a load until it ends or `halted` returns true; return the result. Raises MeasureError on failure.

    `host`: the name of this host in the record. `observed`: whether telemetry and stalls are recorded too.
    """
    if generator.version != order.generator.version:
        cause = f"its generator has version {generator.version}, not {order.generator.version} as the server's host"
        raise MeasureError(host, cause, "install one version of the lab on all hosts")
    with tempfile.TemporaryDirectory(prefix="lab-share-") as scratch:
        folder = StepFolder(Path(scratch))
        spec = order.unpacked(folder.path)
        scripts = {path.name for path in folder.path.iterdir()}
        watching = stalls_watched(folder.stalls) if observed else nullcontext(list[WitnessRecord]())
        before = tcp_counters()
        with telemetry(folder.telemetry, ()) as sample_usage, watching as watched:

            def tick(pid: int, _elapsed_s: float) -> bool:
                if observed:
                    sample_usage(pid)
                return not halted()

            outcome = run_load(generator, spec, folder, tick=tick)
        gained = {name: count - before[name] for name, count in tcp_counters().items() if name in before}
        if not folder.load_json.exists():
            raise MeasureError(host, "its generator was stopped before it began", "see what stopped it")
        report = json.loads(folder.load_json.read_text(encoding="utf-8"))
        record = ShareRecord(
            host=host, generator=generator_record(generator, outcome, spec.cpus), offered_rps=report["offered_rps"],
            completed=report["requests"]["completed"], verdict=report["generator"]["verdict"],
            network=NetworkRecord(sent_segments=gained.get("OutSegs"), repeated_segments=gained.get("RetransSegs")),
            machine=machine.facts() if observed else {}, witness=watched[0] if watched else None,
        )  # fmt: skip
        paths = [path for path in folder.path.iterdir() if path.is_file() and path.name not in scripts]
        return Part(record, int(report["start_unix_us"]), {path.name: path.read_bytes() for path in paths})


def round_trips(urls: Sequence[str]) -> NetworkRecord:
    """Return a record of TCP handshakes with every URL's server: their times (us), and the number of failed ones."""
    taken_us, servers = list[float](), [urlsplit(url) for url in dict.fromkeys(urls)]
    for server in servers:
        port = server.port or (443 if server.scheme == "https" else 80)
        for _ in range(CONNECTS):
            with suppress(OSError):
                begin_ns = time.monotonic_ns()
                socket.create_connection((str(server.hostname), port), CONNECT_TIMEOUT_S).close()
                taken_us.append((time.monotonic_ns() - begin_ns) / 1e3)
    return NetworkRecord(round_trips_us=tuple(taken_us), failed=CONNECTS * len(servers) - len(taken_us))


def send_shared(
    seats: Sequence[Seat],  # the places of the generators
    generator: Generator,
    spec: LoadSpec,
    folder: StepFolder,
    *,
    tick: Callable[[int, float], bool] = lambda _pid, _elapsed: True,  # as for `run_load`
) -> LoadOutcome:
    """Send a load from all seats (a fill from here alone), merge files, return how it ended. Raises MeasureError."""
    if spec.rate_rps is None and spec.requests is not None:
        return run_load(generator, spec, folder, tick=tick)
    if generator.name != "truepace":
        raise MeasureError(generator.name, "it can't share a load with other generators", "use the lab's own")
    urls = [target.url for target in spec.targets] or [spec.url]
    looked = [seat.look(urls) for seat in seats]
    shares = list(_divided(spec, len(seats)))
    for lead_s in LEADS_S:
        clocks = [seat.clock() for seat in seats]
        began_ns = time.time_ns()
        start_ns = began_ns + int((lead_s + spec.connections * LEAD_A_CONNECTION_S) * 1e9)
        orders = list[Order]()
        for share, clock, seat in zip(shares, clocks, seats, strict=True):
            cpus = spec.cpus if isinstance(seat, LocalSeat) else None
            own = dataclasses.replace(share, start_unix_ns=start_ns + round(clock.offset_us * 1e3), cpus=cpus)
            orders.append(Order.packed(own, generator))
        try:
            parts, stopped = _sent(seats, orders, tick)
        except MeasureError as refusal:
            if _AGAIN.search(refusal.cause) and lead_s != LEADS_S[-1]:
                continue
            raise
        break
    ended_ns = time.time_ns()
    start_us = round(start_ns / 1e3 + spec.warmup_s * 1e6)
    later = [seat.clock() for seat in seats]
    records, folders = list[ShareRecord](), list[StepFolder]()
    for place, (part, clock, after, network) in enumerate(zip(parts, clocks, later, looked, strict=True), start=1):
        own_folder = StepFolder(folder.shares / f"{place}-{_NO_NAME.sub('_', part.record.host)}")
        _write(part, clock, own_folder)
        folders.append(own_folder)
        set_us = stepped_us(clock, after, (ended_ns - began_ns) / 1e9)
        known = None if isinstance(seats[place - 1], LocalSeat) else replace(clock, stepped_us=set_us)
        record = replace(
            part.record, folder=own_folder.path.name, stalled_ms=_stalled_ms(own_folder, start_us, spec.duration_s),
            began_us=float(part.start_unix_us - round(clock.offset_us) - start_us), clock=known,
            network=replace(part.record.network, round_trips_us=network.round_trips_us, failed=network.failed),
        )  # fmt: skip
        records.append(record)
    from runners.fleet.merge import merge  # not imported above: a host's event loop would wait for it

    merge(folders, folder, start_us)
    command, used_s = records[0].generator.command, [record.generator.cpu_s for record in records]
    code = max(record.generator.exit_code or 0 for record in records)
    cpu_s = None if None in used_s else sum(filter(None, used_s))
    return LoadOutcome(command, code, began_ns // 1000, ended_ns // 1000, stopped, cpu_s, tuple(records))


@contextmanager
def sending(generators: int) -> Iterator[Sender]:
    """Yield the function that sends loads by so many generators, here or on a fleet; for 0 generators, `run_load`."""
    if not generators:
        yield run_load
        return
    if not os.environ.get(SCHEDULER_VARIABLE):
        yield partial(send_shared, [LocalSeat(f"local-{place}") for place in range(1, generators + 1)])
        return
    from runners.fleet import workers  # imported here, as a lab without a fleet needs no dask

    with workers.from_environment() as fleet:
        yield partial(send_shared, fleet.seats(generators, os.environ.get(WORKER_VARIABLE, "")))


def _divided(spec: LoadSpec, seats: int) -> Iterator[LoadSpec]:
    if spec.connections % seats:
        cause = f"{spec.connections} connections can't be dealt out evenly to {seats} generators"
        raise MeasureError("the load", cause, f"give a multiple, such as {math.ceil(spec.connections / seats) * seats}")
    connections = spec.connections // seats
    for place in range(seats):
        share = (place + 1, seats) if spec.rate_rps is not None and seats > 1 else None
        yield dataclasses.replace(spec, connections=connections, threads=min(spec.threads, connections), share=share)


def _sent(
    seats: Sequence[Seat], orders: Sequence[Order], tick: Callable[[int, float], bool]
) -> tuple[list[Part], bool]:
    """Run all generators until they end; return the result of each, and whether `tick` stopped them.

    `tick` gets 0 in place of a process id and the seconds so far, and returns whether to go on. If a generator fails,
    all are stopped and its error is raised; if several fail, a LostHostError is raised rather than other errors.
    """
    halted, stopped, failures = threading.Event(), False, list[BaseException]()
    with ThreadPoolExecutor(len(seats), thread_name_prefix="share") as pool:
        futures = [pool.submit(seat.send, order, halted) for seat, order in zip(seats, orders, strict=True)]
        left, begin, ticks = {*futures}, time.monotonic(), 0
        try:
            while left:
                elapsed_s = time.monotonic() - begin
                if elapsed_s >= ticks * TICK_S:
                    ticks += 1
                    if not halted.is_set() and not tick(0, elapsed_s):
                        stopped = True
                        halted.set()
                ended, left = wait(left, max(0.0, ticks * TICK_S - elapsed_s), FIRST_COMPLETED)
                failures += filter(None, (future.exception() for future in ended))
                if failures:
                    halted.set()
        except BaseException:
            halted.set()
            raise
    if failures:  # a lost host causes other failures, and the first failure is why other parts are unfinished
        raise min(failures, key=lambda error: not isinstance(error, LostHostError))
    return [future.result() for future in futures], stopped


def _write(part: Part, clock: ClockRecord, folder: StepFolder) -> None:
    """Write a generator's files into a folder of the step; convert the times in them to this host's clock."""
    shutil.rmtree(folder.path, ignore_errors=True)
    folder.path.mkdir(parents=True)
    for name, content in part.files.items():
        (folder.path / name).write_bytes(content)
    times = {folder.telemetry: (r'(?<="unix_us": )\d+', 1), folder.stalls: (r"(?<= unix_ns=)\d+", 1_000)}
    for path, (time_of, units) in times.items():
        ahead = round(clock.offset_us * units)
        if ahead and path.exists():
            pieces = re.split(f"({time_of})", path.read_text(encoding="utf-8"))
            pieces[1::2] = [str(int(theirs) - ahead) for theirs in pieces[1::2]]
            path.write_text("".join(pieces), encoding="utf-8")


def _stalled_ms(folder: StepFolder, start_unix_us: int, duration_s: float) -> float | None:
    from runners.readers.activity import read_stall_log  # not imported above, as `merge`

    with suppress(ReadError):
        return float(read_stall_log(folder.stalls).frame(start_unix_us, duration_s)["duration_ms"].sum())
    return None


EXCHANGES = 32
#: The most that two clocks drift apart unless one is set, as a share of the elapsed time (RFC 5905, section 7.3: PHI is
#: 15 ppm; a clock that is being steered may run 500 ppm fast or slow).
DRIFT = 500e-6


class Exchange(NamedTuple):
    """The time stamps of a question to another host's clock, and of the reply."""

    asked_ns: int  # by our clock
    received_ns: int  # by the other host's clock
    replied_ns: int  # by the other host's clock
    answered_ns: int  # by our clock


def estimated(exchanges: Sequence[Exchange]) -> ClockRecord:
    """Return another host's clock offset and its uncertainty, from the exchange with the least delay there and back."""
    delays_ns = [answered - asked - (replied - received) for asked, received, replied, answered in exchanges]
    delay_ns = min(delays_ns)
    asked_ns, received_ns, replied_ns, answered_ns = exchanges[delays_ns.index(delay_ns)]
    offset_ns = (received_ns - asked_ns + replied_ns - answered_ns) // 2  # if both ways took the same time
    return ClockRecord(
        offset_us=offset_ns / 1e3, uncertainty_us=max(1, (delay_ns + 1) // 2) / 1e3, round_trip_us=delay_ns / 1e3,
        exchanges=len(exchanges),
    )  # fmt: skip


def stepped_us(before: ClockRecord, after: ClockRecord, between_s: float) -> float:
    """Return by how much (us) a clock was set between two records; 0 if drift and uncertainty explain the change."""
    moved_us = after.offset_us - before.offset_us
    explained_us = before.uncertainty_us + after.uncertainty_us + between_s * DRIFT * 1e6
    return moved_us if abs(moved_us) > explained_us else 0.0
