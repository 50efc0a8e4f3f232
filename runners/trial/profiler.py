"""async-profiler: attach to a running server, record events into one JFR file, convert it.

The agent is loaded with the JDK's own jcmd; the recording is read back, because the engine that `cpu` really used
(perf_events, or a timer where the kernel refuses) stands only there.

The JDK's own flight recorder, with few events: what the store, the compiler and the disk did while a load ran.
async-profiler's recordings hold none of these, and they are wanted where latency is quoted, without a profiler. What
this recording costs is measured (runners/docs/0012-light-recording.md).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from runners.errors import MeasureError
from runners.process.supervisor import finished
from runners.toolchain.tools import Jdk

TARGET_CPU_SAMPLES = 8_000
TARGET_ALLOC_SAMPLES = 5_000
#: For the first choice of an interval only: what a request allocates, and the share of a core that a server uses.
BYTES_A_REQUEST = 1_500
SERVER_CPU_SHARE = 0.6
MIN_INTERVAL_NS = 250_000
MAX_INTERVAL_NS = 10_000_000
MIN_ALLOC_BYTES = 4_096
MAX_ALLOC_BYTES = 512 * 1024
LOCK_THRESHOLD = "10us"
_TIMEOUT_S = 60.0
_THREAD = re.compile(r"^\[(?:[^;]* )?tid=\d+\];")
_COUNTED = {
    "cpu": ("jdk.ExecutionSample",),
    "alloc": ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"),
    "lock": ("jdk.JavaMonitorEnter", "jdk.ThreadPark"),
}


@dataclass(frozen=True, slots=True)
class ProfileSpec:
    """What to record, and for how long. Intervals in nanoseconds of CPU time and in allocated bytes."""

    events: tuple[str, ...]
    cpu_interval_ns: int
    alloc_interval_bytes: int
    length_s: float = 1.0

    @classmethod
    def for_load(
        cls, events: tuple[str, ...], rate_rps: float, duration_s: float, server_cpu_share: float = SERVER_CPU_SHARE
    ) -> ProfileSpec:
        """Intervals that give about TARGET_CPU_SAMPLES and TARGET_ALLOC_SAMPLES over the load.

        `server_cpu_share` is the CPU time the server uses a second, best taken from a load without the profiler.
        """
        cpu_ns = server_cpu_share * duration_s * 1e9 / TARGET_CPU_SAMPLES
        alloc_bytes = rate_rps * duration_s * BYTES_A_REQUEST / TARGET_ALLOC_SAMPLES
        return cls(
            events,
            int(max(MIN_INTERVAL_NS, min(MAX_INTERVAL_NS, cpu_ns))),
            int(max(MIN_ALLOC_BYTES, min(MAX_ALLOC_BYTES, alloc_bytes))),
            duration_s,
        )

    def agent_options(self, recording: Path, log: Path) -> str:
        options = ["start", "jfr", f"file={recording}", f"log={log}"]
        if "cpu" in self.events:
            options += ["event=cpu", f"interval={self.cpu_interval_ns}ns"]
        if "alloc" in self.events:
            options.append(f"alloc={self.alloc_interval_bytes}")
        if "lock" in self.events:
            options.append(f"lock={LOCK_THRESHOLD}")
        return ",".join(options)


def _library_folder() -> str:
    if sys.platform == "darwin":
        return "macos"
    return "linux-arm64" if platform.machine() in ("aarch64", "arm64") else "linux-x64"


@dataclass(frozen=True, slots=True)
class Profiler:
    """async-profiler as delivered by Maven: `jars` holds async-profiler.jar and jfr-converter.jar."""

    jdk: Jdk
    jars: Path

    @property
    def library(self) -> Path:
        return self.jars / "libasyncProfiler.so"

    def _extract(self) -> Path:
        if not self.library.exists():
            member = f"{_library_folder()}/libasyncProfiler.so"
            with zipfile.ZipFile(self.jars / "async-profiler.jar") as jar:
                temporary = self.library.with_suffix(".new")
                temporary.write_bytes(jar.read(member))
                temporary.replace(self.library)
        return self.library

    def _agent(self, pid: int, options: str) -> str:
        # jcmd splits its argument at commas unless it is in quotes of its own
        command = [str(self.jdk.tool("jcmd")), str(pid), "JVMTI.agent_load", str(self._extract()), f'"{options}"']
        done = finished(command, _TIMEOUT_S)
        return (done.stdout + done.stderr).strip()

    def start(self, pid: int, spec: ProfileSpec, recording: Path) -> None:
        """Begin recording. Raises MeasureError with the profiler's own words when it or the kernel refuses."""
        log = recording.with_suffix(".log")
        answer = self._agent(pid, spec.agent_options(recording, log))
        if "return code: 0" not in answer:
            detail = log.read_text(errors="replace").strip() if log.exists() else ""
            raise MeasureError(
                f"async-profiler on pid {pid}",
                f"did not start ({detail or answer})",
                "see `lab doctor` for perf_event_paranoid and the engines that work here, or run with profile=none",
            )

    def stop(self, pid: int) -> None:
        """End recording and complete the file."""
        self._agent(pid, "stop")

    def _converter(self, flags: Sequence[str], recording: Path, out: Path) -> None:
        """Replace `out` by what the converter writes; where it fails there is none."""
        java, new = [str(self.jdk.java), "-Xshare:auto", "-XX:TieredStopAtLevel=1"], out.with_suffix(".new")
        out.unlink(missing_ok=True)
        done = finished([*java, "-jar", str(self._converter_jar), *flags, str(recording), str(new)], _TIMEOUT_S)
        if done.returncode != 0 or not new.exists():
            raise MeasureError(
                f"{recording.name} to {out.name}",
                f"the converter failed ({(done.stdout + done.stderr).strip()[-500:]})",
                "the recording is kept; convert it by hand or run the step again",
            )
        new.replace(out)

    def flame_graph(self, recording: Path, event: str, title: str, window_ms: tuple[int, int], html: Path) -> None:
        """Write the flame graph of one event, for that stretch of wall-clock time only.

        The event's own flag is always given: a recording of allocations converted without it has no stacks.
        """
        span = [f"--{event}", "--from", str(window_ms[0]), "--to", str(window_ms[1])]
        total = [] if event == "cpu" else ["--total"]
        self._converter(
            ["-o", "html", *span, *total, "--norm", "--minwidth", "0.05", "--title", title], recording, html
        )

    def flame_graph_of_stacks(self, collapsed: Path, title: str, html: Path) -> None:
        """Write the flame graph of collapsed stacks, whoever recorded them."""
        self._converter(["-o", "html", "--minwidth", "0.05", "--title", title], collapsed, html)

    def heat_map(self, recording: Path, event: str, title: str, window_ms: tuple[int, int], html: Path) -> None:
        """Write when the samples of one event were taken, in that stretch of wall-clock time."""
        span = [f"--{event}", "--from", str(window_ms[0]), "--to", str(window_ms[1])]
        self._converter(["-o", "heatmap", *span, "--norm", "--title", title], recording, html)

    def difference(self, collapsed: Path, other: Path, title: str, html: Path) -> None:
        """Write the flame graph of collapsed stacks, coloured by what the other profile has of them.

        The converter compares counts and thread numbers: so the other's samples are scaled to as many, without threads.
        """
        own, base = _without_threads(collapsed), _without_threads(other)
        scale = own.total() / max(1, base.total())
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder, "base.collapsed"), Path(folder, "own.collapsed")
            for file, stacks in zip(files, (Counter({s: round(n * scale) for s, n in base.items()}), own), strict=True):
                _write_collapsed(stacks, file)
            title = f"{title} (red: more, blue: less, yellow: only here)"
            flags = ["-o", "html", "--diff", "--minwidth", "0.05", "--title", title, str(files[0])]
            self._converter(flags, files[1], html)

    def timed_stacks(self, recording: Path, events: Sequence[str], window_ms: tuple[int, int], out: Path) -> None:
        """Write every sample of those events with its time; the converter's own formats add them up over time."""
        class_path = os.pathsep.join((str(self._converter_jar), str(self._timed_stacks_classes())))
        command = [str(self.jdk.java), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", class_path, "TimedStacks"]
        done = finished([*command, str(recording), str(out), *map(str, window_ms), *events], _TIMEOUT_S)
        if done.returncode != 0:
            raise MeasureError(
                f"{recording.name} to {out.name}",
                f"the samples could not be read ({(done.stdout + done.stderr).strip()[-500:]})",
                "the recording is kept; run the step again",
            )

    @property
    def _converter_jar(self) -> Path:
        return self.jars / "jfr-converter.jar"

    def _timed_stacks_classes(self) -> Path:
        """TimedStacks.java compiled, once for each version of it: with every profile it would take a second each."""
        text = resources.files("runners.trial").joinpath("TimedStacks.java").read_bytes()
        classes = self.jars / f"timed-stacks-{self.jdk.major}-{hashlib.sha256(text).hexdigest()[:12]}"
        if not classes.is_dir():
            with tempfile.TemporaryDirectory(dir=self.jars) as folder:
                source, made = Path(folder, "TimedStacks.java"), Path(folder, "classes")
                source.write_bytes(text)
                _output([str(self.jdk.tool("javac")), "-cp", str(self._converter_jar), "-d", str(made), str(source)])
                try:
                    made.rename(classes)
                except OSError:  # another run made them meanwhile
                    if not classes.is_dir():
                        raise
        return classes

    def read_back(self, recording: Path, events: Sequence[str]) -> dict[str, object]:
        """Return the recording's own settings (engine, version, interval) and how many events of each kind it holds."""
        jfr = str(self.jdk.tool("jfr"))
        settings: dict[str, str] = {}
        asked = (["print", "--json", "--events", "jdk.ActiveSetting"], ["summary"])
        with ThreadPoolExecutor(max_workers=len(asked)) as pool:
            shown, summary = pool.map(lambda words: _output([jfr, *words, str(recording)]), asked)
        for event in json.loads(shown)["recording"]["events"]:
            values = event["values"]
            settings.setdefault(str(values.get("name")), str(values.get("value")))
        counts = dict(re.findall(r"^\s*([\w.]+)\s+(\d+)\s+\d+\s*$", summary, re.M))
        return {
            "engine": settings.get("engine", "unknown"), "version": settings.get("version", "unknown"),
            "events": {event: sum(int(counts.get(name, 0)) for name in _COUNTED[event]) for event in events},
            "settings": settings,
        }  # fmt: skip


def collapse(timed: Path, event: str, out: Path) -> None:
    """Add the samples of one event up over time: `stack weight` a line, samples for cpu, else bytes or nanoseconds."""
    stacks: dict[str, str] = {}
    sums = Counter[str]()
    with timed.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            kind, rest = line.rstrip("\n").split(" ", 1)
            if kind == "S":
                number, stack = rest.split(" ", 1)
                stacks[number] = stack
                continue
            of, _unix_us, number, samples, weight = rest.split(" ")
            if of == event:
                sums[stacks[number]] += int(samples if event == "cpu" else weight)
    _write_collapsed(sums, out)


def _write_collapsed(weights: Counter[str], out: Path) -> None:
    out.write_text("".join(f"{stack} {weight}\n" for stack, weight in weights.items()), encoding="utf-8")


def _without_threads(collapsed: Path) -> Counter[str]:
    """Return the samples of each stack, in whichever thread it was seen."""
    sums = Counter[str]()
    with collapsed.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            stack, _, count = line.rpartition(" ")
            sums[_THREAD.sub("", stack)] += int(count)
    return sums


def _output(command: list[str]) -> str:
    done = finished(command, _TIMEOUT_S)
    if done.returncode != 0:
        raise MeasureError(command[0], f"failed ({done.stderr.strip()[-300:]})", "the recording may be cut short")
    return done.stdout


EVENTS = (
    "jdk.Compilation", "jdk.FileForce", "jdk.FileRead", "jdk.FileWrite", "jdk.ZAllocationStall", "lab.Flush",
    "lab.Compaction", "lab.LogSync", "lab.Stall",
)  # fmt: skip
NAME = "lab-causes"
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Recorder:
    """Starts and stops a recording in a running JVM, and turns it into JSON with the JDK's own tool."""

    jdk: Jdk

    def start(self, pid: int) -> None:
        """Begin. Raises MeasureError with the JVM's own words when it refuses."""
        with resources.as_file(resources.files("runners.trial").joinpath("causes.jfc")) as settings:
            answer = self._jcmd(pid, "JFR.start", f"name={NAME}", f"settings={settings.resolve()}", "disk=true")
        if "Started recording" not in answer:
            raise MeasureError(f"flight recorder of pid {pid}", f"did not start ({answer[-300:]})", "run without it")

    def stop(self, pid: int, recording: Path) -> None:
        """End, and write the recording. Raises MeasureError when there is none."""
        answer = self._jcmd(pid, "JFR.stop", f"name={NAME}", f"filename={recording.resolve()}")
        if not recording.exists():
            raise MeasureError(f"flight recorder of pid {pid}", f"wrote nothing ({answer[-300:]})", "run without it")

    def _jcmd(self, pid: int, *words: str) -> str:
        command = [str(self.jdk.tool("jcmd")), str(pid), *words]
        done = finished(command, _TIMEOUT_S)
        return (done.stdout + done.stderr).strip()

    def convert(self, recording: Path, out: Path) -> None:
        """Write the events as JSON: `{"events": [{"type", "startTime", "duration", "values"}]}`, oldest first.

        Raises MeasureError when the recording can't be read.
        """
        # printing a recording is one short pass: the time goes into starting a JVM, so it starts a plain one
        command = [str(self.jdk.tool("jfr")), "-J-XX:TieredStopAtLevel=1", "-J-Xshare:auto", "print", "--json"]
        command += ["--stack-depth", "1", "--events", ",".join(EVENTS), str(recording)]
        done = finished(command, _TIMEOUT_S)
        try:
            events = json.loads(done.stdout)["recording"]["events"]
        except (ValueError, KeyError) as error:
            cause = (done.stderr or str(error)).strip()[-300:]
            raise MeasureError(recording.name, f"can't be printed ({cause})", "run the step again") from error
        kept = [{"type": event["type"], "values": _plain(event["values"])} for event in events]
        kept.sort(key=lambda event: str(event["values"].get("startTime")))
        out.write_text(json.dumps({"events": kept}, indent=0) + "\n", encoding="utf-8")


def _plain(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if not isinstance(value, (dict, list))}
