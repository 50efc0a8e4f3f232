"""The clients of `make bench-loadgen`: ours, the references, wrk and wrk2, each as one call that gives its figure."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.bench.calm import Calm
from runners.design.workload import SCRIPTS
from runners.process.supervisor import pinned
from runners.readers.wrk_console import read_console
from runners.targets.lab_server import RunningServer
from runners.toolchain.tools import ROOT, TRUEPACE
from runners.trial import machine

REFERENCE = TRUEPACE.with_name("truepace-reference")
DURATION_S = 4
WARMUP_S = 1
SCRIPT_S = 1
MEDIAN = 0.5
_TIMEOUT_S = 60.0
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Clients:
    """A server to load, the cores to do it from, and the watch over what else runs."""

    server: RunningServer
    cpus: tuple[int, ...] | None
    server_cpus: tuple[int, ...] | None
    calm: Calm

    @property
    def url(self) -> str:
        return f"{self.server.url}/v0/entity?id=1"

    def _run(self, command: Sequence[str]) -> str:
        done = subprocess.run(
            pinned(command, self.cpus, machine.taskset()),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            cwd=ROOT,
            check=True,
        )
        return done.stdout

    def ours(
        self,
        connections: int,
        rate_rps: int | None,
        duration_s: int = DURATION_S,
        clock: str = "kernel",
        *,
        requests_log: bool = False,
    ) -> Result:
        """One run of our generator, its JSON."""
        return self.calm.measure(lambda: self._ours(connections, rate_rps, duration_s, clock, requests_log))

    def _ours(self, connections: int, rate_rps: int | None, duration_s: int, clock: str, requests_log: bool) -> Result:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "load.json"
            rate = ["-R", str(rate_rps)] if rate_rps else []
            flags = ["-t1", f"-c{connections}", f"-d{duration_s}s", "--warmup", f"{WARMUP_S}s", *rate]
            flags += ["--receive-clock", clock]
            flags += ["--requests-log", str(Path(folder) / "requests")] if requests_log else []
            self._run([str(TRUEPACE), *flags, "--json", str(out), self.url])
            result: Result = json.loads(out.read_text())
            return result

    def reference(self, kind: str, connections: int, rate_rps: int, duration_s: int = DURATION_S) -> Result:
        """One run of a reference client, its JSON."""
        flags = ["--kind", kind, "-c", str(connections), "-d", f"{duration_s}s", "-R", str(rate_rps)]
        command = [str(REFERENCE), *flags, "--warmup", f"{WARMUP_S}s", self.url]
        result: Result = json.loads(self.calm.measure(lambda: self._run(command)))
        return result

    def script_us(self, script: str) -> float:
        """Processor time of one `request()` of one of the lab's scripts, in microseconds."""
        path = str(SCRIPTS / script)
        command = [str(REFERENCE), "--kind", "script", "-s", path, "-d", f"{SCRIPT_S}s", self.url]
        return float(json.loads(self.calm.measure(lambda: self._run(command)))["us_a_call"])

    def wrk_rps(self, wrk: Path, connections: int) -> float:
        """Requests a second of wrk in a closed loop, as its console says."""
        command = [str(wrk), "-t1", f"-c{connections}", f"-d{DURATION_S}s", self.url]
        return read_console(self.calm.measure(lambda: self._run(command))).requests_per_s or float("nan")

    def wrk2_p50_us(self, wrk2: Path, connections: int, rate_rps: int, duration_s: int) -> float:
        """The median response time of wrk2, as its console says."""
        command = [str(wrk2), "-t1", f"-c{connections}", f"-d{duration_s}s", "-R", str(rate_rps), "-L", self.url]
        console = read_console(self.calm.measure(lambda: self._run(command)))
        return console.latencies.at(MEDIAN) or float("nan")
