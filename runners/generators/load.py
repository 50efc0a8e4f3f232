"""Send a load: one interface for every generator (truepace, wrk2, wrk, reference clients), and one way to run it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal, Protocol

from runners.design.load import WRK2_CALIBRATION_A_CONNECTION_S, WRK2_CALIBRATION_S
from runners.errors import MeasureError
from runners.process.supervisor import pinned, start
from runners.storage.schema import ShareRecord
from runners.storage.step_folder import StepFolder
from runners.toolchain.build import Workshop
from runners.toolchain.tools import shown

TICK_S = 1.0
_USAGE, _COULD_NOT_RUN, INTERRUPTED = 1, 2, 130
#: Exit code of truepace after a load that came to its end, in which requests failed or were never sent.
FELL_SHORT = 4
_FINISH_S = 10.0


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """One of several servers that share a schedule: its name in the output, and its share of the requests.

    `script` None: GET `url`. Raises MeasureError for a name or path that the generator could not read.
    """

    name: str
    url: str
    script: Path | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if "=" in self.name or any("," in text for text in (self.name, self.url, str(self.script))):
            raise MeasureError(f"target {self.name}", "',' or '=' separates its parts", "choose a name or path without")
        if not self.weight > 0:
            raise MeasureError(f"target {self.name}", f"a weight of {self.weight:g}", "give a positive weight")


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """A load. `rate_rps` None: closed loop. `requests`: stop after so many; `duration_s` is then a bound.

    `script` None: GET `url`. `targets` share one schedule in place of `url` and `script`: every request, or with
    `slice_s` every slice of so many seconds, goes to one of them, in an order that `seed` determines and that is
    balanced for the predecessor. `rate_rps` is then the sum over all targets and `connections` the number to each.
    `parts_rps`: the rates of parts of equal length; `rate_rps` is their mean.
    `share` (2, 3): only what the second of three generators sends; connections and threads are those of its own.
    `start_unix_ns`: when the load begins; None: at once. `log_requests`: keep a log of every request.
    """

    url: str
    script: Path | None
    rate_rps: float | None
    duration_s: float
    warmup_s: float = 0.0
    connections: int = 1
    threads: int = 1
    requests: int | None = None
    script_arguments: tuple[str, ...] = ()
    targets: tuple[LoadTarget, ...] = ()
    seed: int = 1
    slice_s: float = 0.0
    parts_rps: tuple[float, ...] = ()
    share: tuple[int, int] | None = None
    start_unix_ns: int | None = None
    log_requests: bool = False


class Generator(Protocol):
    """A load generator.

    `lead_s`: how long it sends before it records. `command`: its command line for a load whose raw output goes into
    `folder`; raises MeasureError for a load that it can't send.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def lead_s(self, spec: LoadSpec) -> float: ...
    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """How a load ended. Times are of the whole process, warm-up included, in microseconds since 1970.

    The time between start and end is that of the monotonic clock. `cpu_s`: processor time of the process, None where it
    is not known. `shares`: the generators that sent the load together, none for one.
    """

    command: tuple[str, ...]
    exit_code: int
    started_unix_us: int
    ended_unix_us: int
    stopped_early: bool
    cpu_s: float | None = None
    shares: tuple[ShareRecord, ...] = ()

    @property
    def interrupted(self) -> bool:
        return self.exit_code == INTERRUPTED or self.stopped_early


class Sender(Protocol):
    """Sends a load to its end: `run_load` from this process, or several hosts together."""

    def __call__(
        self,
        generator: Generator,
        spec: LoadSpec,
        folder: StepFolder,
        *,
        cpus: Sequence[int] | None = None,
        taskset: Path | None = None,
        tick: Callable[[int, float], bool] = ...,
    ) -> LoadOutcome: ...


def planned_s(generator: Generator, spec: LoadSpec) -> float:
    """Return how long a load will take."""
    return generator.lead_s(spec) + spec.duration_s


def run_load(
    generator: Generator,
    spec: LoadSpec,
    folder: StepFolder,
    *,
    cpus: Sequence[int] | None = None,
    taskset: Path | None = None,
    tick: Callable[[int, float], bool] = lambda _pid, _elapsed: True,
) -> LoadOutcome:
    """Run the generator to its end; its raw output goes into `folder`.

    `tick(generator_pid, elapsed_s)` is called once a second. When it returns False the load is stopped early, and the
    generator writes its results so far. Raises MeasureError when the generator refuses its script or its flags.
    """
    command = pinned(generator.command(spec, folder), cpus, taskset)
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


#: Far above what a connection achieves, so that it waits for its responses as in a closed loop. Only the achieved rate
#: of such a run means anything.
WRK2_CLOSED_LOOP_RPS = 1_000_000.0
_OURS = "use the lab's own generator"


def digits(value: float) -> str:
    """Write a number in plain digits, as every generator takes it: 1000000, 0.05; never 1e+06 and never rounded."""
    return f"{Decimal(repr(float(value))).normalize():f}"


def _scripted(spec: LoadSpec) -> list[str]:
    return ["-s", shown(spec.script)] if spec.script is not None else []


def _arguments(spec: LoadSpec) -> list[str]:
    return ["--", *spec.script_arguments] if spec.script_arguments else []


