"""Record a JVM by async-profiler and by the JDK's own flight recorder, and convert the recordings.

async-profiler's agent is loaded with the JDK's jcmd; its recording is read back, for only there stands which engine
`cpu` really used (perf_events, or a timer where the kernel refuses).

The flight recorder has few events, of the store, the compiler and the disk, which async-profiler does not record. They
are wanted where latency is quoted, without a profiler; their cost is measured (runners/docs/0012-light-recording.md).
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
from runners.storage.schema import ProfileRecord
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
    """The events of a recording, its length, and its intervals in nanoseconds of CPU time and in allocated bytes."""

    events: tuple[str, ...]
    cpu_interval_ns: int
    alloc_interval_bytes: int
    length_s: float = 1.0

    @classmethod
    def for_load(
        cls, events: tuple[str, ...], rate_rps: float, duration_s: float, server_cpu_share: float = SERVER_CPU_SHARE
    ) -> ProfileSpec:
        """Return intervals for about TARGET_CPU_SAMPLES and TARGET_ALLOC_SAMPLES over the load.

        `server_cpu_share` is the CPU time of the server per second, best taken from a load without the profiler.
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
        return _jcmd(self.jdk, pid, "JVMTI.agent_load", str(self._extract()), f'"{options}"')

    def start(self, pid: int, spec: ProfileSpec, recording: Path) -> None:
        """Begin to record. Raises MeasureError with the profiler's own words when it or the kernel refuses."""
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
        """Replace `out` by the output of the converter; where it fails there is none. Raises MeasureError."""
        new = out.with_suffix(".new")
        out.unlink(missing_ok=True)
        self._java(["-jar", str(self._converter_jar), *flags, str(recording), str(new)], recording, new)
        new.replace(out)

    def _java(self, words: Sequence[str], recording: Path, out: Path) -> None:
        done = finished([str(self.jdk.java), "-Xshare:auto", "-XX:TieredStopAtLevel=1", *words], _TIMEOUT_S)
        if done.returncode != 0 or not out.exists():
            raise MeasureError(
                f"{recording.name} to {out.stem}",
                f"the converter failed ({(done.stdout + done.stderr).strip()[-500:]})",
                "the recording is kept; convert it by hand or run the step again",
            )

    def flame_graph(self, recording: Path, event: str, title: str, window_ms: tuple[int, int], html: Path) -> None:
        """Write the flame graph of one event, within a window of wall-clock time.

        The event's own flag is always given: a recording of allocations converted without it has no stacks.
        """
        total = [] if event == "cpu" else ["--total"]
        flags = ["-o", "html", *_within(event, window_ms), *total, "--minwidth", "0.05", "--title", title]
        self._converter(flags, recording, html)

    def flame_graph_of_stacks(self, collapsed: Path, title: str, html: Path) -> None:
        """Write the flame graph of collapsed stacks, whoever recorded them."""
        self._converter(["-o", "html", "--minwidth", "0.05", "--title", title], collapsed, html)

    def heat_map(self, recording: Path, event: str, title: str, window_ms: tuple[int, int], html: Path) -> None:
        """Write the heat map of the samples of one event over a window of wall-clock time."""
        self._converter(["-o", "heatmap", *_within(event, window_ms), "--title", title], recording, html)

    def difference(self, collapsed: Path, other: Path, title: str, html: Path) -> None:
        """Write the flame graph of collapsed stacks, coloured by the difference from another profile.

        The converter compares counts and thread numbers: the other's samples are scaled to as many, without threads.
        """
        own, base = _without_threads(collapsed), _without_threads(other)
        scale = own.total() / max(1, base.total())
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder, "base.collapsed"), Path(folder, "own.collapsed")
            for file, stacks in zip(files, (Counter({s: round(n * scale) for s, n in base.items()}), own), strict=True):
                write_collapsed(stacks, file)
            title = f"{title} (red: more, blue: less, yellow: only here)"
            flags = ["-o", "html", "--diff", "--minwidth", "0.05", "--title", title, str(files[0])]
            self._converter(flags, files[1], html)

    def timed_stacks(self, recording: Path, events: Sequence[str], window_ms: tuple[int, int], out: Path) -> None:
        """Write every sample of these events with its time, which the converter's own formats leave out."""
        class_path = os.pathsep.join((str(self._converter_jar), str(self._timed_stacks_classes())))
        words = ["-cp", class_path, "TimedStacks", str(recording), str(out), *map(str, window_ms), *events]
        self._java(words, recording, out)

    @property
    def _converter_jar(self) -> Path:
        return self.jars / "jfr-converter.jar"

    def _timed_stacks_classes(self) -> Path:
        """Return the classes of TimedStacks.java, compiled once for each version of it, which takes a second."""
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

    def read_back(self, recording: Path, events: Sequence[str]) -> ProfileRecord:
        """Return the recording's own settings (engine, version, interval) and its number of events of each kind."""
        jfr = str(self.jdk.tool("jfr"))
        settings: dict[str, str] = {}
        commands = (["print", "--json", "--events", "jdk.ActiveSetting"], ["summary"])
        with ThreadPoolExecutor(max_workers=len(commands)) as pool:
            shown, summary = pool.map(lambda words: _output([jfr, *words, str(recording)]), commands)
        for event in json.loads(shown)["recording"]["events"]:
            values = event["values"]
            settings.setdefault(str(values.get("name")), str(values.get("value")))
        counts = dict(re.findall(r"^\s*([\w.]+)\s+(\d+)\s+\d+\s*$", summary, re.M))
        samples = {event: sum(int(counts.get(name, 0)) for name in _COUNTED[event]) for event in events}
        engine, version = (settings.get(name, "unknown") for name in ("engine", "version"))
        return ProfileRecord(engine=engine, version=version, samples=samples, settings=settings)


