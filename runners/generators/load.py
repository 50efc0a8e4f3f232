"""Load generators (truepace, wrk2, wrk, reference clients) behind one interface, and how to run one of them."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from runners.design.load import WRK2_CALIBRATION_A_CONNECTION_S, WRK2_CALIBRATION_S
from runners.errors import MeasureError
from runners.process.supervisor import pinned, start
from runners.storage.schema import ShareRecord
from runners.storage.step_folder import StepFolder
from runners.toolchain.build import Workshop
from runners.toolchain.tools import Tool, shown

TICK_S = 1.0
_USAGE, _COULD_NOT_RUN, INTERRUPTED = 1, 2, 130
_FINISH_S = 10.0


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """One of the servers that share a schedule. Raises MeasureError for a field with a `,` or a name with a `=`."""

    name: str
    url: str
    script: Path | None = None

    def __post_init__(self) -> None:
        if "=" in self.name or any("," in text for text in (self.name, self.url, str(self.script))):
            raise MeasureError(f"target {self.name}", "',' or '=' separates its parts", "choose a name or path without")


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """A load for a generator to send.

    `targets` take the place of `url` and `script` and share one schedule: every request goes to one of them, in an
    order that `seed` determines. With `slice_s`, all requests in a slice of so many seconds go to one target.
    """

    url: str
    script: Path | None
    rate_rps: float | None  # None: closed loop; with targets, the sum over all
    duration_s: float
    warmup_s: float = 0.0
    connections: int = 1  # with targets, per target
    threads: int = 1
    requests: int | None = None  # stop after so many; `duration_s` is then an upper bound
    script_arguments: tuple[str, ...] = ()
    targets: tuple[LoadTarget, ...] = ()
    seed: int = 1
    slice_s: float = 0.0
    parts_rps: tuple[float, ...] = ()  # rates of equally long parts of the load; their mean is `rate_rps`
    share: tuple[int, int] | None = None  # (2, 3): the second of three generators that share the load
    start_unix_ns: int | None = None  # None: start at once
    log_requests: bool = False
    cpus: tuple[int, ...] | None = None  # the generator's cores


@dataclass(frozen=True, slots=True)
class Generator(ABC):
    """A load generator. It sends for `lead_s` seconds before it records."""

    path: Path
    version: str
    name: str

    def lead_s(self, spec: LoadSpec) -> float:
        return spec.warmup_s

    @abstractmethod
    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        """Return the command to send a load and write into `folder`. Raises MeasureError if the load can't be sent."""


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """How a load ended."""

    command: tuple[str, ...]
    exit_code: int
    started_unix_us: int
    ended_unix_us: int
    stopped_early: bool
    cpu_s: float | None = None  # the generator's CPU time
    shares: tuple[ShareRecord, ...] = ()  # a record per generator, if several shared the load

    @property
    def interrupted(self) -> bool:
        return self.exit_code == INTERRUPTED or self.stopped_early


#: A function that sends a whole load: `run_load`, or a function that uses several generators or hosts.
Sender = Callable[..., LoadOutcome]


def run_load(
    generator: Generator, spec: LoadSpec, folder: StepFolder, *,
    tick: Callable[[int, float], bool] = lambda _pid, _elapsed: True,
) -> LoadOutcome:  # fmt: skip
    """Run a generator until its load ends; raw output goes to `folder`. Raises MeasureError if the generator can't run.

    `tick(generator_pid, elapsed_s)` is called once a second; if the call returns False, the load is stopped early.
    """
    command = pinned(generator.command(spec, folder), spec.cpus)
    started_unix_us, begin = time.time_ns() // 1000, time.monotonic()
    stopped_early = False
    with folder.console.open("wb") as out, folder.generator_stderr.open("wb") as err:
        child = start(command, stdout=out, stderr=err)
        try:
            next_tick_s = 0.0
            while not child.wait_up_to(max(0.0, begin + next_tick_s - time.monotonic())):
                next_tick_s += TICK_S
                if not tick(child.pid, time.monotonic() - begin):
                    stopped_early = True
                    child.interrupt()
                    child.wait_up_to(_FINISH_S)
                    break
            code = child.stop() if stopped_early else child.wait(_FINISH_S)
            cpu_s = child.cpu_s
        except BaseException:
            child.interrupt()
            child.wait_up_to(_FINISH_S)
            raise
        finally:
            child.stop()
    ended_unix_us = started_unix_us + round((time.monotonic() - begin) * 1e6)
    if code == _USAGE or (code == _COULD_NOT_RUN and not stopped_early) or code in (126, 127):
        printed = (path.read_text(errors="replace").strip() for path in (folder.generator_stderr, folder.console))
        text = next(filter(None, printed), "it said nothing")
        remedy = "correct the script or the flags" if code == _USAGE else "check that the server is up and reachable"
        raise MeasureError(f"{generator.name} (exit {code})", text, remedy)
    return LoadOutcome(tuple(command), code, started_unix_us, ended_unix_us, stopped_early, cpu_s)


#: A rate far above what connections achieve, so that wrk2 sends as in a closed loop. In such a run only the achieved
#: rate means anything.
WRK2_CLOSED_LOOP_RPS = 1_000_000.0
_OURS = "use the lab's own generator"


def digits(value: float) -> str:
    """Return a number in plain digits, which every generator reads: 1000000, 0.05; not 1e+06, and not rounded."""
    return f"{Decimal(repr(float(value))).normalize():f}"


