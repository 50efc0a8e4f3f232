"""Send a load: one interface for every generator, and one way to run them. The generators are in generators.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runners.errors import MeasureError
from runners.process.supervisor import pinned, start
from runners.storage.schema import ShareRecord

TICK_S = 1.0
_USAGE, _COULD_NOT_RUN, INTERRUPTED = 1, 2, 130
_FINISH_S = 10.0


@dataclass(frozen=True, slots=True)
class LoadTarget:
    """One of several servers that share a schedule: its name in the output, and its share of the requests.

    `script` None: GET `url`, the same again and again. Raises MeasureError where the generator could not read it.
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
    """What to send. `rate_rps` None: closed loop. `requests`: stop after so many, `duration_s` is then a bound.

    `script` None: GET `url`, the same again and again. `targets` share one schedule in place of `url` and `script`:
    each request goes to one of them, in an order that `seed` gives and that is balanced for the predecessor, or with
    `slice_s` each slice of so many seconds; `rate_rps` is then that of all together and `connections` those to each.
    `parts_rps` are the rates of as many parts of equal length, and `rate_rps` is their mean.
    `share` (2, 3): what the second of three generators sends of this load; connections and threads are its own then.
    `start_unix_ns`: when the load begins; None: at once.
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


@dataclass(frozen=True, slots=True)
class LoadFiles:
    """Where the raw output of one load goes. `requests` None: no log of every request is kept."""

    console: Path
    stderr: Path
    json: Path
    hlog: Path
    slices: Path
    requests: Path | None = None


class Generator(Protocol):
    """A load generator: its name, its version, and the command line for a load.

    `lead_s` is how long it sends before it records; `command` raises MeasureError for a load that it can't send.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    def lead_s(self, spec: LoadSpec) -> float: ...
    def command(self, spec: LoadSpec, files: LoadFiles) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """How a load ended. Times are wall clock, microseconds since 1970, of the whole process, warm-up included.

    Its end is as long after its start as the monotonic clock says: to set the clock meanwhile makes no load longer.
    `cpu_s` is the processor time of the whole process, None where it is not known. `shares` are the generators that
    sent it together, none for one.
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
    """Sends a load to its end, as `run_load` does from this process, or as several hosts do together."""

    def __call__(
        self,
        generator: Generator,
        spec: LoadSpec,
        files: LoadFiles,
        *,
        cpus: Sequence[int] | None = None,
        taskset: Path | None = None,
        tick: Callable[[int, float], bool] = ...,
    ) -> LoadOutcome: ...


def planned_s(generator: Generator, spec: LoadSpec) -> float:
    """How long a load will take."""
    return generator.lead_s(spec) + spec.duration_s


def run_load(
    generator: Generator,
    spec: LoadSpec,
    files: LoadFiles,
    *,
    cpus: Sequence[int] | None = None,
    taskset: Path | None = None,
    tick: Callable[[int, float], bool] = lambda _pid, _elapsed: True,
) -> LoadOutcome:
    """Run the generator to its end.

    `tick(generator_pid, elapsed_s)` is called once a second; when it returns False the load is stopped early, and
    the generator still writes what it has. Raises MeasureError when the generator refuses its script or its flags.
    """
    command = pinned(generator.command(spec, files), cpus, taskset)
    started, begin = time.time_ns() // 1000, time.monotonic()
    stopped_early = False
    with files.console.open("wb") as out, files.stderr.open("wb") as err:
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
    ended = started + round((time.monotonic() - begin) * 1e6)
    if code == _USAGE or (code == _COULD_NOT_RUN and not stopped_early) or code in (126, 127):
        text = files.stderr.read_text(errors="replace").strip() or files.console.read_text(errors="replace").strip()
        remedy = "mend the script or the flags" if code == _USAGE else "check that the server is up and reachable"
        raise MeasureError(f"{generator.name} (exit {code})", text or "it said nothing", remedy)
    return LoadOutcome(tuple(command), code, started, ended, stopped_early, cpu_s)
