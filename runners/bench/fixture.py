"""Give benchmarks a fixture: a server that stores nothing, a generator on cores of its own, one run of it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runners.bench.calm import Calm
from runners.bench.row import NoFigure, Row, keep
from runners.process.supervisor import pinned
from runners.targets.lab_server import MAIN, RunningServer, ServerSpec, launch
from runners.toolchain.tools import ROOT, TRUEPACE
from runners.toolchain.workshop import Workshop, prepare
from runners.trial import machine

DURATION_S = 3
WARMUP_S = 1
CONNECTIONS = 64
_TIMEOUT_S = 60.0
#: What the generator's JSON says of a run.
Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fixture:
    """Where the servers come from, which cores are whose, and the watch over what else runs."""

    shop: Workshop
    folder: Path
    server_cpus: tuple[int, ...] | None
    generator_cpus: tuple[int, ...] | None
    calm: Calm = field(default_factory=Calm)

    def spec(self, name: str, flags: Sequence[str] = (), main_class: str = MAIN) -> ServerSpec:
        """How a server of this name is started. Both of a pair get the same cores."""
        return ServerSpec(
            self.shop.jdk.java,
            self.shop.server.dist,
            "noop",
            self.folder / name / "server",
            self.folder / name / "data",
            cpus=self.server_cpus,
            taskset=machine.taskset(),
            main_class=main_class,
            server_flags=tuple(flags),
        )

    @contextmanager
    def running(self, spec: ServerSpec) -> Iterator[RunningServer]:
        """A server as long as the context lasts."""
        server = launch(spec)
        self.calm.server_pids.append(server.pid)
        try:
            yield server
        finally:
            self.calm.server_pids.remove(server.pid)
            server.stop()

    def load(
        self,
        target: Sequence[str],
        duration_s: int = DURATION_S,
        connections: int = CONNECTIONS,
        rate_rps: int | None = None,
        warmup_s: float = WARMUP_S,
    ) -> Result:
        """One run of our generator against a target (an address, or a script and what it needs); its JSON.

        A closed loop if no rate is given.
        """
        out = self.folder / "load.json"
        subprocess.run(
            pinned(
                command(target, duration_s, connections, rate_rps, out, warmup_s),
                self.generator_cpus,
                machine.taskset(),
            ),
            capture_output=True,
            timeout=duration_s + _TIMEOUT_S,
            cwd=ROOT,
            check=True,
        )
        result: Result = json.loads(out.read_text())
        return result

    def keep(self, name: str, rows: Sequence[Row | NoFigure], **about: object) -> None:
        """Keep the rows as JSON, with the machine, the tools and what else is said of them, and tell where."""
        kept = keep(name, rows, {"machine": machine.facts(), "tools": self.shop.versions(), **about})
        print(f"kept in {kept}")


def command(
    target: Sequence[str],
    duration_s: int,
    connections: int,
    rate_rps: int | None,
    out: Path,
    warmup_s: float = WARMUP_S,
) -> list[str]:
    """The generator's command line for one run."""
    rate = ["-R", str(rate_rps)] if rate_rps else []
    flags = ["-t1", f"-c{connections}", f"-d{duration_s}s", "--warmup", f"{warmup_s}s", *rate, "--json", str(out)]
    return [str(TRUEPACE), *flags, *target]


@contextmanager
def fixture() -> Iterator[Fixture]:
    """Builds what is needed, says what is unusual about the machine, and leaves no folder behind."""
    shop = prepare("truepace", print)
    server_cpus, generator_cpus = machine.pinning()
    for warning in machine.noise(machine.facts()):
        print(f"Unusual today: {warning['text']} ({warning['remedy']})")
    with tempfile.TemporaryDirectory() as folder:
        yield Fixture(shop, Path(folder), server_cpus, generator_cpus)