def _scripted(spec: LoadSpec) -> list[str]:
    return ["-s", shown(spec.script)] if spec.script is not None else []


def _arguments(spec: LoadSpec) -> list[str]:
    return ["--", *spec.script_arguments] if spec.script_arguments else []


def _as_wrk(path: Path, spec: LoadSpec, seconds: int, *flags: str) -> list[str]:
    shape = ("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{seconds}s")
    return [shown(path), *shape, *flags, spec.url, *_arguments(spec)]


def _refuse_special(name: str, spec: LoadSpec, *more: tuple[bool, str]) -> None:
    """Raise MeasureError for a load that only truepace can send. `more`: pairs of a condition to refuse and a cause."""
    for refused, cause in (
        (bool(spec.targets), "it can't share one schedule over several targets"),
        (bool(spec.parts_rps), "it can't change its rate within a load"),
        (spec.share is not None or spec.start_unix_ns is not None, "it can't share a load with other generators"),
        (spec.requests is not None, "it can't stop after a number of requests"),
        *more,
    ):
        if refused:
            raise MeasureError(name, cause, _OURS)


@dataclass(frozen=True, slots=True)
class Truepace(Generator):
    """truepace, the lab's own load generator."""

    name: str = "truepace"

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        rates = spec.parts_rps or ((spec.rate_rps,) if spec.rate_rps is not None else ())
        shared = list[str]()
        for target in spec.targets:
            script = f",script={shown(target.script)}" if target.script is not None else ""
            shared += ["--target", f"{target.name}={target.url}{script}"]
        interleave = f"slice={digits(spec.slice_s * 1_000)}ms" if spec.slice_s else "request"
        arguments = ["--seed", str(spec.seed), "--interleave", interleave, *shared] if shared else _scripted(spec)
        return [
            shown(self.path),
            *("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{digits(spec.duration_s)}s"),
            *(["-R", ",".join(map(digits, rates))] if rates else []),
            *(["--warmup", f"{digits(spec.warmup_s)}s"] if spec.warmup_s else []),
            *(["-n", str(spec.requests)] if spec.requests is not None else []),
            *(["--share", "{}/{}".format(*spec.share)] if spec.share else []),
            *(["--start-at", str(spec.start_unix_ns)] if spec.start_unix_ns is not None else []),
            *arguments,
            *(["--requests-log", shown(folder.requests)] if spec.log_requests else []),
            *("-L", "--summary", "--json", shown(folder.load_json), "--hlog", shown(folder.hlog)),
            *([] if shared else [spec.url]),
            *_arguments(spec),
        ]


@dataclass(frozen=True, slots=True)
class Wrk2(Generator):
    """wrk2. It takes whole seconds and whole rates, and calibrates itself before it records."""

    name: str = "wrk2"

    def lead_s(self, spec: LoadSpec) -> float:
        calibration_s = WRK2_CALIBRATION_S + WRK2_CALIBRATION_A_CONNECTION_S * spec.connections
        return max(spec.warmup_s, calibration_s)

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        _refuse_special("wrk2", spec)
        rate_rps = spec.rate_rps if spec.rate_rps is not None else WRK2_CLOSED_LOOP_RPS
        seconds = math.ceil(round(spec.duration_s + self.lead_s(spec), 1))  # some milliseconds add no whole second
        return _as_wrk(self.path, spec, seconds, "-R", str(round(rate_rps)), *_scripted(spec), "-L")


@dataclass(frozen=True, slots=True)
class Wrk(Generator):
    """The closed-loop wrk. It has no rate, takes whole seconds, and records from the first request on."""

    name: str = "wrk"

    def lead_s(self, spec: LoadSpec) -> float:
        return 0.0

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        _refuse_special("wrk", spec)
        if spec.rate_rps is not None:
            cause = f"it sends in closed loop and can't keep a rate ({spec.rate_rps:g}/s was to be offered)"
            raise MeasureError("wrk", cause, f"{_OURS} or wrk2, or ask for a closed loop")
        return _as_wrk(self.path, spec, math.ceil(spec.duration_s), *_scripted(spec), "--latency")


@dataclass(frozen=True, slots=True)
class Reference(Generator):
    """A reference client, `blocking` or `epoll`, of truepace's crate: it sends one fixed GET at a constant rate."""

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        _refuse_special(
            f"reference client {self.name}", spec, (spec.rate_rps is None, "it can't send in closed loop"),
            (spec.script is not None, "it sends one fixed request and runs no script"),
            (spec.threads != 1, "it has one thread"),
            (self.name == "blocking" and spec.connections != 1, "it has one connection"),
        )  # fmt: skip
        return [
            shown(self.path),
            *("--kind", self.name, "-c", str(spec.connections), "-d", f"{digits(spec.duration_s)}s"),
            *("-R", digits(spec.rate_rps or 0.0), "--warmup", f"{digits(spec.warmup_s)}s"),  # 0 was refused above
            spec.url,
        ]


def generators(shop: Workshop) -> dict[str, Generator]:
    """Return the generators among the tools in `shop`, by name: the reference clients, truepace, then the others."""
    ways: list[tuple[type[Generator], str, Tool | None]] = [
        *((Reference, name, shop.reference) for name in ("blocking", "epoll")),
        *((Truepace, "truepace", shop.truepace), (Wrk2, "wrk2", shop.wrk2), (Wrk, "wrk", shop.wrk)),
    ]
    return {name: kind(tool.path, tool.version, name) for kind, name, tool in ways if tool is not None}
