"""Try what can only be known by trying: does a server start, on which transport, and which engine profiles it?"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from runners.errors import LabError
from runners.targets.lab_server import RunningServer, ServerSpec, launch
from runners.toolchain.build import DIST, PROFILER_JARS
from runners.toolchain.tools import require_jdk
from runners.trial.profiler import Profiler, ProfileSpec


@dataclass(frozen=True, slots=True)
class Tried:
    """What a short-lived server told. `profiler` None: it was refused, see the remedy."""

    transport: str
    one_nio: str
    profiler: str | None
    profiler_remedy: str = ""


def try_server() -> Tried:
    """Start a server that stores nothing, profile it for an instant, stop it. Raises ServerError."""
    jdk = require_jdk()
    with tempfile.TemporaryDirectory(prefix="lab-") as name:
        folder = Path(name)
        server = launch(ServerSpec(jdk.java, DIST, "noop", folder / "server", folder / "data"))
        try:
            profiler, remedy = _try_profiler(Profiler(jdk, PROFILER_JARS), server, folder / "profile.jfr")
            return Tried(str(server.ready["transport"]), str(server.ready["one_nio"]), profiler, remedy)
        finally:
            server.stop()


def _try_profiler(profiler: Profiler, server: RunningServer, recording: Path) -> tuple[str | None, str]:
    try:
        profiler.start(server.pid, ProfileSpec.for_load(("cpu",), 1_000, 1.0), recording)
        server.status()
        profiler.stop(server.pid)
        told = profiler.read_back(recording, ("cpu",))
    except LabError as error:
        return None, str(error)
    return f"{told['version']}, engine {told['engine']}", ""
