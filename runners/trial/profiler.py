"""Recordings of a JVM by async-profiler and by the JDK's own flight recorder, and their conversion.

Only async-profiler's recording names the engine that sampled `cpu`, so the recording is read back. In loads without a
profiler the flight recorder records a few events; their cost is measured (runners/docs/0012-light-recording.md).
"""

import contextlib
import hashlib
import json
import os
import platform
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Self

from runners.errors import MeasureError
from runners.process.supervisor import finished
from runners.storage.schema import ProfileRecord
from runners.storage.step_folder import StepFolder, replace_file
from runners.toolchain.tools import Jdk

TARGET_CPU_SAMPLES = 8_000
TARGET_ALLOC_SAMPLES = 5_000
#: Assumed for the choice of sampling intervals: bytes that a request allocates, the share of a core that a server uses.
BYTES_A_REQUEST = 1_500
SERVER_CPU_SHARE = 0.6
MIN_INTERVAL_NS = 250_000
MAX_INTERVAL_NS = 10_000_000
MIN_ALLOC_BYTES = 4_096
MAX_ALLOC_BYTES = 512 * 1024
LOCK_THRESHOLD = "10us"
CONVERTER = "jfr-converter.jar"
_TIMEOUT_S = 60.0
_COUNTED = {
    "cpu": ("jdk.ExecutionSample",),
    "alloc": ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"),
    "lock": ("jdk.JavaMonitorEnter", "jdk.ThreadPark"),
}


@dataclass(frozen=True, slots=True)
class ProfileSpec:
    """The kinds of event that a recording samples, and how often."""

    events: tuple[str, ...]
    cpu_interval_ns: int  # CPU time per sample
    alloc_interval_bytes: int  # allocated bytes per sample
    length_s: float = 1.0  # of the recording

    @classmethod
    def for_load(
        cls, events: tuple[str, ...], rate_rps: float, duration_s: float, server_cpu_share: float = SERVER_CPU_SHARE
    ) -> Self:
        """Return a specification that gives about TARGET_CPU_SAMPLES and TARGET_ALLOC_SAMPLES samples of a load."""
        cpu_ns = server_cpu_share * duration_s * 1e9 / TARGET_CPU_SAMPLES
        alloc_bytes = rate_rps * duration_s * BYTES_A_REQUEST / TARGET_ALLOC_SAMPLES
        interval_ns = max(MIN_INTERVAL_NS, min(MAX_INTERVAL_NS, cpu_ns))
        return cls(events, int(interval_ns), int(max(MIN_ALLOC_BYTES, min(MAX_ALLOC_BYTES, alloc_bytes))), duration_s)

    def agent_options(self, recording: Path, log: Path) -> str:
        options = ["start", "jfr", f"file={recording}", f"log={log}"]
        if "cpu" in self.events:
            options += ["event=cpu", f"interval={self.cpu_interval_ns}ns"]
        if "alloc" in self.events:
            options.append(f"alloc={self.alloc_interval_bytes}")
        if "lock" in self.events:
            options.append(f"lock={LOCK_THRESHOLD}")
        return ",".join(options)


