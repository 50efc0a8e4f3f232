"""What benchmarks share: servers and load generator on cores of their own, rows of figures, and how they are printed.

A block of the lab is measured by the executor, in a run folder that is removed. Any other measurement that other work
on the machine disturbed is made again, and counted. A benchmark prints one line for each row (ours, the peer's, their
ratio, the goal), how long it takes and how far it is.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NoReturn, TypeVar

import psutil

from runners.analysis.instrument import ENOUGH_ROUNDS, over_rounds
from runners.analysis.intervals import Bounded
from runners.design.block import Block
from runners.execution.executor import Executor, Launch
from runners.execution.measurement import Measurement
from runners.execution.progress import Progress, Sink
from runners.process.supervisor import pinned
from runners.readers.run import Step
from runners.storage.run_folder import RUNS, RunFolder
from runners.targets.lab_server import MAIN, RunningServer, ServerSpec, launch
from runners.toolchain.build import DIST, Workshop, prepare
from runners.toolchain.tools import ROOT, TRUEPACE, require_jdk
from runners.trial import machine

T = TypeVar("T")

#: Share of one core that others may use during a measurement.
FOREIGN_LIMIT = 0.05
#: A machine that is never calm is measured as it is after so many attempts.
ATTEMPTS = 3


def _own_s(server_pids: Iterable[int]) -> float:
    """Return CPU seconds of this process, of its children that have ended, and of the servers."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    for times in (psutil.Process(pid).cpu_times() for pid in server_pids):
        total += times.user + times.system
    return total


def _busy_s() -> float:
    """Return CPU seconds of the whole machine that were not idle, the hypervisor's share included."""
    times = psutil.cpu_times()._asdict()
    return float(sum(times.values()) - times["idle"] - times.get("iowait", 0.0) - times.get("guest", 0.0))


@dataclass(slots=True)
class Calm:
    """Repeats disturbed measurements. `repeated` holds the share of a core that others used in each dropped one.

    CPU time of the servers in `server_pids` is the benchmark's own; a server is in it as long as it runs.
    """

    server_pids: list[int] = field(default_factory=list)
    repeated: list[float] = field(default_factory=list)
    disturbed: int = 0

    def measure(self, take: Callable[[], T]) -> T:
        """Return the first calm result, or the last of the attempts."""
        for attempt in range(ATTEMPTS):
            busy, own, begun = _busy_s(), _own_s(self.server_pids), time.monotonic()
            result = take()
            elapsed = max(time.monotonic() - begun, 1e-3)
            foreign = (_busy_s() - busy - (_own_s(self.server_pids) - own)) / elapsed
            if foreign <= FOREIGN_LIMIT:
                return result
            if attempt + 1 < ATTEMPTS:
                self.repeated.append(round(foreign, 3))
        self.disturbed += 1
        return result

    def sentence(self) -> str:
        """Return how many measurements were repeated, and how many stayed disturbed, in a sentence."""
        return (
            f"other work disturbed {len(self.repeated)} measurements, which were made again; "
            f"{self.disturbed} stayed disturbed"
        )


