"""Any server, by its `target.yaml`: start its command or find it running, wait until it is ready, stop all of it."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from runners.design.target import EXTERNAL, LOOPBACK, PORT, SOCKET, FromEnvironment, TargetFile
from runners.errors import PlanError, ServerError, ToolError
from runners.process.cpu_placement import usable_cpus
from runners.process.supervisor import Child, in_a_row, pinned, start
from runners.storage.schema import ServerRecord
from runners.targets.base import client, death_of, log_tail

_LOOK_S = 0.02  # nobody tells when a foreign server is ready: it is looked at
_QUESTION_S = 2.0
_END_S = 0.2
_PORTS = {"http": 80, "https": 443}


@dataclass(slots=True)
class RunningTarget:
    """A server that was ready when this was made. `child` None: it ran already, and goes on when the lab ends.

    `place` is the folder of what `{socket}` stood for.
    """

    file: TargetFile
    folder: Path
    child: Child | None
    command: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None
    name: str = ""
    engine: str = EXTERNAL
    place: tempfile.TemporaryDirectory[str] | None = None

    @property
    def subject(self) -> str:
        return self.name or self.file.name

    @property
    def url(self) -> str:
        return self.file.base_url

    @property
    def pprof_url(self) -> str:
        """Where a Go server gives its own profile; empty for any other."""
        return f"{self.url}{self.file.target.pprof}" if self.file.target.pprof else ""

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.child.pid,) if self.child else ()

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def data(self) -> Path | None:
        return self.file.data

    @property
    def left_out(self) -> tuple[str, ...]:
        """What a server gives of itself, and of one that the lab did not start also what its processes use."""
        started = () if self.child else ("processor time and memory of its processes", "its output")
        return ("log of a JVM", "counters of a store", *started)

    def status(self) -> dict[str, Any]:
        """Check that its process lives and that its port is open; it tells no status."""
        if not self.alive():
            raise self.death()
        if not _open(self.file):
            if self.child and self.child.wait_up_to(_END_S):
                raise self.death()
            raise ServerError(f"target {self.subject}", f"nothing answers on {self.url}", "see whether it still runs")
        return {}

    def alive(self) -> bool:
        return self.child is None or self.child.poll() is None

    def ended_within(self, timeout_s: float) -> bool:
        return self.child.wait_up_to(timeout_s) if self.child else not _open(self.file)

    def exit_code(self) -> int | None:
        return self.child.poll() if self.child else None

    def death(self) -> ServerError:
        if self.child is None:
            return ServerError(f"target {self.subject}", f"nothing answers on {self.url}", "start it, then run again")
        return death_of(f"target {self.subject} (pid {self.child.pid})", self.child, self.log)

    def record(self) -> ServerRecord:
        categories = {str(name): patterns for name, patterns in self.file.target.categories.items()}
        return ServerRecord(command=self.command, cpus=self.cpus, left_out=self.left_out, categories=categories)

    def stop(self) -> int:
        """Stop it and all that it started. May be called twice; does nothing to a server that ran already."""
        code = self.child.stop() if self.child else 0
        shutil.rmtree(self.folder / "data", ignore_errors=True)  # what {data} stood for
        if self.place is not None:
            self.place.cleanup()
        return code


def resolved(values: Mapping[str, str | FromEnvironment]) -> dict[str, str]:
    """Values with the secrets of the lab's environment. Raises PlanError for a variable that is not set."""
    found = {}
    for name, value in values.items():
        if isinstance(value, FromEnvironment):
            secret = os.environ.get(value.name)
            if secret is None:
                cause = f"the lab's environment has no variable {value.name}"
                raise PlanError(
                    f"{name}: {{from: {value.name}}}", cause, f"export {value.name}=… before the lab starts"
                )
            if not secret.isprintable():
                raise PlanError(f"variable {value.name}", "it holds a line break", "set it without one")
            value = value.prefix + secret
        found[name] = value
    return found


def launch(
    file: TargetFile,
    folder: Path,
    cpus: Sequence[int] | None = None,
    taskset: Path | None = None,
    name: str = "",
    engine: str = EXTERNAL,
    listen: str = LOOPBACK,
) -> RunningTarget:
    """Start a target on an empty data folder, or find it running, and wait until it is ready.

    `cpus` are those of the lab's servers; its own go first. `name` is what reports call this process, if not by the
    target's name. Raises PlanError for what can't be, ServerError with the server's last lines.
    """
    resolved(file.target.headers)
    folder.mkdir(parents=True, exist_ok=True)
    own_data = folder.resolve() / "data"
    own_data.mkdir(exist_ok=True)
    # the path of a socket has room for a hundred letters, which a run's folder may fill
    place = tempfile.TemporaryDirectory(prefix="lab-") if SOCKET in file.target.url else None
    own_socket = Path(place.name if place else "", "socket")
    file = file.placed(in_a_row(1) if PORT in file.target.url else 0, own_data, own_socket, listen)
    target = file.target
    if target.command is None:
        running = RunningTarget(file, folder, None, name=name, engine=engine)
    else:
        environment = {**os.environ, **resolved(target.environment)}
        own = _cores(file) or cpus
        if not file.directory.is_dir():
            raise PlanError(f"{file.path}, key directory", f"{file.directory} is no folder", "name one that is there")
        if _open(file):
            cause = f"something answers on {target.url} before it was started"
            raise ServerError(f"target {file.name}", cause, "stop that, or leave out `command` to load what runs there")
        _empty(file)
        command = pinned(target.command, own, taskset)
        bound = tuple(own) if own and taskset else None
        running = RunningTarget(file, folder, None, tuple(command), bound, name, engine, place)
        with running.log.open("wb") as log:
            try:
                running.child = start(
                    command,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    directory=file.directory,
                    stop_signal=target.stop_signal,
                )
            except ToolError as error:
                raise PlanError(f"{file.path}, key command", f"{error.thing} {error.cause}", error.remedy) from error
    try:
        _await_ready(running)
        if target.fill is not None and target.fill.command:
            about = f"{file.path}, key fill.command"
            variables = {**os.environ, **resolved(target.environment)}
            _to_its_end(about, target.fill.command, file, folder / "fill.log", variables, target.fill.timeout_s)
    except BaseException:
        running.stop()
        raise
    return running


