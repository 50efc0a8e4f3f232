"""A server that a `target.yaml` describes: start it or use a running one, wait, stop it, check out a revision of it."""

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec

from runners.design.description import LOOPBACK, PORT
from runners.design.target import EXTERNAL, TargetFile, read_target
from runners.errors import LabError, PlanError, ServerError, ToolError
from runners.process.supervisor import Child, free_port, pinned, start
from runners.storage.schema import ServerRecord
from runners.targets.base import client, death_of, log_tail
from runners.targets.preflight import QUESTION_S, cores_of, is_open, require_directory, require_free, resolved
from runners.toolchain.tools import require_tool

_LOOK_S = 0.02
_START_S, _RUNNING_S = 60.0, 5.0  # time to get ready: a server that is started here, one that runs already
_END_S = 0.2


class RunningTarget:
    """A server of a target.yaml, ready once the object exists."""

    child: Child | None = None  # None: the lab neither started nor stops it
    cpus: tuple[int, ...] | None = None

    def __init__(self, file: TargetFile, folder: Path, name: str, engine: str) -> None:
        self.file, self.folder, self.engine = file, folder, engine
        self.subject, self.url, self.data = name or file.name, file.target.url.rstrip("/"), file.data
        self.pprof_url = f"{self.url}{file.target.pprof}" if file.target.pprof else ""  # a Go server's own profile
        self.log = folder / "server.log"

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.child.pid,) if self.child else ()

    def status(self) -> dict[str, Any]:
        """Return {}. Raises ServerError unless the server's process lives and its port is open."""
        if not self.alive():
            raise self.death()
        if not is_open(self.file):
            if self.child and self.child.wait_up_to(_END_S):
                raise self.death()
            raise ServerError(f"target {self.subject}", f"nothing responds on {self.url}", "see whether it still runs")
        return {}

    def alive(self) -> bool:
        return self.child is None or self.child.poll() is None

    def ended_within(self, timeout_s: float) -> bool:
        return self.child.wait_up_to(timeout_s) if self.child else not is_open(self.file)

    def exit_code(self) -> int | None:
        return self.child.poll() if self.child else None

    def death(self) -> ServerError:
        if self.child is None:
            return ServerError(f"target {self.subject}", f"nothing responds on {self.url}", "start it, then run again")
        return death_of(f"target {self.subject} (pid {self.child.pid})", self.child, self.log)

    def record(self) -> ServerRecord:
        unstarted = () if self.child else ("processor time and memory of its processes", "its output")
        left_out = ("log of a JVM", "counters of a store", *unstarted)
        categories = {str(name): patterns for name, patterns in self.file.target.categories.items()}
        command = self.child.command if self.child else ()
        return ServerRecord(command=command, cpus=self.cpus, left_out=left_out, categories=categories)

    def stop(self) -> int:
        """Stop the server and its children if the lab started it; return its exit code, else 0. May be called twice."""
        code = self.child.stop() if self.child else 0
        shutil.rmtree(self.folder / "data", ignore_errors=True)  # the folder that {data} stands for
        return code


def launch(
    file: TargetFile,
    folder: Path,
    cpus: Sequence[int] | None = None,
    name: str = "",  # in reports; empty: the description's
    engine: str = EXTERNAL,  # in the record
    listen: str = LOOPBACK,  # the address that the server is to listen on
) -> RunningTarget:
    """Start a target on an empty data folder, or use one that runs already, and wait until it is ready.

    `cpus`: the cores to use if the description names none. Raises PlanError, or ServerError if it does not get ready.
    """
    resolved(file.target.headers)
    own_data = folder.resolve() / "data"
    own_data.mkdir(parents=True, exist_ok=True)
    file = file.placed(free_port() if PORT in file.target.url else 0, own_data, listen)
    target = file.target
    environment = {**os.environ, **resolved(target.environment)}
    running = RunningTarget(file, folder, name, engine)
    if target.command is not None:
        own = cores_of(file) or cpus
        require_directory(file)
        require_free(file)
        _empty_data_folder(file)
        command = pinned(target.command, own)
        running.cpus = tuple(own) if own else None
        with running.log.open("wb") as log:
            streams: dict[str, Any] = {"stdout": log, "stderr": log, "stop_signal": target.stop_signal}
            try:
                running.child = start(command, env=environment, directory=file.directory, **streams)
            except ToolError as error:
                raise PlanError(f"{file.path}, key command", f"{error.thing} {error.cause}", error.remedy) from error
    try:
        _await_ready(running)
        if target.fill is not None and target.fill.command:
            key, log_path = f"{file.path}, key fill.command", folder / "fill.log"
            _run_to_end(key, target.fill.command, file, log_path, environment, target.fill.timeout_s)
    except BaseException:
        running.stop()
        raise
    return running


def build(file: TargetFile, log: Path) -> None:
    """Run the `build` command of a target in its directory. Raises PlanError, with its last output, if it fails."""
    if file.target.build:
        log.parent.mkdir(parents=True, exist_ok=True)
        _run_to_end(f"{file.path}, key build", file.target.build, file, log)


def _run_to_end(
    where: str, command: Sequence[str], file: TargetFile, log: Path,
    environment: Mapping[str, str] | None = None, timeout_s: float | None = None,
) -> None:  # fmt: skip
    """Run a command in the target's directory. Raises PlanError, which begins with `where`, if it fails."""
    try:
        with log.open("wb") as out:
            child = start(command, stdout=out, stderr=out, env=environment, directory=file.directory)
    except (ToolError, OSError) as error:
        raise PlanError(where, f"{command[0]} can't be started in {file.directory} ({error})", "correct it") from error
    try:
        code = child.wait(timeout_s)
    except subprocess.TimeoutExpired as error:
        cause = f"it did not end in {timeout_s:g} s; its last lines:\n{log_tail(log)}"
        raise PlanError(where, cause, "correct it, or give it a longer `timeout_s`") from error
    finally:
        child.stop()
    if code != 0:
        cause = f"it ended with exit code {code}; its last lines:\n{log_tail(log)}"
        raise PlanError(where, cause, "correct what they name")