DURATION_S = 3
WARMUP_S = 1
CONNECTIONS = 64
_TIMEOUT_S, _REMOVING_S = 60.0, 10.0
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REFERENCE = TRUEPACE.with_name("truepace-reference")
#: The generator's JSON of one run.
Result = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Fixture:
    """Starts servers, loads them, and measures blocks, on cores that servers and generators do not share."""

    shop: Workshop
    folder: Path
    server_cpus: tuple[int, ...] | None
    generator_cpus: tuple[int, ...] | None
    calm: Calm = field(default_factory=Calm)

    def spec(self, name: str, flags: Sequence[str] = (), main_class: str = MAIN) -> ServerSpec:
        """Return the specification of a server of this name. Both servers of a pair get the same cores."""
        return ServerSpec(
            require_jdk().java,
            DIST,
            "noop",
            self.folder / name / "server",
            self.folder / name / "data",
            cpus=self.server_cpus,
            main_class=main_class,
            server_flags=tuple(flags),
        )

    @contextmanager
    def running(self, spec: ServerSpec) -> Iterator[RunningServer]:
        """Start a server, and stop it when the context ends."""
        server = launch(spec)
        self.calm.server_pids.append(server.pid)
        try:
            yield server
        finally:
            self.calm.server_pids.remove(server.pid)
            server.stop()

    def measured(self, block: Block, launch: Launch) -> list[Step]:
        """Measure a block by the executor, in a run folder of its own, on the servers that `launch` gives."""
        folder, progress = RunFolder.create(self.folder, "bench", "smoke", {}), Progress(block.planned_s, Sink())
        measurement = Measurement(self.shop, "truepace", self.generator_cpus, folder, progress)
        return Executor(folder, measurement, launch, progress).run(block)

    def load(
        self,
        target: Sequence[str],
        duration_s: float = DURATION_S,
        connections: int = CONNECTIONS,
        rate_rps: int | None = None,
        warmup_s: float = WARMUP_S,
    ) -> Result:
        """Run truepace once, in closed loop without a rate; return its JSON.

        `target` is a URL, or flags with a script, a URL and the script's arguments.
        """
        out = self.folder / "load.json"
        flags = ["-t1", f"-c{connections}", f"-d{duration_s:g}s", "--warmup", f"{warmup_s:g}s", "--json", str(out)]
        rate = ["-R", str(rate_rps)] if rate_rps else []
        self.run([str(TRUEPACE), *flags, *rate, *target], duration_s)
        result: Result = json.loads(out.read_text())
        return result

    def run(self, words: Sequence[str], duration_s: float) -> str:
        """Run a client of about so many seconds on the generator's cores; return its standard output.

        The exit code of a load that fell short of its schedule is no error.
        """
        done = subprocess.run(
            pinned(words, self.generator_cpus),
            capture_output=True, text=True, timeout=duration_s + _TIMEOUT_S, cwd=ROOT, check=False,
        )  # fmt: skip
        if done.returncode != 4:  # which is of a load at whose end requests failed or were never sent
            done.check_returncode()
        return done.stdout

    def keep(self, name: str, rows: Iterable[Row], **about: object) -> int:
        """Print and keep rows as the function `keep`, with the versions of tools and the disturbances."""
        keep(name, rows, tools=self.shop.versions, disturbances=self.calm.sentence, **about)
        if self.calm.repeated or self.calm.disturbed:
            print(self.calm.sentence())
        return 0


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for stores, by default where temporary ones lie, and remove it, whatever the body ends with."""
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
    try:
        yield folder
    finally:
        remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder in which a process that was killed may be writing for another moment."""
    until_s = time.monotonic() + _REMOVING_S
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except OSError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.05)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Turn SIGTERM, SIGINT and SIGHUP into an exit that stops processes and removes data on its way.

    Only the first counts: another Ctrl-C must not stop the cleaning up.
    """

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        for ending in _ENDING:
            signal.signal(ending, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {ending: signal.signal(ending, end) for ending in _ENDING}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)


@contextmanager
def fixture() -> Iterator[Fixture]:
    """Build what is missing, print what is unusual about the machine; remove the folder when the context ends."""
    with ending_in_order(), scratch() as folder:
        shop = prepare("truepace", print)
        server_cpus, generator_cpus = machine.pinning()
        for warning in machine.noise(machine.facts()):
            print(f"Unusual today: {warning['text']} ({warning['remedy']})")
        yield Fixture(shop, folder, server_cpus, generator_cpus)


def parse_rows(
    parser: argparse.ArgumentParser, groups: Collection[str], arguments: Sequence[str] | None = None
) -> argparse.Namespace:
    """Parse a command line that may name groups of rows to measure, as `rows`; all groups where it names none."""
    parser.add_argument("rows", nargs="*", metavar="ROWS", help=f"of {', '.join(groups)} (default: all)")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.rows if name not in groups]:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(groups)}")
    given.rows = list(dict.fromkeys(given.rows)) or list(groups)
    return given


Goal = tuple[Literal["<=", ">="], float]


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    print(line, flush=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of ours and of a peer over interleaved rounds; the ratio of their medians has a goal, such as <= 1.05.

    `note` ends the line with what a reader needs to know of the figures, such as the offered rates.
    """

    name: str
    unit: str
    ours: tuple[float, ...]
    peer: tuple[float, ...]
    goal_op: Literal["<=", ">="]
    goal: float
    note: str = ""

    @classmethod
    def within(cls, name: str, unit: str, values: Sequence[float], limit: float, note: str = "") -> Row:
        """Return a row whose values should be at most `limit`, which stands in the peer's place."""
        return cls(name, unit, tuple(values), (limit,) * len(values), "<=", 1.0, note)

    @property
    def ratio(self) -> float:
        """Median of ours over median of the peer's."""
        return statistics.median(self.ours) / statistics.median(self.peer)

    @property
    def ratio_of_a_round(self) -> Bounded:
        """Median of the rounds' ratios, with its 95 % interval; with fewer than six rounds, their range."""
        interval = over_rounds(a / b for a, b in zip(self.ours, self.peer, strict=True))
        return interval or Bounded(math.nan, math.nan, math.nan)

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal if self.goal_op == "<=" else self.ratio >= self.goal

    @property
    def within_noise(self) -> bool:
        """Whether the goal lies within the interval of a round's ratio, so that another run may decide otherwise."""
        ratio = self.ratio_of_a_round
        return ratio.low <= self.goal <= ratio.high

    @property
    def verdict(self) -> str:
        """Whether the goal is met, and whether noise leaves it open."""
        return ("met" if self.met else "short") + (" within noise" if self.within_noise else "")

    def line(self) -> str:
        ratio = self.ratio_of_a_round
        interval = "95 %" if len(self.ours) >= ENOUGH_ROUNDS else "range"
        spread = f"{interval} {ratio.low:.3f} to {ratio.high:.3f}"
        return (
            f"{self.name} ours={statistics.median(self.ours):.4g}{self.unit} "
            f"peer={statistics.median(self.peer):.4g}{self.unit} ratio={self.ratio:.3f} "
            f"goal={self.goal_op}{self.goal:g} {self.verdict} "
            f"(rounds={len(self.ours)}, ratio of a round {ratio.value:.3f}, {spread}"
            f"{self.note and f'; {self.note}'})"
        )

    def kept(self) -> dict[str, Any]:
        """Return its fields, ratio, interval and verdict, for JSON."""
        derived = {"ratio": self.ratio, "met": self.met, "ratio_of_a_round": asdict(self.ratio_of_a_round)}
        return asdict(self) | derived | {"within_noise": self.within_noise}


