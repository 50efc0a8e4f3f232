"""Everything that must be built or found before a run: the JDK, the server, the generator."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runners.errors import LabError, ToolError
from runners.toolchain.build import (
    ServerBuild,
    build_server,
    build_truepace,
    fetch_profiler,
    lab_source_hash,
    loadgen_source_hash,
)
from runners.toolchain.tools import Jdk, Tool, find_jdk, find_tool, find_wrk, find_wrk2, require_jdk


@dataclass(frozen=True, slots=True)
class Workshop:
    """The tools of one run. `truepace` is None where only wrk2 is there, `wrk2` and `wrk` where they were not found.

    `servers` is None for a run on other servers than the lab's, `java` too, unless a JVM may be profiled: then
    `profiler_jars` has the profiler. `reference` is the crate's program of
    simplest clients and of a server that does nothing; it comes with `truepace`.
    """

    java: Jdk | None
    servers: ServerBuild | None
    truepace: Tool | None
    wrk2: Tool | None
    wrk: Tool | None = None
    reference: Tool | None = None
    profiler_jars: Path | None = None

    @property
    def jdk(self) -> Jdk:
        """The JDK of the lab's servers. Raises ToolError where this run has none."""
        return require_jdk() if self.java is None else self.java

    @property
    def server(self) -> ServerBuild:
        """The lab's servers. Raises ToolError where this run has none."""
        if self.servers is None:
            raise ToolError("the lab's own servers", "this run was begun without them", "begin one on an engine")
        return self.servers

    def jdk_of(self, major: int) -> Jdk | None:
        """The JDK of a feature release, 0 for the lab's own; None when it is not on this machine."""
        return self.java if self.java and major in (0, self.java.major) else find_jdk(major)

    def versions(self) -> dict[str, str]:
        """What the manifest says about tools."""
        found = {"python": platform.python_version(), "lab_sources": lab_source_hash()}
        if self.java is not None:
            found["java"] = f"{self.java.version} ({self.java.vendor})"
        if self.servers is not None:
            found["server_sources"] = self.servers.source_hash
        rustc = find_tool("rustc")
        for name, tool in (("truepace", self.truepace), ("wrk2", self.wrk2), ("wrk", self.wrk), ("rustc", rustc)):
            if tool is not None:
                found[name] = tool.version
        if self.truepace is not None and (sources := loadgen_source_hash()) is not None:
            found["loadgen_sources"] = sources
        return found


def truepace_tool(path: Path) -> Tool:
    """The built generator with the version it prints."""
    tool = find_tool(str(path))
    if tool is None:
        raise ToolError(str(path), "it does not run", "build it again with `lab build --force`")
    return Tool("truepace", path, tool.version.split()[-1] if tool.version else "unknown")


def _reference(truepace: Tool) -> Tool | None:
    path = truepace.path.with_name("truepace-reference")
    return Tool("truepace-reference", path, truepace.version) if path.exists() else None


def prepare(
    generator: str, say: Callable[[str], None], force: bool = False, own_servers: bool = True, profiled: bool = False
) -> Workshop:
    """Find and build. Without `own_servers` no JDK is needed where the crate's own server can take `noop`'s place.

    `profiled`: where there is a JDK, and none of our servers, the profiler is made ready for somebody's JVM.

    Raises ToolError when the main job can't run: no JDK, or no generator at all.
    """
    jdk = require_jdk() if own_servers else None
    server = build_server(jdk, say, force) if jdk is not None else None
    wrk2 = find_wrk2()
    truepace: Tool | None = None
    try:
        truepace = truepace_tool(build_truepace(say, force))
    except LabError as error:
        if wrk2 is None:
            raise ToolError(
                "load generator", f"neither ours ({error.cause}) nor wrk2 is to be had", error.remedy
            ) from error
        say(f"our load generator is not to be had ({error.cause}); wrk2 takes its place")
    if generator == "wrk2" and wrk2 is None:
        raise ToolError("wrk2", "it was not found", "put wrk2 on PATH, or run with generator=truepace")
    reference = _reference(truepace) if truepace is not None else None
    if jdk is None and (reference is None or sys.platform != "linux"):
        jdk = require_jdk()
        server = build_server(jdk, say, force)
    jars = server.profiler_jars if server is not None else None
    if server is None and profiled:
        jdk, jars = _profiler(say)
    return Workshop(jdk, server, truepace, wrk2, find_wrk(), reference, jars)


def _profiler(say: Callable[[str], None]) -> tuple[Jdk | None, Path | None]:
    """The JDK and the jars of the profiler; without either a JVM can't be profiled, which its load then says."""
    try:
        return require_jdk(), fetch_profiler(say)
    except ToolError as error:
        say(f"no profiler of JVMs: {error}")
        return None, None
