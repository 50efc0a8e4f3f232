"""Describe a server that is none of the lab's by its `target.yaml`: what of it blocks, servers and manifests use.

`{port}` in command, environment and url stands for a free port of the lab's choice, `{socket}` for the path of a Unix
socket, and `{data}` for an empty folder, so that several processes of one description can be up at once. `{host}`
stands for the address to listen on: the loopback, unless generators on other hosts are to reach the server.

A secret is named and never written: `{from: NAME}` stands for a variable of the lab's own environment, which is read
when it is used. What is kept of a target in a manifest is `described`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from runners.design.description import (
    DATA,
    FORM,
    HOST,
    LOOPBACK,
    PORT,
    SOCKET,
    UNIX,
    FromEnvironment,
    Target,
    TargetWorkload,
)
from runners.design.load import SCRIPTS, Workload
from runners.design.setting import Setting
from runners.errors import PlanError

#: The engine of a setting that stands for a target; `Setting.name` is then the target's.
EXTERNAL = "external"
TEMPLATE = SCRIPTS / "template.lua"


def foreign(parameters: Mapping[str, object]) -> bool:
    """Give whether a run with these parameters measures servers by their descriptions alone, and none of the lab's."""
    if parameters.get("target"):
        return True
    settings = [str(parameters[name]) for name in ("setting", "a", "b") if name in parameters]
    return bool(settings) and all(setting.startswith(AS_TARGET) for setting in settings)


def commented(name: str, command: Sequence[str], url: str, path: str) -> str:
    """Write `target.yaml` for a server, with a comment on what else it can hold. An empty command: it runs already."""

    def plain(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)  # JSON is YAML

    started = f"command: {plain(list(command))}" if command else '# command: [python3, server.py, "8080"]'
    return f"""\
# A server under test; see runners/docs/any-server.md. `lab schema target` prints a schema for editors.
name: {plain(name)}  # what reports call it
# Program and arguments, one each. Without it the server must run already, and its processor time is not known.
# {{port}} here and in url is a free port of each start: only so can the lab compare two versions with a control.
# A Unix socket: url: unix:app.sock, or unix:{{socket}} with {{socket}} in the command.
{started}
url: {plain(url)}
# build: [make]              # once a run, before the first start
# directory: .               # working directory, relative to this file
# environment:
#   MODE: fast
#   PASSWORD: {{from: NAME}}   # of the lab's own environment; never written down
# ready: {{url: /health, status: 200}}   # or {{port: 8080}}, {{line: "listening"}}; unless given, the port of the url
# stop_signal: SIGTERM
# cpus: [0]
# categories: {{storage: ["^sqlite", "^app/db"]}}   # patterns of frames, for the shares of a profile
# pprof: /debug/pprof/profile   # of a Go server; others are sampled from outside
# data: store                # below directory; EMPTIED before each start
# fill: {{workload: put, keys: 1000}}   # after each start, each key once; or {{command: [./load.sh, "{{port}}"]}}
# headers:
#   Authorization: {{from: NAME, prefix: "Bearer "}}
workloads:
  get: {{method: GET, path: {plain(path)}}}
  # put: {{method: PUT, path: "/items/{{counter}}", body_bytes: 120}}
  # post: {{method: POST, path: /items, json: {{id: "{{counter}}"}}}}   # or body: text, body_file: order.json
  # random: {{path: "/items/{{key}}", keys: 1000}}
  # own: {{script: requests.lua}}
"""


