"""Checks of a target before anything is built or loaded: its variables, files, program, cores, and port."""

import contextlib
import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from runners.design.description import PORT, FromEnvironment
from runners.design.target import TargetFile
from runners.errors import PlanError, ServerError
from runners.process.cpu_placement import usable_cpus

QUESTION_S = 2.0


def check(file: TargetFile) -> None:
    """Raise PlanError if something that a target names is absent; ServerError if its port is wrongly open or closed."""
    target = file.target
    resolved(target.headers)
    for name, workload in target.workloads.items():
        for key in ("script", "body_file"):
            path = getattr(workload, key)
            if path is not None and not (file.path.parent / path).is_file():
                where = f"{file.path}, key workloads.{name}.{key}"
                raise PlanError(where, f"{path} is not there", "name a file, relative to this one")
    placed = file.placed(0, Path("data"))
    if target.command is None:
        if target.ready is None and not is_open(placed):  # with `ready`, the server is awaited later
            raise ServerError(f"target {file.name}", f"nothing listens on {target.url}", "start it, then run again")
        return
    environment = {**os.environ, **resolved(target.environment)}
    require_directory(file)
    program = target.command[0]
    at = file.directory / program if os.sep in program else program
    if not target.build and shutil.which(at, path=environment.get("PATH")) is None:
        where = f"{file.path}, key command"
        raise PlanError(where, f"{program} is no program that is there", "name one on PATH, or by its path")
    cores_of(file)
    if PORT not in target.url:
        require_free(placed)


def require_directory(file: TargetFile) -> None:
    """Raise PlanError if the server's working directory is not there."""
    if not file.directory.is_dir():
        raise PlanError(f"{file.path}, key directory", f"{file.directory} is no folder", "name one that is there")


def require_free(file: TargetFile) -> None:
    """Raise ServerError if something listens already on the port of a target that the lab is to start."""
    if is_open(file):
        cause = f"something listens on {file.target.url} before it was started"
        raise ServerError(f"target {file.name}", cause, "stop that, or leave out `command` to load what runs there")


def resolved(values: Mapping[str, str | FromEnvironment]) -> dict[str, str]:
    """Return values with environment variables filled in. Raises PlanError if a variable is unset or unprintable."""
    texts = {}
    for name, value in values.items():
        if isinstance(value, FromEnvironment):
            if (secret := os.environ.get(value.name)) is None:
                remedy = f"export {value.name}=… before the lab starts"
                cause = f"the lab's environment has no variable {value.name}"
                raise PlanError(f"{name}: {{from: {value.name}}}", cause, remedy)
            if not secret.isprintable():
                raise PlanError(f"variable {value.name}", "it holds a line break", "set it without one")
            value = value.prefix + secret
        texts[name] = value
    return texts


def cores_of(file: TargetFile) -> tuple[int, ...]:
    """Return the cores that a target's description names. Raises PlanError for a core that the lab may not use."""
    usable = usable_cpus()
    if missing := [cpu for cpu in file.target.cpus if cpu not in usable]:
        cause = f"core {missing[0]} is not among those that the lab may use"
        raise PlanError(f"{file.path}, key cpus", cause, f"choose from {', '.join(map(str, usable))}")
    return file.target.cpus


def is_open(file: TargetFile, port: int | None = None) -> bool:
    """Return whether the port of a target's URL, or `port` on the same host if given, accepts a connection."""
    address = urlsplit(file.target.url)
    host, own_port = address.hostname or "127.0.0.1", address.port or (443 if address.scheme == "https" else 80)
    with contextlib.suppress(OSError), socket.create_connection((host, port or own_port), timeout=QUESTION_S):
        return True
    return False