def build(file: TargetFile, log: Path) -> None:
    """Run a target's `build` in its folder. Raises PlanError with its last lines when it fails."""
    if file.target.build:
        log.parent.mkdir(parents=True, exist_ok=True)
        _to_its_end(f"{file.path}, key build", file.target.build, file, log)


def _to_its_end(
    where: str,
    command: Sequence[str],
    file: TargetFile,
    log: Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> None:
    """Run a command in the target's folder until it ends. Raises PlanError with its last lines when it fails."""
    try:
        with log.open("wb") as out:
            child = start(command, stdout=out, stderr=out, env=environment, directory=file.directory)
    except (ToolError, OSError) as error:
        raise PlanError(where, f"{command[0]} can't be started in {file.directory} ({error})", "mend it") from error
    try:
        code = child.wait(timeout_s)
    except subprocess.TimeoutExpired as error:
        cause = f"it did not end in {timeout_s:g} s; its last lines:\n{log_tail(log)}"
        raise PlanError(where, cause, "mend it, or give it a longer `timeout_s`") from error
    finally:
        child.stop()
    if code != 0:
        raise PlanError(
            where, f"it ended with exit code {code}; its last lines:\n{log_tail(log)}", "mend what they name"
        )


def _cores(file: TargetFile) -> tuple[int, ...]:
    there = usable_cpus()
    if missing := [cpu for cpu in file.target.cpus if there and cpu not in there]:
        cause = f"core {missing[0]} is not among those that the lab may use"
        raise PlanError(f"{file.path}, key cpus", cause, f"choose of {', '.join(map(str, there))}")
    return file.target.cpus


def _empty(file: TargetFile) -> None:
    """Empty the data folder. Raises PlanError for one that lies elsewhere, by a link, or holds the target itself."""
    if file.data is None:
        return
    data = file.data.resolve()
    if file.directory not in data.parents or file.path.is_relative_to(data):
        cause = f"{data} does not lie below {file.directory}, or holds {file.path.name}"
        raise PlanError(f"{file.path}, key data", cause, "name a folder of its own, for it is emptied")
    if data.exists() and not data.is_dir():
        raise PlanError(f"{file.path}, key data", f"{data} is no folder", "name a folder")
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True, exist_ok=True)


def _open(file: TargetFile, port: int | None = None) -> bool:
    if file.socket is not None and port is None:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(_QUESTION_S)
            asking.connect(str(file.socket))
            return True
        return False
    address = urlsplit(file.target.url)
    with contextlib.suppress(OSError):
        at = port or address.port or _PORTS[address.scheme]
        with socket.create_connection((address.hostname or "127.0.0.1", at), timeout=_QUESTION_S):
            return True
    return False


def _await_ready(running: RunningTarget) -> None:
    file, ready = running.file, running.file.target.ready
    timeout_s = ready.timeout_s if ready else 60.0
    deadline = time.monotonic() + timeout_s
    while True:
        ended = running.child is not None and running.child.poll() is not None
        if not ended and _ready(running):
            return
        if not ended and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
            continue
        cause = f"ended at its start with exit code {running.exit_code()}" if ended else f"not ready in {timeout_s:g} s"
        if running.child is None:
            raise ServerError(f"target {file.name}", f"{cause}: {_wanted(file)}", "start it, then run again")
        raise ServerError(
            f"target {file.name}",
            f"{cause} ({_wanted(file)}); its last lines:\n{log_tail(running.log)}",
            f"mend what they name, or `ready` in {file.path}; the command was: {shlex.join(running.command)}",
        )


def _wanted(file: TargetFile) -> str:
    ready = file.target.ready
    if ready and ready.url:
        return f"status {ready.status} of {file.target.url.rstrip('/')}{ready.url}"
    if ready and ready.line:
        return f"a line with {ready.line!r}"
    return f"port {ready.port}" if ready and ready.port else f"the port of {file.target.url}"


def _ready(running: RunningTarget) -> bool:
    file, ready = running.file, running.file.target.ready
    if ready and ready.line:
        with contextlib.suppress(OSError):
            return ready.line in running.log.read_text(encoding="utf-8", errors="replace")
        return False
    if ready and ready.url:
        # certificates are not checked, as the generator does not either: a server under test often signs its own
        with contextlib.suppress(httpx.HTTPError), client(_QUESTION_S, verify=False, socket=file.socket) as asking:
            base = "http://localhost" if file.socket is not None else running.url
            answered = asking.get(base + ready.url, headers=resolved(file.target.headers))
            return answered.status_code == ready.status
        return False
    return _open(file, ready.port if ready else None)
