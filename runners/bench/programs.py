"""Run the Java programs of the store's benchmark, in processes that do not outlive it, and read their records.

Puts that a stall of the machine delayed are left out for every store. The witness is a program of real-time
priority that wakes each millisecond on the writer's core. No thread of the store can delay it, only the hypervisor, an
interrupt, or the kernel, which in a long system call may also work for the store. So the figures with nothing
left out are printed too.

The slowest puts that remain are attributed. A put is slow because the writer has to wait, in a call or between two of
them, and because puts queue behind it. So it is traced back to the longest such wait since the last put that began on
time, and that wait to the events that overlap it: a pause of the JVM, the store's own throttling, or a flush or merge,
which takes the core or the disk from the writer. `causes.jfc` names the recorded events.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from runners.errors import ToolError
from runners.process.supervisor import finished
from runners.readers.activity import read_events, read_pauses, read_stall_log
from runners.toolchain.build import build_truepace
from runners.toolchain.tools import SERVER_JAVA, Jdk
from runners.trial.activity import stalls_watched
from runners.trial.profiler import Recorder

DIST = SERVER_JAVA / "bench" / "target" / "dist"
#: No file of performance counters: the JVM maps it from a disk, which may hold a thread up.
FLAGS = (
    "-Xmx128m", "-XX:+PerfDisableSharedMem", "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)  # fmt: skip
_TIMEOUT_S = 900.0
_LAST_LINES = 25


@dataclass(frozen=True, slots=True)
class Programs:
    """The Java programs, and the folder where stores and temporary files lie."""

    jdk: Jdk
    folder: Path

    def run(self, program: str, *arguments: object, flags: Sequence[str] = ()) -> str:
        """Run a program to its end and return its standard output. Raises ToolError where it fails or is too slow."""
        temporary = f"-Djava.io.tmpdir={self.folder}"
        command = [str(self.jdk.java), *FLAGS, temporary, *flags, "-cp", f"{DIST}/*", program, *map(str, arguments)]
        try:
            done = finished(command, _TIMEOUT_S)
        except subprocess.TimeoutExpired as late:
            raise ToolError(program, f"it did not end within {_TIMEOUT_S:.0f} s", "free the machine") from late
        if done.returncode != 0:
            last = "\n".join((done.stdout + done.stderr).splitlines()[-_LAST_LINES:])
            raise ToolError(program, f"it ended with {done.returncode}:\n{last}", "read the lines above")
        return done.stdout

    def result(self, name: str, *arguments: object, flags: Sequence[str] = ()) -> dict[str, Any]:
        """Run a program of ours and return the JSON that it prints in its last line."""
        result: dict[str, Any] = json.loads(self.run(f"lab.bench.{name}", *arguments, flags=flags).splitlines()[-1])
        return result

    def configurations(self, engines: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the settings of each engine, by its name."""
        lines = self.run("lab.bench.Configurations", self.folder, *engines).splitlines()
        return {record["engine"]: record["settings"] for record in map(json.loads, lines)}

    def microseconds(self, pattern: str, options: Sequence[str], parameters: dict[str, object]) -> dict[str, float]:
        """Run JMH benchmarks and return the average time of each in microseconds, by its method's name."""
        out = self.folder / "jmh.json"
        given = [part for name, value in parameters.items() for part in ("-p", f"{name}={value}")]
        self.run("org.openjdk.jmh.Main", pattern, "-foe", "true", "-rf", "json", "-rff", out, *options, *given)
        return {
            run["benchmark"].rsplit(".", 1)[1]: float(run["primaryMetric"]["score"]) / 1e3
            for run in json.loads(out.read_text())
        }


#: Period of the witness: a stall may have begun so long before the wake-up that it delayed was due.
PERIOD_NS = 1_000_000
#: A put that was called within this time of when it was due did not wait for an earlier one.
ON_TIME_NS = 20_000
Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stall:
    """A late wake-up of the witness: when it woke, by the clock of the puts, and how late."""

    woke_ns: int
    late_ns: int


