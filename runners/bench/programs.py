"""Run the Java programs of the store's benchmark, each in a process that does not outlive it."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from runners.errors import ToolError
from runners.process.supervisor import start
from runners.toolchain.tools import SERVER_JAVA, Jdk

DIST = SERVER_JAVA / "bench" / "target" / "dist"
#: No file of performance counters: the JVM maps it from a disk, which may hold a thread up.
FLAGS = (
    "-Xmx128m",
    "-XX:+PerfDisableSharedMem",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)
_TIMEOUT_S = 900.0
_LAST_LINES = 25
_REMOVING_S = 10.0
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Programs:
    """The Java programs, and the folder where stores and temporary files lie."""

    jdk: Jdk
    folder: Path

    def run(self, program: str, *arguments: object, flags: Sequence[str] = ()) -> str:
        """Run a program to its end and give what it printed."""
        temporary = f"-Djava.io.tmpdir={self.folder}"
        command = [str(self.jdk.java), *FLAGS, temporary, *flags, "-cp", f"{DIST}/*", program, *map(str, arguments)]
        with tempfile.TemporaryFile(dir=self.folder) as printed, tempfile.TemporaryFile(dir=self.folder) as errors:
            child = start(command, stdout=printed, stderr=errors)
            try:
                code = child.wait(_TIMEOUT_S)
            except subprocess.TimeoutExpired as late:
                raise ToolError(program, f"it did not end within {_TIMEOUT_S:.0f} s", "free the machine") from late
            finally:
                child.stop()
            texts = []
            for file in (printed, errors):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        if code != 0:
            last = "\n".join("".join(texts).splitlines()[-_LAST_LINES:])
            raise ToolError(program, f"it ended with {code}:\n{last}", "read the lines above")
        return texts[0]

    def result(self, name: str, *arguments: object, flags: Sequence[str] = ()) -> dict[str, Any]:
        """Run a program of ours and give the line of JSON that it prints last."""
        found: dict[str, Any] = json.loads(self.run(f"lab.bench.{name}", *arguments, flags=flags).splitlines()[-1])
        return found

    def configurations(self, engines: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Give the settings with which each engine runs."""
        lines = self.run("lab.bench.Configurations", self.folder, *engines).splitlines()
        return {found["engine"]: found["settings"] for found in map(json.loads, lines)}

    def microseconds(self, pattern: str, options: Sequence[str], parameters: dict[str, object]) -> dict[str, float]:
        """Run benchmarks of JMH and give the average time of each by its method's name."""
        out = self.folder / "jmh.json"
        given = [part for name, value in parameters.items() for part in ("-p", f"{name}={value}")]
        self.run("org.openjdk.jmh.Main", pattern, "-foe", "true", "-rf", "json", "-rff", out, *options, *given)
        return {
            run["benchmark"].rsplit(".", 1)[1]: float(run["primaryMetric"]["score"]) / 1e3
            for run in json.loads(out.read_text())
        }


@contextlib.contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """Make a folder for stores and remove it, whatever the body ends with."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-store-", dir=parent))
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


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """Turn SIGTERM, SIGINT and SIGHUP into an exit that stops processes and removes data on its way.

    Only the first counts: another Ctrl-C must not stop the cleaning up.
    """

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        for each in _ENDING:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {each: signal.signal(each, end) for each in _ENDING}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