@dataclass(frozen=True, slots=True)
class Profiler:
    """async-profiler in a JVM: start it, stop it, and convert its recording into stacks."""

    jdk: Jdk
    jars: Path  # the folder of async-profiler.jar and jfr-converter.jar
    pid: int = 0  # of the JVM; 0: none yet

    def _agent(self, options: str) -> str:
        library = self.jars / "libasyncProfiler.so"
        if not library.exists():
            folder = "linux-arm64" if platform.machine() in ("aarch64", "arm64") else "linux-x64"
            with zipfile.ZipFile(self.jars / "async-profiler.jar") as jar:
                replace_file(library, jar.read(f"{folder}/{library.name}"))
        # jcmd splits its argument at commas unless it is in quotes of its own
        return _jcmd(self.jdk, self.pid, "JVMTI.agent_load", str(library), f'"{options}"')

    def start(self, spec: ProfileSpec, folder: StepFolder) -> None:
        """Begin to record into `folder`. Raises MeasureError with the message if profiler or kernel refuses."""
        log = folder.recording.with_suffix(".log")
        answer = self._agent(spec.agent_options(folder.recording, log))
        if "return code: 0" not in answer:
            detail = log.read_text(errors="replace").strip() if log.exists() else ""
            remedy = "see `lab doctor` for perf_event_paranoid and the engines that work here, or run with profile=none"
            raise MeasureError(f"async-profiler on pid {self.pid}", f"did not start ({detail or answer})", remedy)

    def stop(self, folder: StepFolder) -> None:
        """End recording and complete the file."""
        self._agent("stop")

    def convert(self, spec: ProfileSpec, folder: StepFolder, window_ms: tuple[int, int]) -> ProfileRecord:
        """Write the stacks between two times (ms since 1970); return the record. Raises MeasureError if that fails."""
        record = self._read_back(folder.recording, spec.events)
        for event in spec.events:
            folder.collapsed(event).touch()  # an empty file means recorded without a sample, no file means not recorded
        if recorded := [event for event in spec.events if record.samples[event]]:
            self._write_timed_stacks(folder.recording, recorded, window_ms, folder.timed_stacks)
        for event in recorded:
            collapse(folder.timed_stacks, event, folder.collapsed(event))
        return record

    def _write_timed_stacks(
        self, recording: Path, events: Sequence[str], window_ms: tuple[int, int], out: Path
    ) -> None:
        class_path = f"{self.jars / CONVERTER}{os.pathsep}{self._timed_stacks_classes()}"
        java = [str(self.jdk.java), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", class_path]
        done = finished([*java, "TimedStacks", str(recording), str(out), *map(str, window_ms), *events], _TIMEOUT_S)
        if done.returncode != 0 or not out.exists():
            cause = f"the converter failed ({(done.stdout + done.stderr).strip()[-500:]})"
            remedy = "the recording is kept; convert it by hand or run the step again"
            raise MeasureError(f"{recording.name} to {out.stem}", cause, remedy)

    def _timed_stacks_classes(self) -> Path:
        text = resources.files("runners.trial").joinpath("TimedStacks.java").read_bytes()
        classes = self.jars / f"timed-stacks-{self.jdk.major}-{hashlib.sha256(text).hexdigest()[:12]}"
        if not classes.is_dir():
            with tempfile.TemporaryDirectory(dir=self.jars) as folder:
                source, made = Path(folder, "TimedStacks.java"), Path(folder, "classes")
                source.write_bytes(text)
                _output([str(self.jdk.tool("javac")), "-cp", str(self.jars / CONVERTER), "-d", str(made), str(source)])
                with contextlib.suppress(OSError):  # another run has made the folder meanwhile
                    made.rename(classes)
        return classes

    def _read_back(self, recording: Path, events: Sequence[str]) -> ProfileRecord:
        """Return the profiler's engine, version and settings as recorded, and the number of samples by event kind."""
        jfr = str(self.jdk.tool("jfr"))
        commands = (["print", "--json", "--events", "jdk.ActiveSetting"], ["summary"])
        with ThreadPoolExecutor(max_workers=len(commands)) as pool:
            shown, summary = pool.map(lambda words: _output([jfr, *words, str(recording)]), commands)
        values = [event["values"] for event in json.loads(shown)["recording"]["events"]]
        settings = {str(setting.get("name")): str(setting.get("value")) for setting in reversed(values)}
        counts = dict(re.findall(r"^\s*([\w.]+)\s+(\d+)\s+\d+\s*$", summary, re.M))
        samples = {event: sum(int(counts.get(name, 0)) for name in _COUNTED[event]) for event in events}
        engine, version = (settings.get(name, "unknown") for name in ("engine", "version"))
        return ProfileRecord(engine=engine, version=version, samples=samples, settings=settings)


def collapse(timed: Path, event: str, out: Path) -> None:
    """Write the stacks of a kind of event as lines `stack weight`: samples for cpu, bytes for alloc, ns for lock."""
    stacks, sums = dict[str, str](), Counter[str]()
    with timed.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            kind, rest = line.rstrip("\n").split(" ", 1)
            if kind == "S":
                number, stack = rest.split(" ", 1)
                stacks[number] = stack
            elif rest.startswith(f"{event} "):
                _event, _unix_us, number, samples, weight = rest.split(" ")
                sums[stacks[number]] += int(samples if event == "cpu" else weight)
    write_collapsed(sums, out)


def write_collapsed(weights: Counter[str], out: Path) -> None:
    """Write stacks with their weights, as lines `stack weight`."""
    out.write_text("".join(f"{stack} {weight}\n" for stack, weight in weights.items()), encoding="utf-8")


def _output(command: list[str]) -> str:
    done = finished(command, _TIMEOUT_S)
    if done.returncode != 0:
        raise MeasureError(command[0], f"failed ({done.stderr.strip()[-300:]})", "the recording may be cut short")
    return done.stdout


def _jcmd(jdk: Jdk, pid: int, *words: str) -> str:
    done = finished([str(jdk.tool("jcmd")), str(pid), *words], _TIMEOUT_S)
    return (done.stdout + done.stderr).strip()


EVENTS = (
    "jdk.Compilation", "jdk.FileForce", "jdk.FileRead", "jdk.FileWrite", "jdk.ZAllocationStall", "lab.Flush",
    "lab.Compaction", "lab.LogSync", "lab.Stall",
)  # fmt: skip
NAME = "lab-causes"


@dataclass(frozen=True, slots=True)
class Recorder:
    """The JDK's flight recorder in a running JVM, and the conversion of its recording into JSON."""

    jdk: Jdk

    def start(self, pid: int) -> None:
        """Begin to record. Raises MeasureError with the JVM's message if the JVM refuses."""
        with resources.as_file(resources.files("runners.trial").joinpath("causes.jfc")) as settings:
            answer = _jcmd(self.jdk, pid, "JFR.start", f"name={NAME}", f"settings={settings.resolve()}", "disk=true")
        if "Started recording" not in answer:
            raise MeasureError(f"flight recorder of pid {pid}", f"did not start ({answer[-300:]})", "run without it")

    def stop(self, pid: int, recording: Path) -> None:
        """End the recording and write it to a file. Raises MeasureError if no file was written."""
        answer = _jcmd(self.jdk, pid, "JFR.stop", f"name={NAME}", f"filename={recording.resolve()}")
        if not recording.exists():
            raise MeasureError(f"flight recorder of pid {pid}", f"wrote nothing ({answer[-300:]})", "run without it")

    def convert(self, recording: Path, out: Path) -> None:
        """Write the events as JSON `{"events": [{"type", "values"}]}`, oldest first. Raises MeasureError on failure."""
        # most of the time goes into the start of a JVM, and these flags make it short
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