def collapse(timed: Path, event: str, out: Path) -> None:
    """Write the sums of one event over time: `stack weight` a line, samples for cpu, else bytes or nanoseconds."""
    stacks: dict[str, str] = {}
    sums = Counter[str]()
    with timed.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            kind, rest = line.rstrip("\n").split(" ", 1)
            if kind == "S":
                number, stack = rest.split(" ", 1)
                stacks[number] = stack
                continue
            sampled, _unix_us, number, samples, weight = rest.split(" ")
            if sampled == event:
                sums[stacks[number]] += int(samples if event == "cpu" else weight)
    write_collapsed(sums, out)


def write_collapsed(weights: Counter[str], out: Path) -> None:
    """Write stacks with their weights: `stack weight` a line."""
    out.write_text("".join(f"{stack} {weight}\n" for stack, weight in weights.items()), encoding="utf-8")


def _without_threads(collapsed: Path) -> Counter[str]:
    """Return the samples of each stack over all threads."""
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


def _jcmd(jdk: Jdk, pid: int, *words: str) -> str:
    done = finished([str(jdk.tool("jcmd")), str(pid), *words], _TIMEOUT_S)
    return (done.stdout + done.stderr).strip()


def _within(event: str, window_ms: tuple[int, int]) -> list[str]:
    return [f"--{event}", "--from", str(window_ms[0]), "--to", str(window_ms[1]), "--norm"]


EVENTS = (
    "jdk.Compilation", "jdk.FileForce", "jdk.FileRead", "jdk.FileWrite", "jdk.ZAllocationStall", "lab.Flush",
    "lab.Compaction", "lab.LogSync", "lab.Stall",
)  # fmt: skip
NAME = "lab-causes"


@dataclass(frozen=True, slots=True)
class Recorder:
    """Starts and stops a recording in a running JVM, and turns it into JSON with the JDK's own tool."""

    jdk: Jdk

    def start(self, pid: int) -> None:
        """Begin to record. Raises MeasureError with the JVM's own words when it refuses."""
        with resources.as_file(resources.files("runners.trial").joinpath("causes.jfc")) as settings:
            answer = _jcmd(self.jdk, pid, "JFR.start", f"name={NAME}", f"settings={settings.resolve()}", "disk=true")
        if "Started recording" not in answer:
            raise MeasureError(f"flight recorder of pid {pid}", f"did not start ({answer[-300:]})", "run without it")

    def stop(self, pid: int, recording: Path) -> None:
        """End, and write the recording. Raises MeasureError where none was written."""
        answer = _jcmd(self.jdk, pid, "JFR.stop", f"name={NAME}", f"filename={recording.resolve()}")
        if not recording.exists():
            raise MeasureError(f"flight recorder of pid {pid}", f"wrote nothing ({answer[-300:]})", "run without it")

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
        kept = []
        for event in sorted(events, key=lambda event: str(event["values"].get("startTime"))):
            values = {name: value for name, value in event["values"].items() if not isinstance(value, dict | list)}
            kept.append({"type": event["type"], "values": values})
        out.write_text(json.dumps({"events": kept}, indent=0) + "\n", encoding="utf-8")