def _target(target: LoadTarget) -> list[str]:
    script = f",script={shown(target.script)}" if target.script is not None else ""
    return ["--target", f"{target.name}={target.url},weight={digits(target.weight)}{script}"]


def _refuse_special(name: str, spec: LoadSpec, *more: tuple[bool, str]) -> None:
    """Raise MeasureError for a load that only truepace can send; `more`: other conditions, with the causes."""
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
class Truepace:
    """The lab's own generator."""

    path: Path
    version: str
    name: str = "truepace"

    def lead_s(self, spec: LoadSpec) -> float:
        return spec.warmup_s

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        rates = spec.parts_rps or ((spec.rate_rps,) if spec.rate_rps is not None else ())
        rate = ["-R", ",".join(map(digits, rates))] if rates else []
        warmup = ["--warmup", f"{digits(spec.warmup_s)}s"] if spec.warmup_s else []
        count = ["-n", str(spec.requests)] if spec.requests is not None else []
        share = ["--share", "{}/{}".format(*spec.share)] if spec.share else []
        begin = ["--start-at", str(spec.start_unix_ns)] if spec.start_unix_ns is not None else []
        log = ["--requests-log", shown(folder.requests)] if spec.log_requests else []
        shared = [word for target in spec.targets for word in _target(target)]
        interleave = f"slice={digits(spec.slice_s * 1_000)}ms" if spec.slice_s else "request"
        arguments = ["--seed", str(spec.seed), "--interleave", interleave, *shared] if shared else _scripted(spec)
        return [
            shown(self.path),
            *("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{digits(spec.duration_s)}s"),
            *rate,
            *warmup,
            *count,
            *share,
            *begin,
            *arguments,
            *log,
            *("-L", "--summary", "--json", shown(folder.load_json), "--hlog", shown(folder.hlog)),
            *([] if shared else [spec.url]),
            *_arguments(spec),
        ]


@dataclass(frozen=True, slots=True)
class Wrk2:
    """wrk2, where it is found. It takes whole seconds and whole rates, and warms up by itself."""

    path: Path
    version: str
    name: str = "wrk2"

    def lead_s(self, spec: LoadSpec) -> float:
        calibration_s = WRK2_CALIBRATION_S + WRK2_CALIBRATION_A_CONNECTION_S * spec.connections
        return max(spec.warmup_s, calibration_s)

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        _refuse_special("wrk2", spec)
        rate_rps = spec.rate_rps if spec.rate_rps is not None else WRK2_CLOSED_LOOP_RPS
        seconds = math.ceil(round(spec.duration_s + self.lead_s(spec), 1))  # for milliseconds no second more
        return [
            shown(self.path),
            *("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{seconds}s"),
            *("-R", str(round(rate_rps)), *_scripted(spec), "-L"),
            spec.url,
            *_arguments(spec),
        ]


@dataclass(frozen=True, slots=True)
class Wrk:
    """The closed-loop wrk, where it is found. It has no rate, takes whole seconds, and records from the first on."""

    path: Path
    version: str
    name: str = "wrk"

    def lead_s(self, spec: LoadSpec) -> float:
        return 0.0

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        _refuse_special("wrk", spec)
        if spec.rate_rps is not None:
            cause = f"it sends in closed loop and can't keep a rate ({spec.rate_rps:g}/s was to be offered)"
            raise MeasureError("wrk", cause, f"{_OURS} or wrk2, or ask for a closed loop")
        return [
            shown(self.path),
            *("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{math.ceil(spec.duration_s)}s"),
            *(*_scripted(spec), "--latency"),
            spec.url,
            *_arguments(spec),
        ]


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference clients of the crate: one fixed GET at a constant rate, JSON on standard output.

    `blocking` sleeps, writes and reads on one connection; `epoll` is one plain loop over any number of connections.
    """

    path: Path
    version: str
    kind: Literal["blocking", "epoll"]

    @property
    def name(self) -> str:
        return self.kind

    def lead_s(self, spec: LoadSpec) -> float:
        return spec.warmup_s

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        _refuse_special(
            f"reference client {self.kind}",
            spec,
            (spec.rate_rps is None, "it can't send in closed loop"),
            (spec.script is not None, "it sends one fixed request and runs no script"),
            (spec.threads != 1, "it has one thread"),
            (self.kind == "blocking" and spec.connections != 1, "it has one connection"),
        )
        rate_rps = spec.rate_rps or 0.0  # a load without a rate was refused above
        return [
            shown(self.path),
            *("--kind", self.kind, "-c", str(spec.connections), "-d", f"{digits(spec.duration_s)}s"),
            *("-R", digits(rate_rps), "--warmup", f"{digits(spec.warmup_s)}s"),
            spec.url,
        ]


def generators(shop: Workshop) -> dict[str, Generator]:
    """Return the generators of a workshop by name: the reference clients, truepace, then the others."""
    generators: dict[str, Generator] = {}
    if shop.reference is not None:
        for kind in ("blocking", "epoll"):
            generators[kind] = Reference(shop.reference.path, shop.reference.version, kind)
    if shop.truepace is not None:
        generators["truepace"] = Truepace(shop.truepace.path, shop.truepace.version)
    if shop.wrk2 is not None:
        generators["wrk2"] = Wrk2(shop.wrk2.path, shop.wrk2.version)
    if shop.wrk is not None:
        generators["wrk"] = Wrk(shop.wrk.path, shop.wrk.version)
    return generators
