"""Give benchmarks a fixture: a server that stores nothing, a generator on cores of its own, one run of it.

A measurement that other work disturbed is made again, and counted.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil

from runners.bench.row import NoFigure, Row, keep
from runners.process.supervisor import pinned
from runners.targets.lab_server import MAIN, RunningServer, ServerSpec, launch
from runners.toolchain.tools import ROOT, TRUEPACE
from runners.toolchain.workshop import Workshop, prepare
from runners.trial import machine

T = TypeVar("T")

#: Share of one core that others may use during a measurement.
FOREIGN_LIMIT = 0.05
#: A machine that is never calm is measured as it is after so many attempts.
ATTEMPTS = 3


def _own_s(server_pids: Iterable[int]) -> float:
    """CPU seconds of this process, of its children that have ended, and of the servers."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    for server in (psutil.Process(pid).cpu_times() for pid in server_pids):
        total += server.user + server.system
    return total


def _busy_s() -> float:
    """CPU seconds of the whole machine that were not idle, the hypervisor's share included."""
    times = psutil.cpu_times()._asdict()
    return float(sum(times.values()) - times["idle"] - times.get("iowait", 0.0) - times.get("guest", 0.0))


@dataclass(slots=True)
class Calm:
    """Makes measurements again that were disturbed. `repeated` holds the foreign share of each that was dropped.

    What the servers of `server_pids` use is our own; they run as long as they are in it.
    """

    server_pids: list[int] = field(default_factory=list)
    repeated: list[float] = field(default_factory=list)
    disturbed: int = 0

    def measure(self, take: Callable[[], T], most: int | None = None) -> T:
        """The first calm result, or the last of the attempts: `most`, where they are to be fewer than usual."""
        attempts = min(most or ATTEMPTS, ATTEMPTS)
        for attempt in range(attempts):
            busy, own, begun = _busy_s(), _own_s(self.server_pids), time.monotonic()
            result = take()
            elapsed = max(time.monotonic() - begun, 1e-3)
            foreign = (_busy_s() - busy - (_own_s(self.server_pids) - own)) / elapsed
            if foreign <= FOREIGN_LIMIT:
                return result
            if attempt + 1 < attempts:
                self.repeated.append(round(foreign, 3))
        self.disturbed += 1
        return result

    def sentence(self) -> str:
        """What was done about the disturbances."""
        return (
            f"other work disturbed {len(self.repeated)} measurements, which were made again; "
            f"{self.disturbed} stayed disturbed"
        )


DURATION_S = 3
WARMUP_S = 1
CONNECTIONS = 64
_TIMEOUT_S = 60.0
REFERENCE = TRUEPACE.with_name("truepace-reference")
STALL_WITNESS = TRUEPACE.with_name("stall-witness")
#: What the generator's JSON says of a run.
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fixture:
    """Where the servers come from, which cores are whose, and the watch over what else runs."""

    shop: Workshop
    folder: Path
    server_cpus: tuple[int, ...] | None
    generator_cpus: tuple[int, ...] | None
    calm: Calm = field(default_factory=Calm)

    def spec(self, name: str, flags: Sequence[str] = (), main_class: str = MAIN) -> ServerSpec:
        """How a server of this name is started. Both of a pair get the same cores."""
        return ServerSpec(
            self.shop.jdk.java,
            self.shop.server.dist,
            "noop",
            self.folder / name / "server",
            self.folder / name / "data",
            cpus=self.server_cpus,
            taskset=machine.taskset(),
            main_class=main_class,
            server_flags=tuple(flags),
        )

    @contextmanager
    def running(self, spec: ServerSpec) -> Iterator[RunningServer]:
        """A server as long as the context lasts."""
        server = launch(spec)
        self.calm.server_pids.append(server.pid)
        try:
            yield server
        finally:
            self.calm.server_pids.remove(server.pid)
            server.stop()

    def load(
        self,
        target: Sequence[str],
        duration_s: float = DURATION_S,
        connections: int = CONNECTIONS,
        rate_rps: int | None = None,
        warmup_s: float = WARMUP_S,
    ) -> Result:
        """One run of our generator against a target (an address, or flags and a script with what it needs); its JSON.

        A closed loop if no rate is given.
        """
        out = self.folder / "load.json"
        self.run(command(target, duration_s, connections, rate_rps, out, warmup_s), duration_s)
        result: Result = json.loads(out.read_text())
        return result

    def run(self, words: Sequence[str], duration_s: float) -> str:
        """Run a client of about so many seconds on the generator's cores, and give what it prints."""
        return subprocess.run(
            pinned(words, self.generator_cpus, machine.taskset()),
            capture_output=True, text=True, timeout=duration_s + _TIMEOUT_S, cwd=ROOT, check=True,
        ).stdout  # fmt: skip

    def keep(self, name: str, rows: Sequence[Row | NoFigure], **about: object) -> None:
        """Keep the rows as JSON, with the machine, the tools and what else is said of them, and tell where."""
        kept = keep(name, rows, {"machine": machine.facts(), "tools": self.shop.versions(), **about})
        print(f"kept in {kept}")


def command(
    target: Sequence[str],
    duration_s: float,
    connections: int,
    rate_rps: int | None,
    out: Path,
    warmup_s: float = WARMUP_S,
) -> list[str]:
    """The generator's command line for one run."""
    rate = ["-R", str(rate_rps)] if rate_rps else []
    flags = ["-t1", f"-c{connections}", f"-d{duration_s:g}s", "--warmup", f"{warmup_s:g}s", *rate, "--json", str(out)]
    return [str(TRUEPACE), *flags, *target]


@contextmanager
def fixture() -> Iterator[Fixture]:
    """Builds what is needed, says what is unusual about the machine, and leaves no folder behind."""
    shop = prepare("truepace", print)
    server_cpus, generator_cpus = machine.pinning()
    for warning in machine.noise(machine.facts()):
        print(f"Unusual today: {warning['text']} ({warning['remedy']})")
    with tempfile.TemporaryDirectory() as folder:
        yield Fixture(shop, Path(folder), server_cpus, generator_cpus)


def groups_asked(name: str, about: str | None, groups: Collection[str], arguments: Sequence[str]) -> list[str]:
    """Read the groups of rows that a command line names; all of them where it names none."""
    parser = argparse.ArgumentParser(prog=f"make {name}", description=about)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(groups)} (default: all)")
    asked: list[str] = parser.parse_args(arguments).groups or list(groups)
    if unknown := [each for each in asked if each not in groups]:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(groups)}")
    return asked
