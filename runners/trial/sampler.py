"""Profilers for any server: async-profiler, py-spy, perf, or a Go server's own profile (`pprof` in target.yaml)."""

import contextlib
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import urlopen

import psutil

from runners.errors import MeasureError, ToolError
from runners.process.supervisor import Child, finished, start, tree
from runners.storage.run_folder import StepFolder
from runners.storage.schema import ProfileRecord
from runners.storage.stacks import BadProfileError, decoded
from runners.targets.base import log_tail
from runners.targets.external import RunningTarget
from runners.targets.group import Target
from runners.targets.lab_server import RunningServer
from runners.trial.profiler import Profiler, ProfileSpec, write_collapsed

CPU = "cpu"
MOST_HZ = 999  # of perf and py-spy: more disturbs what is measured
_END_S, _TIMEOUT_S = 30.0, 120.0
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SAMPLE = re.compile(r"^\S.*?\s+\d+\s+(?P<s>\d+)\.(?P<ns>\d{9}):")
_FRAME = re.compile(r"^\s+[0-9a-f]+ (?P<name>.+?)(?:\+0x[0-9a-f]+)?$")
_UNNAMED = "[unknown]"
LOG = "sampler.log"


def sampler_of(server: Target, profiler: Profiler | None) -> "Sampler":
    """Return what profiles `server`: `profiler` if it is a JVM, else another tool. Raises MeasureError if none can."""
    if isinstance(server, RunningTarget) and server.pprof_url:
        return PprofSampler(server.pprof_url)
    processes = {pid: _program(pid) for pid in tree(server.pids)}
    jvms = [pid for pid, program in processes.items() if program == "java"]
    if isinstance(server, RunningServer):
        jvms = [server.pid]
    elif not processes:
        raise MeasureError(f"profile of {server.subject}", "its processes are not known", "let the lab start it")
    if len(jvms) > 1:
        cause = "it is several JVMs, and one is profiled"
        raise MeasureError(f"profile of {server.subject}", cause, "profile one alone")
    if jvms:
        if profiler is None:
            cause = "it needs a JDK and its own files, fetched by Maven"
            raise MeasureError("async-profiler", cause, "see `lab doctor`")
        return replace(profiler, pid=jvms[0])
    if any(program.startswith("python") for program in processes.values()):
        return PySpySampler(_tool("py-spy", "run `make` again: the lab's own packages hold it"), tuple(server.pids))
    perf = _tool("perf", "install it (Debian: apt-get install linux-perf), or profile a Go server by `pprof`")
    return PerfSampler(perf, tuple(processes))


def _program(pid: int) -> str:
    with contextlib.suppress(psutil.Error, OSError):
        return Path(psutil.Process(pid).exe()).name
    return ""


def _tool(name: str, remedy: str) -> Path:
    installed = Path(sys.executable).with_name(name)
    executable = str(installed) if installed.exists() else shutil.which(name)
    if executable is None:
        raise MeasureError(name, "it was not found, and without it this server can't be profiled", remedy)
    return Path(executable)


@dataclass(slots=True)
class _ProgramSampler:
    program: Path
    pids: tuple[int, ...]
    _child: Child | None = None

    def _begin(self, folder: StepFolder, *arguments: str) -> None:
        with _raw(folder, LOG).open("wb") as log:
            try:
                child = start([str(self.program), *arguments], stdout=log, stderr=log, stop_signal="SIGINT")
            except ToolError as error:
                raise MeasureError(str(self.program), error.cause, error.remedy) from error
        if child.wait_up_to(1.0):
            child.stop()
            cause = f"it ended at once: {log_tail(_raw(folder, LOG))}"
            raise MeasureError(self.program.name, cause, "see `lab doctor`")
        self._child = child

    def stop(self, folder: StepFolder) -> None:
        if self._child is not None:
            self._child.interrupt()
            self._child.wait_up_to(_END_S)
            self._child.stop()


@dataclass(slots=True)
class PerfSampler(_ProgramSampler):
    """Linux perf on all processes of a server; it samples by the processor clock, without hardware counters."""

    _unix_less_monotonic_ns: int = 0

    def start(self, spec: ProfileSpec, folder: StepFolder) -> None:
        self._unix_less_monotonic_ns = time.time_ns() - time.monotonic_ns()
        self._begin(
            folder, "record", "--quiet", "-e", "cpu-clock", "-F", str(_hz(spec)), "-g", "-k", "CLOCK_MONOTONIC",
            "-p", ",".join(map(str, self.pids)), "-o", str(_raw(folder, "perf.data").resolve()),
        )  # fmt: skip

    def convert(self, spec: ProfileSpec, folder: StepFolder, window_ms: tuple[int, int]) -> ProfileRecord:
        data = _raw(folder, "perf.data")
        command = [str(self.program), "script", "-i", str(data), "-F", "comm,tid,time,ip,sym", "--ns"]
        done = finished(command, _TIMEOUT_S)
        if done.returncode != 0:
            raise MeasureError("perf script", done.stderr.strip()[-300:], "see perf's own log")
        numbers, counts = dict[str, int](), Counter[str]()
        with folder.timed_stacks.open("w", encoding="utf-8") as out:
            for monotonic_us, stack in perf_samples(done.stdout.splitlines()):
                unix_us = monotonic_us + self._unix_less_monotonic_ns // 1000
                if not window_ms[0] <= unix_us / 1000 <= window_ms[1]:
                    continue
                if stack not in numbers:
                    numbers[stack] = len(numbers)
                    out.write(f"S {numbers[stack]} {stack}\n")
                out.write(f"E {CPU} {unix_us} {numbers[stack]} 1 1\n")
                counts[stack] += 1
        data.unlink(missing_ok=True)  # megabytes, of which the stacks hold all that is used
        return _written(counts, "perf cpu-clock", _version(self.program), folder)


