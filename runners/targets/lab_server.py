"""Start and stop the lab's key-value server, or a cluster (a process per node); check that a fill stored its keys."""

import contextlib
import dataclasses
import json
import os
import secrets
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from runners.errors import MeasureError, ServerError
from runners.process.cpu_placement import compiling_anywhere
from runners.process.supervisor import HOST, Child, pinned, start
from runners.storage.schema import ServerRecord
from runners.storage.step_folder import Inside
from runners.targets.base import EXIT_CODE_S, client, death_of, log_tail
from runners.toolchain.tools import shown

READY_TIMEOUT_S = 60.0
COMPILER_TIMEOUT_S = 0.5  # a JVM has its compiler threads long before
STATUS_TIMEOUT_S = 5.0
_END_OF_OUTPUT_S = 0.5
#: Flags of every measured JVM, so that the profiler may attach to it, and gets frames between safepoints too.
PROFILABLE = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-XX:+EnableDynamicAgentLoading")

#: Without these flags JDK 25 warns of one-nio in the server's log; with them an older JDK would not start.
ONE_NIO = ("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow")

MAIN = "lab.server.Main"
CHECKED_KEYS, FILL_TIMEOUT_S = 50, 10.0


@dataclasses.dataclass(frozen=True, slots=True)
class ServerSpec:
    """The options of a server to start."""

    java: Path
    class_path: Path
    engine: str
    folder: Path  # for logs and temporary files
    data: Path  # the store's folder
    heap_mb: int = 128
    selectors: int = 0  # 0: the server's default
    port: int = 0
    cpus: tuple[int, ...] | None = None  # None: not pinned
    main_class: str = MAIN
    server_flags: tuple[str, ...] = ()
    more_jvm_flags: tuple[str, ...] = ()
    subject: str = ""  # the name in reports, by default the engine
    listen: str = "127.0.0.1"

    gc_log = Inside("gc.log", of="folder")
    log = Inside("server.log", of="folder")
    temporary = Inside("tmp", "The JVM's temporary files, which a killed one leaves behind.", of="folder")

    def jvm_flags(self) -> list[str]:
        return [
            f"-Xmx{self.heap_mb}m", *(ONE_NIO if self.main_class.startswith("lab.server.") else ()), *PROFILABLE,
            f"-Xlog:gc,safepoint:file={shown(self.gc_log)}:utctime,level,tags:filecount=0", *self.more_jvm_flags,
        ]  # fmt: skip

    def command(self) -> list[str]:
        """Return the whole command line, as it is run."""
        selectors_flag = ["--selectors", str(self.selectors)] if self.selectors and self.main_class == MAIN else []
        java = [
            shown(self.java), *self.jvm_flags(), f"-Djava.io.tmpdir={shown(self.temporary)}",
            *("-cp", shown(self.class_path / "*")), self.main_class,
            *("--engine", self.engine), *("--data", shown(self.data)), *("--host", self.listen),
            *("--port", str(self.port)), *selectors_flag, *self.server_flags,
        ]  # fmt: skip
        return pinned(java, self.cpus)


class RunningServer:
    """A server of the lab, ready once the object exists. `ready` is its first line of output, parsed from JSON."""

    def __init__(self, spec: ServerSpec, child: Child, ready: dict[str, Any]) -> None:
        self.spec, self.child, self.ready = spec, child, ready
        self.pid, self.url = int(ready["pid"]), f"http://{spec.listen}:{ready['port']}"
        self.engine, self.subject, self.pids = spec.engine, spec.subject or spec.engine, (self.pid,)
        self.log, self.gc_log, self.data = spec.log, spec.gc_log, spec.data

    def alive(self) -> bool:
        return self.child.poll() is None

    def ended_within(self, timeout_s: float) -> bool:
        return self.child.wait_up_to(timeout_s)

    def exit_code(self) -> int | None:
        return self.child.poll()

    def record(self) -> ServerRecord:
        cpus, flags = self.spec.cpus or None, tuple(self.spec.jvm_flags())
        return ServerRecord(command=self.child.command, cpus=cpus, ready=self.ready, jvm_flags=flags)

    def status(self) -> dict[str, Any]:
        if not self.alive():
            raise self.death()
        try:
            with client(STATUS_TIMEOUT_S) as http:
                status: dict[str, Any] = http.get(f"{self.url}/v0/status").json()
        except (httpx.HTTPError, ValueError) as error:
            broken = isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError)
            if broken and self.child.wait_up_to(EXIT_CODE_S):  # the server may have died just now
                raise self.death() from error
            thing = f"server {self.engine} on {self.url}"
            raise ServerError(thing, f"gives no status ({error})", "launch it again") from error
        if status.get("instance") != self.ready["instance"]:
            cause = f"another server responds here (instance {status.get('instance')}, not {self.ready['instance']})"
            raise ServerError(self.url, cause, "stop that one, or let the lab choose a free port (port=0)")
        return status

    def death(self) -> ServerError:
        return death_of(f"server {self.engine} (pid {self.pid})", self.child, self.spec.log)

    def stop(self) -> int:
        """Stop the server cleanly (SIGTERM, everything flushed); return the exit code. May be called twice."""
        try:
            return self.child.stop()
        finally:
            shutil.rmtree(self.spec.temporary, ignore_errors=True)