def of_url(url: str) -> tuple[str, str]:
    """Describe a server that runs already by one URL: a file's name, and `target.yaml` with a GET of it.

    Raises PlanError where no host is in it, or a password, which must not stand in a file.
    """
    try:
        address = urlsplit(url)
        fine = bool(address.hostname) and address.port != 0
    except ValueError:
        fine = False
    if not fine or address.username is not None:
        cause = "a user in it would stand in files" if fine else "it has no host, or no port that there can be"
        raise PlanError("--target", cause, "write it as http://127.0.0.1:8080/path; headers stand in a target.yaml")
    name = re.sub(r"[^a-z0-9.]+", "-", f"{address.netloc}{address.path}".lower()).strip("-.")[:40]
    path = urlunsplit(("", "", address.path or "/", address.query, ""))
    text = commented(name, (), urlunsplit((address.scheme, address.netloc, "", "", "")), path)
    return f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:8]}", text


#: How a setting on a command line says that it is a target: `target=a.yaml`.
AS_TARGET = "target="


def target_of(text: str) -> TargetFile | None:
    """Read the target that a setting's text names; None for a setting of the lab's own server. Raises PlanError."""
    return read_target(Path(text.removeprefix(AS_TARGET))) if text.startswith(AS_TARGET) else None


def whole_path(text: str) -> str:
    """Write a setting that names a target with its whole path; any other as it is."""
    return f"{AS_TARGET}{Path(text.removeprefix(AS_TARGET)).resolve()}" if text.startswith(AS_TARGET) else text


def whole_paths(text: str) -> str:
    """Write the paths of descriptions, apart by commas, as whole ones."""
    return ",".join(str(Path(part.strip()).resolve()) for part in text.split(",") if part.strip())


def targets_of(text: str) -> tuple[TargetFile, ...]:
    """Read the descriptions of several servers, their paths apart by commas. Raises PlanError."""
    files = tuple(read_target(Path(part.strip())) for part in text.split(",") if part.strip())
    for name, times in Counter(file.name for file in files).items():
        if times > 1:
            raise PlanError(f"target {name}", "two have this name", "give each its own `name`")
    return files


def shared_workload(name: str, files: Sequence[TargetFile]) -> Workload:
    """Return the workload of that name, which all of these targets describe alike. Raises PlanError."""
    found = [file.workload(name) for file in files]
    if any(each != found[0] for each in found):
        names = f"workload {found[0].name!r} of {' and '.join(file.name for file in files)}"
        cause = "they send different requests, or fill the servers with different ones"
        raise PlanError(names, cause, "describe it alike in both, headers and `fill` included")
    return found[0]


def shared_workloads(files: Sequence[TargetFile]) -> list[tuple[str, Workload]]:
    """Return every workload of the first target, each with the name of its block: `get-…` for what reads, else `put-…`.

    Raises PlanError where another target describes it otherwise, or not at all.
    """
    found = []
    for name, described in files[0].target.workloads.items():
        kind = "get" if described.script is None and described.method in ("GET", "HEAD") else "put"
        found.append((kind if name == kind else f"{kind}-{name}", shared_workload(name, files)))
    return found


