"""The JDK's own flight recorder, with few events: what the store, the compiler and the disk did while a load ran.

async-profiler's recordings hold none of these, and they are wanted where latency is quoted, without a profiler. What
this recording costs is measured (runners/docs/0012-light-recording.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from runners.errors import MeasureError
from runners.process.supervisor import finished
from runners.toolchain.tools import Jdk

EVENTS = (
    "jdk.Compilation",
    "jdk.FileForce",
    "jdk.FileRead",
    "jdk.FileWrite",
    "jdk.ZAllocationStall",
    "lab.Flush",
    "lab.Compaction",
    "lab.LogSync",
    "lab.Stall",
)
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
    """The fields that hold one number, text or nothing."""
    return {name: value for name, value in values.items() if not isinstance(value, (dict, list))}