class NoFigure(Row):
    """A row that could not be measured, for the reason `why`. It never meets its goal."""

    def __init__(self, name: str, goal_op: Literal["<=", ">="], goal: float, why: str) -> None:
        super().__init__(name, "", (), (), goal_op, goal, why)

    @property
    def met(self) -> bool:
        return False

    def line(self) -> str:
        goal = f"goal={self.goal_op}{self.goal:g}"
        return f"{self.name} ours=none peer=none ratio=none {goal} short (no figure: {self.note})"

    def kept(self) -> dict[str, Any]:
        goal = {"name": self.name, "goal_op": self.goal_op, "goal": self.goal, "why": self.note}
        return goal | {"ours": [], "peer": [], "ratio": None, "met": False}


def keep(name: str, rows: Iterable[Row], **about: object) -> int:
    """Print each row as it is measured, and write them as JSON under data/runs. Return 0: figures are no test.

    Values of `about` that are functions are called at the end.
    """
    kept = []
    for row in rows:
        say(row.line())
        kept.append(row.kept())
    RUNS.mkdir(parents=True, exist_ok=True)
    path = RUNS / f"bench-{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    about = {"machine": machine.facts, **about}
    known = {key: value() if callable(value) else value for key, value in about.items()}
    path.write_text(json.dumps({"bench": name, "about": known, "rows": kept}, indent=1) + "\n")
    print(f"kept in {path}")
    return 0


_S_A_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a benchmark that takes about `duration_s`. Parts of the same `work` are summed up."""

    work: str
    duration_s: float


@dataclass(slots=True)
class Course:
    """The parts of a benchmark in their order, and how many of them are done."""

    parts: Sequence[Part]
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _started_s: float = field(init=False)
    _begun: int = field(init=False, default=0)
    _took_s: dict[str, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._started_s = self.clock()

    @property
    def minutes(self) -> float:
        """About how many minutes all parts take."""
        return sum(part.duration_s for part in self.parts) / _S_A_MINUTE

    def announce(self) -> None:
        """Print how long each work takes, and all of them."""
        sums: dict[str, float] = {}
        for part in self.parts:
            sums[part.work] = sums.get(part.work, 0.0) + part.duration_s
        minutes = ", ".join(f"{work} {seconds / _S_A_MINUTE:.1f}" for work, seconds in sums.items())
        self.say(f"This takes about {self.minutes:.0f} min in {len(self.parts)} parts ({minutes}).")

    @contextmanager
    def part(self, work: str, name: str) -> Iterator[None]:
        """Print that a part begins and how far the benchmark is; add what it takes to its work."""
        now_s = self.clock()
        self._begun += 1
        elapsed = (now_s - self._started_s) / _S_A_MINUTE
        self.say(f"[{self._begun} of {len(self.parts)}, {elapsed:.1f} of about {self.minutes:.0f} min] {name}")
        try:
            yield
        finally:
            self._took_s[work] = self._took_s.get(work, 0.0) + self.clock() - now_s

    def took_s(self) -> dict[str, float]:
        """Return what each work took in the end, in seconds."""
        return {work: round(seconds, 1) for work, seconds in self._took_s.items()}