@dataclass(frozen=True, slots=True)
class TargetFile:
    """A target and the file that describes it. Paths of the target are relative to the file's folder."""

    path: Path
    target: Target
    digest: str

    @property
    def name(self) -> str:
        """What reports call the target."""
        return self.target.name

    @property
    def setting(self) -> Setting:
        """The setting that stands for the target in blocks."""
        return Setting(self.name, EXTERNAL, target=self.path)

    @property
    def directory(self) -> Path:
        """The working directory of the server."""
        return (self.path.parent / self.target.directory).resolve()

    @property
    def data(self) -> Path | None:
        """The folder that is emptied before each start."""
        return None if self.target.data is None else self.directory / self.target.data

    @property
    def repeatable(self) -> bool:
        """Whether several processes of it can be up at once: each has a port, and no data folder in common."""
        return any(each in self.target.url for each in (PORT, SOCKET)) and self.target.data is None

    @property
    def socket(self) -> Path | None:
        """The Unix socket that it listens on; None for a port."""
        url = self.target.url
        return self.directory / url.removeprefix(UNIX) if url.startswith(UNIX) else None

    @property
    def base_url(self) -> str:
        """Where requests go, as the generator takes it: the path of a socket stands in the host's place."""
        if self.socket is not None:
            return f"http+unix://{quote(str(self.socket), safe='')}"
        return self.target.url.rstrip("/")

    def placed(self, port: int, data: Path, socket: Path, listen: str = LOOPBACK) -> TargetFile:
        """Return the same target with its placeholders filled in, for one start.

        Raises PlanError where it is to listen on another address and does not say where that goes.
        """
        if listen != LOOPBACK and self.target.command is not None and HOST not in self.target.url:
            cause = f"its server is to listen on {listen}, and nothing tells it so"
            raise PlanError(str(self.path), cause, "write {host} for the address, in url and in command or environment")

        def filled(text: str) -> str:
            text = text.replace(PORT, str(port)).replace(SOCKET, str(socket))
            return text.replace(DATA, str(data)).replace(HOST, listen)

        target = self.target
        environment = {
            name: filled(value) if isinstance(value, str) else value for name, value in target.environment.items()
        }
        command = None if target.command is None else tuple(map(filled, target.command))
        fill = target.fill and msgspec.structs.replace(target.fill, command=tuple(map(filled, target.fill.command)))
        placed = msgspec.structs.replace(
            target, command=command, environment=environment, url=filled(target.url), fill=fill
        )
        return replace(self, target=placed)

    def workload(self, name: str) -> Workload:
        """Give a workload by name, the first one for an empty name. Raises PlanError with those there are.

        It has the keys that the target is filled with before.
        """
        found, fill = self._requests(name), self.target.fill
        if fill is None or fill.workload is None:
            return found
        return replace(found, filled_keys=fill.keys, fill_with=self._requests(fill.workload, each_key_once=True))

    def _requests(self, name: str, each_key_once: bool = False) -> Workload:
        names = list(self.target.workloads)
        if (asked := self.target.workloads.get(name or names[0])) is None:
            raise PlanError(f"workload {name!r}", f"{self.path} has none of that name", f"one of {', '.join(names)}")
        called = name or names[0]
        if asked.script is not None:
            return Workload(called, (self.path.parent / asked.script).resolve(), arguments=asked.arguments)
        headers = dict(self.target.headers)
        if asked.json is not None and not any(header.lower() == "content-type" for header in headers):
            headers["Content-Type"] = "application/json"
        template = (asked.path or "/", self._body(asked))
        if each_key_once:
            path, body = (text.replace("{key}", "{counter}") for text in template)
        else:
            path, body = template
        given = [_header_argument(header, value) for header, value in headers.items()]
        return Workload(called, TEMPLATE, arguments=(asked.method, path, str(asked.keys), body, *given))

    def _body(self, asked: TargetWorkload) -> str:
        """Return a body as an argument of the template script: a text, a file, or the sizes that are drawn from."""
        if (text := asked.body_text) is not None:
            return f"text {text}"
        if asked.body_file is not None:
            return f"file {(self.path.parent / asked.body_file).resolve()}"
        sizes = asked.body_bytes if isinstance(asked.body_bytes, tuple) else (asked.body_bytes,)
        return ",".join(map(str, sizes))

    def described(self) -> dict[str, Any]:
        """Return what a manifest keeps: the description as it was written, where secrets are names and never values."""
        return {"file": self.path.name, "sha256": self.digest, **msgspec.to_builtins(self.target)}


def _header_argument(name: str, value: str | FromEnvironment) -> str:
    """Return a header as the template script takes it; of a secret it gets the variable's name alone."""
    if isinstance(value, FromEnvironment):
        return f"environment {name} {value.name} {value.prefix}"
    return f"header {name} {value}"


def read_target(path: Path) -> TargetFile:
    """Read `target.yaml`. Raises PlanError that names file, line and key, and the remedy."""
    target, raw = FORM.read(path)
    return TargetFile(path.resolve(), target, hashlib.sha256(raw).hexdigest())