def _read_ready_line(child: Child, timeout_s: float) -> bytes:
    deadline, out, line = time.monotonic() + timeout_s, child.stdout.fileno(), b""
    while not line.endswith(b"\n") and select.select([out], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not (more := os.read(out, 65536)):
            break
        line += more
    return line


def launch(spec: ServerSpec, *, under_load: bool = False) -> RunningServer:
    """Start a server and wait until it is ready. Raises ServerError, with its last log lines, if it does not get ready.

    Until it is ready, the JVM's compiler threads may use every core; with `under_load`, only the server's cores.
    """
    spec.folder.mkdir(parents=True, exist_ok=True)
    spec.data.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(spec.temporary, ignore_errors=True)
    spec.temporary.mkdir()
    arguments, free = spec.command(), bool(spec.cpus) and not under_load
    with spec.log.open("wb") as log:
        child = start(arguments, stdout=subprocess.PIPE, stderr=log)
    with contextlib.ExitStack() as failed:
        failed.callback(shutil.rmtree, spec.temporary, ignore_errors=True)
        failed.callback(child.stop)
        with compiling_anywhere(child.pid, COMPILER_TIMEOUT_S) if free else contextlib.nullcontext():
            line = _read_ready_line(child, READY_TIMEOUT_S)
        ready: Any = None
        with contextlib.suppress(ValueError):
            ready = json.loads(line) if line.endswith(b"\n") else None
        if not isinstance(ready, dict) or ready.get("event") != "ready":
            if child.wait_up_to(0 if line else _END_OF_OUTPUT_S):  # its output may be closed before it has ended
                cause = f"ended at its start with exit code {child.poll()}"
            elif line:
                cause = f"printed {line[:200]!r} where its ready line should be"
            else:
                cause = f"was not ready after {READY_TIMEOUT_S:g} s"
            child.stop()
            remedy = "correct what they name; the command was: " + shlex.join(arguments)
            raise ServerError(f"server {spec.engine}", f"{cause}; its last lines:\n{log_tail(spec.log)}", remedy)
        failed.pop_all()
    return RunningServer(spec, child, ready)


class RunningNodes(RunningServer):
    """A cluster whose nodes, numbered from 0, are processes; the first node is loaded and observed."""

    def __init__(self, nodes: list[RunningServer]) -> None:
        super().__init__(nodes[0].spec, nodes[0].child, nodes[0].ready)
        self.nodes = nodes

    def kill(self, place: int) -> None:
        """Kill the node `place` (from 0), as a crash would; its data stay."""
        self.nodes[place].child.kill()
        shutil.rmtree(self.nodes[place].spec.temporary, ignore_errors=True)

    def start_again(self, place: int) -> None:
        """Start the ended node `place` (not 0, the first) on its port and data. Raises ServerError if that fails."""
        ended = self.nodes[place]
        ended.stop()
        spec = dataclasses.replace(ended.spec, folder=ended.spec.folder / "again")
        self.nodes[place] = launch(spec, under_load=True)

    def stop(self) -> int:
        """Stop every node cleanly, the first one last. May be called twice."""
        with contextlib.ExitStack() as stopping:
            for node in self.nodes:
                stopping.callback(node.stop)
        return self.child.stop()


def launch_nodes(spec: ServerSpec, ports: Sequence[int]) -> RunningNodes:
    """Start a node on each port, in subfolders of the folders in `spec`; return the cluster. Stop all if one fails."""
    urls = [f"http://{HOST}:{port}" for port in ports]
    spec.data.mkdir(parents=True, exist_ok=True)
    secret = spec.data / "cluster-secret"  # by which nodes recognise each other's requests
    secret.unlink(missing_ok=True)
    secret.touch(0o600)
    secret.write_text(secrets.token_hex(32), encoding="ascii")
    common = (*spec.server_flags, f"--topology={','.join(urls)}", f"--cluster-secret-file={shown(secret)}")
    nodes: list[RunningServer] = []
    with contextlib.ExitStack() as stopping:
        for place, (port, url) in enumerate(zip(ports, urls, strict=True), start=1):
            home, data = spec.folder / f"node-{place}", spec.data / f"node-{place}"
            flags = (*common, f"--self={url}")
            own = dataclasses.replace(spec, folder=home, data=data, port=port, server_flags=flags, listen=HOST)
            nodes.append(launch(own))
            stopping.callback(nodes[-1].stop)
        stopping.pop_all()
    return RunningNodes(nodes)


def check_filled(url: str, engine: str, keys: int) -> None:
    """Raise MeasureError if the store behind `url` lacks id 1, id `keys`, or one of about 50 ids in between."""
    step = max(1, keys // CHECKED_KEYS)
    with client(FILL_TIMEOUT_S) as http:
        for key in [*range(1, keys + 1, step), keys]:
            status = http.get(f"{url}/v0/entity?id={key}").status_code
            if status != httpx.codes.OK:
                cause = f"id {key} of 1..{keys} gets status {status} after the fill"
                remedy = "see the server's log; the store may have refused writes"
                raise MeasureError(f"store {engine}", cause, remedy)