@dataclass(frozen=True, slots=True)
class Puts:
    """When each put was due, called and returned, in the order of one writer."""

    due_ns: Times
    called_ns: Times
    returned_ns: Times

    @property
    def response_us(self) -> npt.NDArray[np.float64]:
        """Response times, from when each was due."""
        return (self.returned_ns - self.due_ns) / 1e3

    @property
    def service_us(self) -> npt.NDArray[np.float64]:
        """Service times: how long the calls themselves took."""
        return (self.returned_ns - self.called_ns) / 1e3


def read_puts(file: Path) -> Puts:
    """Read the records that the Java program `Tail` writes."""
    table = np.fromfile(file, dtype="<i8").reshape(-1, 3)
    return Puts(table[:, 0], table[:, 1], table[:, 2])


def read_stalls(file: Path) -> list[Stall]:
    """Read the records of the witness."""
    log = read_stall_log(file)
    return [Stall(woke, late) for woke, late in zip(log.woke_ns.tolist(), log.late_ns.tolist(), strict=True)]


def delayed(puts: Puts, stalls: Iterable[Stall]) -> npt.NDArray[np.bool_]:
    """Mark the puts that a stall of the core delayed.

    They are those that were under way or due while the core may have stalled, and those after them that waited in
    their queue: up to the first one that is called on time, and at most for as long again.
    """
    marked = np.zeros(len(puts.due_ns), dtype=np.bool_)
    waited = puts.called_ns - puts.due_ns
    for stall in stalls:
        length_ns = stall.late_ns + PERIOD_NS
        first = int(np.searchsorted(puts.returned_ns, stall.woke_ns - length_ns, "right"))
        last = int(np.searchsorted(puts.due_ns, stall.woke_ns, "left"))
        bound = int(np.searchsorted(puts.due_ns, stall.woke_ns + length_ns, "left"))
        on_time = np.flatnonzero(waited[last:bound] <= ON_TIME_NS)
        marked[first : last + int(on_time[0]) if len(on_time) else bound] = True
    return marked


def percentile(values: npt.NDArray[np.float64], share: float) -> float:
    """Return the measured value below which a share of the values lies."""
    ordered = np.sort(values)
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def find_witness(cpu: int | None, folder: Path) -> tuple[Path | None, str]:
    """Return the stall witness if it may watch a core, and ""; or None and the reason."""
    if cpu is None:
        return None, "the cores can't be chosen on this system"
    try:
        witness = build_truepace(print).with_name("stall-witness")
        with stalls_watched(folder / "stalls-of-a-trial.txt", [cpu]) as watched:
            pass
    except ToolError as error:
        return None, str(error)
    note = watched[0].note
    return (witness, "") if note is None else (None, note)


