"""`lab doctor`: what is here, what is missing, what to install; transport and profiler are tried on a real server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners.design.report_2 import OLD_JDK
from runners.errors import LabError
from runners.targets.lab_server import RunningServer, ServerSpec, launch
from runners.toolchain.build import DIST, PROFILER_JARS
from runners.toolchain.tools import (
    CHECKOUT,
    REQUIRED_JDK,
    TRUEPACE,
    Tool,
    find_jdk,
    find_jdks,
    find_tool,
    find_wrk,
    find_wrk2,
    require_jdk,
)
from runners.trial import machine
from runners.trial.profiler import Profiler, ProfileSpec


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the examination. `fatal`: without it the main job can't run."""

    name: str
    found: str | None
    remedy: str = ""
    fatal: bool = False
    warning: bool = False

    def line(self) -> str:
        mark = "unusual" if self.warning else "ok     " if self.found else "MISSING" if self.fatal else "absent "
        text = self.found or "not found"
        return f"{mark}  {self.name:22} {text}" + (f"\n{'':33}{self.remedy}" if self.remedy else "")


def examine() -> list[Finding]:
    """Every finding, in the order in which a run needs them."""
    return [*_toolchain(), *_machine(), *_transport()]


def _toolchain() -> Iterator[Finding]:
    jdks = find_jdks()
    for jdk in jdks:
        yield Finding(f"JDK {jdk.major}", f"{jdk.version} ({jdk.vendor}) at {jdk.home}")
    try:
        yield Finding(f"JDK >= {REQUIRED_JDK}", f"{require_jdk(jdks).home} will be used")
    except LabError as error:
        yield Finding(f"JDK >= {REQUIRED_JDK}", None, error.remedy, fatal=CHECKOUT)
    if find_jdk(OLD_JDK, jdks) is None:
        yield Finding(f"JDK {OLD_JDK}", None, "optional: the published stages of experiment 02")
    cargo, wrk2 = find_tool("cargo"), find_wrk2()
    no_generator = cargo is None and wrk2 is None and not TRUEPACE.exists()
    yield _tool("Maven", find_tool("mvn"), "install Maven 3.8 or newer", fatal=CHECKOUT)
    yield _tool("cargo", cargo, "install Rust (rustup) for our generator", fatal=no_generator)
    yield _tool("wrk2", wrk2, "optional: a second generator", where=True)
    yield _tool("wrk", find_wrk(), "optional: the closed-loop peer", where=True)


def _tool(name: str, tool: Tool | None, remedy: str, *, fatal: bool = False, where: bool = False) -> Finding:
    if tool is None:
        return Finding(name, None, remedy, fatal)
    return Finding(name, f"{tool.version} at {tool.path}" if where else tool.version)


def _machine() -> Iterator[Finding]:
    facts = machine.facts()
    yield Finding("processor", f"{facts['cpu_model']}, {facts['cores']} cores, {facts['memory_bytes'] / 2**30:.0f} GiB")
    yield Finding("system", f"{facts['os']}, kernel {facts['kernel']}, clock source {facts['clocksource']}")
    yield Finding("virtual machine", facts["virtualised"] or "no")
    yield Finding("frequency governor", facts["governor"] or "none shown by the kernel")
    taskset = machine.taskset()
    yield Finding(
        "pinning", "taskset" if taskset else None, "" if taskset else "install util-linux; without it nothing is pinned"
    )
    paranoid = facts["perf_event_paranoid"]
    yield Finding(
        "perf_event_paranoid",
        None if paranoid is None else str(paranoid),
        ""
        if paranoid is not None and paranoid <= 1
        else "1 or less lets ordinary users profile the kernel's frames too",
    )
    yield Finding("kptr_restrict", None if facts["kptr_restrict"] is None else str(facts["kptr_restrict"]))
    yield Finding("glibc", facts["glibc"], "" if facts["glibc"] else "one-nio's native transport needs it")
    for warning in machine.noise(facts):
        yield Finding(warning["code"], warning["text"], warning["remedy"], warning=True)


def _transport() -> Iterator[Finding]:
    """One-nio's transport and the profiler's engine, tried on a real server where one is built."""
    if not CHECKOUT:
        yield Finding("the lab's own servers", None, "clone the project to measure them; others need only --target")
        return
    if not DIST.exists():
        yield Finding("transport, profiler", None, "run `lab build` first; then both are tried on a real server")
        return
    try:
        tried = try_server()
    except LabError as error:
        yield Finding("server", None, str(error), fatal=True)
        return
    native = tried.transport == "native"
    yield Finding(
        "one-nio transport",
        f"{tried.transport} (one-nio {tried.one_nio})",
        "" if native else "its native library did not load here; Java sockets are used, and reports say so",
    )
    yield Finding("async-profiler", tried.profiler, tried.profiler_remedy)


@dataclass(frozen=True, slots=True)
class Tried:
    """What a short-lived server shows. `profiler` None: it was refused, see the remedy."""

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
        about = profiler.read_back(recording, ("cpu",))
    except LabError as error:
        return None, str(error)
    return f"{about['version']}, engine {about['engine']}", ""