def _empty_data_folder(file: TargetFile) -> None:
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


def _await_ready(running: RunningTarget) -> None:
    file, ready = running.file, running.file.target.ready
    timeout_s = ready.timeout_s if ready else _START_S if running.child else _RUNNING_S
    deadline = time.monotonic() + timeout_s
    while running.alive():
        if _ready(running):
            return
        if time.monotonic() >= deadline:
            break
        time.sleep(_LOOK_S)
    code = running.exit_code()
    cause = f"not ready in {timeout_s:g} s" if code is None else f"ended at its start with exit code {code}"
    wanted = f"the port of {file.target.url}"
    if ready and ready.url:
        wanted = f"status {ready.status} of {file.target.url.rstrip('/')}{ready.url}"
    elif ready and (ready.line or ready.port):
        wanted = f"a line with {ready.line!r}" if ready.line else f"port {ready.port}"
    if running.child is None:
        raise ServerError(f"target {file.name}", f"{cause}: {wanted}", "start it, then run again")
    remedy = f"correct what they name, or `ready` in {file.path}; the command was: {shlex.join(running.child.command)}"
    raise ServerError(f"target {file.name}", f"{cause} ({wanted}); its last lines:\n{log_tail(running.log)}", remedy)


def _ready(running: RunningTarget) -> bool:
    file, ready = running.file, running.file.target.ready
    if ready and ready.line:
        with contextlib.suppress(OSError):
            return ready.line in running.log.read_text(encoding="utf-8", errors="replace")
        return False
    if ready and ready.url:
        with contextlib.suppress(httpx.HTTPError), client(QUESTION_S) as http:
            return http.get(running.url + ready.url, headers=resolved(file.target.headers)).status_code == ready.status
        return False
    return is_open(file, ready.port if ready else None)


_TIMEOUT_S = 300.0
_DESCRIPTIONS = (".yaml", ".yml", ".md")  # these change the load or the documentation, not the server


def content_hash(file: TargetFile) -> str:
    """Return a SHA-256 over a target's description, its scripts and body files, and its program."""
    target, digest = file.target, hashlib.sha256(msgspec.json.encode(file.target))
    workloads = target.workloads.values()
    paths = [file.path.parent / name for load in workloads for name in (load.script, load.body_file) if name]
    names: Sequence[str] = target.command or ()  # some are files
    if target.build:  # then the program is made from the files in the directory that git tracks
        names = ()
        with contextlib.suppress(LabError):  # outside of a repository
            tracked = _git(str(file.directory), "-C", str(file.directory), "ls-files", "-z").split("\0")
            names = [name for name in tracked if name and Path(name).suffix not in _DESCRIPTIONS]
    paths += [file.directory / name for name in names]
    for path in paths:
        with contextlib.suppress(OSError, ValueError):  # an argument that is no file
            if path.is_file():
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@contextlib.contextmanager
def at_revision(file: TargetFile, revision: str, folder: Path) -> Iterator[TargetFile]:
    """Check out `revision` of the target's repository below `folder` while the body runs; yield the target there.

    This target has the description in `file`, so that old and new code start alike. Raises PlanError on failure.
    """
    where = f"--baseline {revision}"
    revised = partial(_git, where, "-C", str(file.path.parent))
    top = Path(revised("rev-parse", "--show-toplevel")).resolve()
    commit = revised("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not file.directory.is_relative_to(top) or Path(file.target.directory).is_absolute():
        cause = f"the server's directory is not given from within the repository {top}"
        raise PlanError(f"{file.path}, key directory", cause, "write it relative to the file")
    tree = folder.resolve() / f"{file.name[:28]}-{commit[:9]}"
    _remove(where, top, tree)
    tree.parent.mkdir(parents=True, exist_ok=True)
    _git(where, "-C", str(top), "worktree", "add", "--quiet", "--detach", str(tree), commit)
    try:
        own = tree / file.path.parent.relative_to(top)
        if not (tree / file.directory.relative_to(top)).is_dir():
            raise PlanError(where, f"it has no folder {file.directory.relative_to(top)}", "name a later revision")
        own.mkdir(parents=True, exist_ok=True)
        path = own / file.path.name
        given = msgspec.to_builtins(file.target) | {"name": tree.name}
        described: dict[str, Any] = {key: value for key, value in given.items() if value not in (None, [], {}, ())}
        for workload in described["workloads"].values():
            for key in ("script", "body_file"):
                if workload.get(key):  # relative to the present description
                    workload[key] = str((file.path.parent / workload[key]).resolve())
        path.write_bytes(msgspec.yaml.encode(described))
        yield read_target(path)
    finally:
        _remove(where, top, tree)


def _remove(where: str, top: Path, tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    _git(where, "-C", str(top), "worktree", "prune")


def _git(where: str, *words: str) -> str:
    git = require_tool("git", "install git, or name a second target")
    done = subprocess.run([git.path, *words], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        cause = done.stderr.strip().splitlines()[-1:] or ["there is no such revision"]
        raise PlanError(where, cause[0], "name a revision of the repository that holds the target")
    return done.stdout.strip()