SLOWEST = 120
#: Names of causes by kind of event. During one of STOPS no put goes on; CONCURRENT ones run at the same time as puts.
STOPS = {"gc": "GC pause", "safepoint": "other safepoint", "stall": "throttled", "log sync": "log sync"}
CONCURRENT = {"flush": "flush", "compaction": "merge"}
#: The JVM's log has stamps of a millisecond, so a shorter pause would often overlap a wait by chance.
PAUSE_ERROR_NS, LEAST_PAUSE_MS = 1_000_000, 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the store or its JVM, by the clock of the puts."""

    kind: str
    begin_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Wait:
    """The longest wait of the writer before a put returned, in a call or between two."""

    begin_ns: int
    end_ns: int
    in_call: bool


@dataclass(frozen=True, slots=True)
class Share:
    """A cause of slow puts: the number of puts that have it, and the response time of the slowest."""

    cause: str
    puts: int
    longest_us: float


@dataclass(frozen=True, slots=True)
class Recording:
    """The flight recording of one run and the log of its JVM, in a folder."""

    jdk: Jdk
    folder: Path

    @property
    def _events(self) -> Path:
        return self.folder / "puts.jfr"

    @property
    def _pauses(self) -> Path:
        return self.folder / "puts-jvm.log"

    def flags(self) -> list[str]:
        """Return the flags with which the JVM records."""
        settings = resources.files("runners.trial").joinpath("causes.jfc")
        return [
            f"-XX:StartFlightRecording:filename={self._events},settings={settings}",
            f"-Xlog:gc,safepoint:file={self._pauses}:utctime,level,tags:filecount=0",
        ]

    def take(self) -> list[Event]:
        """Read the recorded events and remove the files; no events where nothing was recorded."""
        if not self._events.exists():
            return []
        converted = self.folder / "puts-events.json"
        Recorder(self.jdk).convert(self._events, converted)
        # The wall clock's zero by the clock of the puts.
        origin_ns = time.monotonic_ns() - time.time_ns()
        pauses = read_pauses(self._pauses, 0)
        tables = [(read_events(converted, 0), 0), (pauses[pauses["duration_ms"] >= LEAST_PAUSE_MS], PAUSE_ERROR_NS)]
        for file in (self._events, self._pauses, converted):
            file.unlink()
        return [
            Event(kind, origin_ns + int(t_s * 1e9) - error, origin_ns + int(t_s * 1e9 + duration_ms * 1e6) + error)
            for table, error in tables
            for t_s, duration_ms, kind in zip(table["t_s"], table["duration_ms"], table["kind"], strict=True)
        ]


def wait_of(puts: Puts, put: int) -> Wait:
    """Return the wait that delayed a put: the longest since the last put that was called on time."""
    first = put
    while first > 0 and puts.called_ns[first] - puts.due_ns[first] > ON_TIME_NS:
        first -= 1
    calls = [Wait(int(puts.called_ns[i]), int(puts.returned_ns[i]), in_call=True) for i in range(first, put + 1)]
    between = [
        Wait(int(max(puts.returned_ns[i - 1], puts.due_ns[i])), int(puts.called_ns[i]), in_call=False)
        for i in range(max(1, first), put + 1)
    ]
    return max(calls + between, key=lambda wait: wait.end_ns - wait.begin_ns)


def cause_of(wait: Wait, events: Iterable[Event]) -> str:
    """Return the name of the cause of a wait: a pause during it, else where it was and the concurrent events."""
    during = {event.kind for event in events if event.begin_ns < wait.end_ns and event.end_ns > wait.begin_ns}
    for kind, name in STOPS.items():
        if kind in during:
            return name
    concurrent = " and ".join(name for kind, name in CONCURRENT.items() if kind in during)
    where = "in a call" if wait.in_call else "between two calls"
    return f"{where}, {f'during a {concurrent}' if concurrent else 'nothing recorded'}"


def attribute(puts: Puts, left_out: npt.NDArray[np.bool_], events: Sequence[Event]) -> list[Share]:
    """Attribute the slowest puts that are not left out; the most frequent cause first."""
    response_us = np.where(left_out, -1.0, puts.response_us)
    slowest = [int(put) for put in np.argsort(-response_us, kind="stable")[:SLOWEST] if not left_out[put]]
    response_us_by_cause: dict[str, list[float]] = {}
    for put in slowest:
        cause = cause_of(wait_of(puts, put), events)
        response_us_by_cause.setdefault(cause, []).append(float(response_us[put]))
    shares = [Share(cause, len(times_us), max(times_us)) for cause, times_us in response_us_by_cause.items()]
    return sorted(shares, key=lambda share: -share.puts)


def line(shares: Sequence[Share]) -> str:
    """Return the causes of the slowest puts as a line to print."""
    causes = "; ".join(f"{share.puts} {share.cause} (up to {share.longest_us:.3g} us)" for share in shares)
    return f"the {sum(share.puts for share in shares)} slowest puts: {causes}"