@dataclass(slots=True)
class PySpySampler(_ProgramSampler):
    """py-spy on a Python server's first process and its children; it samples running threads by the wall clock."""

    def start(self, spec: ProfileSpec, folder: StepFolder) -> None:
        self._begin(
            folder, "record", "--pid", str(self.pids[0]), "--subprocesses", "--format", "raw", "--rate",
            str(min(200, _hz(spec))), "--duration", "unlimited", "--output", str(_raw(folder, "py-spy.raw").resolve()),
        )  # fmt: skip

    def convert(self, spec: ProfileSpec, folder: StepFolder, window_ms: tuple[int, int]) -> ProfileRecord:
        raw = _raw(folder, "py-spy.raw")
        if not raw.exists():
            cause = f"it wrote nothing: {log_tail(_raw(folder, LOG))}"
            raise MeasureError("py-spy", cause, "it needs leave to trace it")
        counts = Counter[str]()
        for line in raw.read_text(encoding="utf-8", errors="replace").splitlines():
            stack, _, count = line.rpartition(" ")
            if stack and count.isdigit():
                counts[joined(stack.split(";"))] += int(count)
        raw.unlink()
        return _written(counts, "py-spy", _version(self.program), folder)


@dataclass(slots=True)
class PprofSampler:
    """The CPU profile that a Go server makes of itself, requested from `url` while the load runs."""

    url: str
    _asking: threading.Thread | None = None
    _profile: bytes = b""
    _refusal: str = "it did not respond"

    def start(self, spec: ProfileSpec, folder: StepFolder) -> None:
        seconds = max(1, round(spec.length_s))

        def ask() -> None:
            try:
                with urlopen(f"{self.url}?seconds={seconds}", timeout=seconds + _END_S) as response:  # noqa: S310 - http(s)
                    self._profile = response.read()
            except (OSError, ValueError) as error:
                self._refusal = str(error)

        self._asking = threading.Thread(target=ask, daemon=True)
        self._asking.start()

    def stop(self, folder: StepFolder) -> None:
        if self._asking is not None:
            self._asking.join(_END_S)

    def convert(self, spec: ProfileSpec, folder: StepFolder, window_ms: tuple[int, int]) -> ProfileRecord:
        counts = Counter[str]()
        try:
            if not self._profile:
                raise BadProfileError(self._refusal)
            for names, count in decoded(self._profile):
                counts[joined(names)] += count
        except BadProfileError as error:
            raise MeasureError(f"profile at {self.url}", str(error), "see `pprof` in target.yaml") from error
        return _written(counts, "pprof", "", folder)


#: A profiler of one server. Of a JVM it records several events, of any other server only CPU time. `convert` writes the
#: collapsed stacks of a window (ms since 1970) and, if the samples have times, timed stacks.
Sampler = Profiler | PerfSampler | PySpySampler | PprofSampler


def perf_samples(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the time in microseconds and the stack of every sample of `perf script -F comm,tid,time,ip,sym --ns`."""
    at_us: int | None = None
    frames: list[str] = []
    for line in (*lines, ""):
        if begins := _SAMPLE.match(line):
            at_us, frames = int(begins["s"]) * 1_000_000 + int(begins["ns"]) // 1000, []
        elif match := _FRAME.match(line):
            frames.append(match["name"])
        elif not line.strip() and at_us is not None:
            yield at_us, joined([name for name in reversed(frames) if name != _UNNAMED] or [_UNNAMED])
            at_us = None


def joined(names: Sequence[str]) -> str:
    """Return stack frames (root first) as one collapsed stack, without control characters; replace `;` and `</`."""
    plain = (_CONTROL.sub("", name).replace(";", ":").replace("</", "< /").strip() for name in names)
    return ";".join(name or _UNNAMED for name in plain)


def _hz(spec: ProfileSpec) -> int:
    return max(1, min(MOST_HZ, round(1e9 / spec.cpu_interval_ns)))


def _raw(folder: StepFolder, name: str) -> Path:
    return folder.recording.with_name(name)


def _written(counts: Counter[str], engine: str, version: str, folder: StepFolder) -> ProfileRecord:
    write_collapsed(counts, folder.collapsed(CPU))
    return ProfileRecord(engine=engine, version=version, samples={CPU: counts.total()})


def _version(tool: Path) -> str:
    done = finished([str(tool), "--version"], _END_S)
    return (done.stdout.strip() or done.stderr.strip()).removeprefix(tool.name).strip()[:80]
