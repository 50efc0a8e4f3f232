"""Describe a server that is none of the lab's: `target.yaml` as a typed record; errors name line and key.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec
from msgspec import Meta

from runners.design.load import SCRIPTS, Workload
from runners.design.setting import Setting
from runners.design.yaml_file import Fault, Struct, YamlForm
from runners.errors import PlanError

#: The engine of a setting that stands for a target; `Setting.name` is then the target's.
EXTERNAL = "external"
TEMPLATE = SCRIPTS / "template.lua"
NAME = r"^[a-z0-9][a-z0-9._-]{0,39}$"
#: Headers whose value is a secret: only their variable's name may stand in the file.
SECRET_HEADERS = ("authorization", "cookie", "proxy-authorization", "x-api-key")
_PLACEHOLDERS = ("{key}", "{counter}")
PORT, SOCKET, DATA, HOST = "{port}", "{socket}", "{data}", "{host}"
UNIX = "unix:"
#: Where servers listen unless they are to be reached from other hosts.
LOOPBACK = "127.0.0.1"

#: Where a report can put frames of a target; the readers have further ones for the lab's own servers.
Category = Literal[
    "handler", "storage", "cache", "log", "hand-over", "HTTP parsing", "response", "socket read", "socket write", "poll"
]
Name = Annotated[str, Meta(pattern=NAME)]
Port = Annotated[int, Meta(ge=1, le=65_535)]
UrlPath = Annotated[str, Meta(pattern="^/[^\\s]*$")]


class FromEnvironment(Struct, frozen=True):
    """A value that is read from the lab's environment when it is used: `{from: TOKEN, prefix: "Bearer "}`."""

    name: Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")] = msgspec.field(name="from")
    prefix: str = ""


class Ready(Struct, frozen=True):
    """How a server shows that it is ready; one of `port`, `url`, `line`."""

    port: Annotated[Port | None, Meta(description="ready when this port accepts a connection")] = None
    url: Annotated[UrlPath | None, Meta(description="ready when a GET of this path gives `status`")] = None
    status: Annotated[int, Meta(ge=100, le=599, description="status that `url` must give")] = 200
    line: Annotated[
        Annotated[str, Meta(min_length=1)] | None, Meta(description="ready when a line of output contains this")
    ] = None
    timeout_s: Annotated[float, Meta(gt=0, le=3600, description="seconds until the start has failed")] = 60.0


class Fill(Struct, frozen=True):
    """What a server holds before it is measured: requests of a workload, one a key, or what a command puts there."""

    workload: Annotated[Name | None, Meta(description="whose requests are sent, each key once")] = None
    keys: Annotated[
        int,
        Meta(ge=0, le=2**31 - 1, description="{key} and {counter} go from 1 to this; of a script: so many requests"),
    ] = 0
    command: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="program and arguments, run in `directory` after each start, with the server's environment"),
    ] = ()
    timeout_s: Annotated[float, Meta(gt=0, le=86_400, description="seconds until the command has failed")] = 600.0


BodyBytes = Annotated[int, Meta(ge=0, le=64 << 20)]


class TargetWorkload(Struct, frozen=True):
    """What is sent: a method, a path template and a body size, or a Lua script as wrk runs it."""

    method: Annotated[str, Meta(pattern="^[A-Z]{1,20}$")] = "GET"
    path: Annotated[UrlPath | None, Meta(description="{key}: random 1..keys; {counter}: 1, 2, 3 … a thread")] = None
    keys: Annotated[int, Meta(ge=0, le=2**31 - 1, description="how many keys {key} is drawn from")] = 0
    body_bytes: Annotated[
        BodyBytes | Annotated[tuple[BodyBytes, ...], Meta(min_length=1)],
        Meta(description="size of each request's body; of several, one is drawn for each request"),
    ] = 0
    script: Annotated[str | None, Meta(description="a Lua script, relative to this file, in place of a path")] = None
    arguments: Annotated[tuple[str, ...], Meta(description="arguments of the script")] = ()


class Target(Struct, frozen=True):
    """A server under test: a command that the lab runs, or the url of one that runs already."""

    name: Annotated[Name, Meta(description="what reports call it: small letters, digits, '.', '_' and '-'")]
    url: Annotated[
        str,
        Meta(
            pattern="^(https?://|unix:.)",
            description="where it responds: scheme, host and port, {port} for a free one; or unix:PATH, unix:{socket}",
        ),
    ]
    workloads: Annotated[dict[Name, TargetWorkload], Meta(min_length=1, description="what is sent, by name")]
    command: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...] | None,
        Meta(description="program and arguments, one each; never a shell line. Absent: the server runs already"),
    ] = None
    build: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="program and arguments that build it in `directory`, once a run, before its first start"),
    ] = ()
    directory: Annotated[str, Meta(description="working directory, relative to this file")] = "."
    environment: Annotated[
        dict[str, str | FromEnvironment], Meta(description="variables of the server; {from: NAME} for a secret")
    ] = msgspec.field(default_factory=dict)
    ready: Annotated[Ready | None, Meta(description="how it shows that it is ready; absent: its port is open")] = None
    stop_signal: Annotated[
        Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"], Meta(description="signal that ends it cleanly")
    ] = "SIGTERM"
    cpus: Annotated[
        tuple[Annotated[int, Meta(ge=0)], ...], Meta(description="cores it is bound to; absent: as the lab's servers")
    ] = ()
    data: Annotated[str | None, Meta(description="folder that is emptied before each start, below `directory`")] = None
    fill: Annotated[
        Fill | None, Meta(description="what each start holds before it is measured: {workload: put, keys: 1000}")
    ] = None
    pprof: Annotated[
        UrlPath | None, Meta(description="path of a Go server's own CPU profile, such as /debug/pprof/profile")
    ] = None
    headers: Annotated[
        dict[str, str | FromEnvironment], Meta(description="headers of each request; {from: NAME} for a secret")
    ] = msgspec.field(default_factory=dict)
    categories: Annotated[
        dict[Category, tuple[Annotated[str, Meta(min_length=1)], ...]],
        Meta(description="what frames of a profile belong to, by patterns of their names: {storage: [^sqlite]}"),
    ] = msgspec.field(default_factory=dict)


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
        headers = [_header_argument(key, value) for key, value in self.target.headers.items()]
        path = asked.path or "/"
        if each_key_once:
            path = path.replace("{key}", "{counter}")
        sizes = asked.body_bytes if isinstance(asked.body_bytes, tuple) else (asked.body_bytes,)
        bodies = ",".join(map(str, sizes))
        return Workload(called, TEMPLATE, arguments=(asked.method, path, str(asked.keys), bodies, *headers))

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


#: What to write, by the last key of what is wrong.
_REMEDIES = {
    "name": "use small letters, digits, '.', '_' and '-', 40 at most, such as name: my-service",
    "url": "write where it responds, as http://127.0.0.1:8080 or unix:app.sock; paths stand in workloads and ready",
    "command": 'write a list, such as [python3, server.py, "8080"]; numbers in quotes',
    "build": "write a list, such as [go, build, -o, server, .]",
    "directory": "write a folder, relative to this file",
    "environment": 'write NAME: "value", or NAME: {from: VARIABLE} for a secret',
    "headers": 'write Name: value, or Name: {from: VARIABLE, prefix: "Bearer "} for a secret',
    "ready": 'write one of {port: 8080}, {url: /health, status: 200}, {line: "listening"}',
    "stop_signal": "use one of SIGTERM, SIGINT, SIGQUIT, SIGHUP",
    "cpus": "write a list of core numbers, such as [0]",
    "data": "write a folder below `directory`",
    "fill": "write {workload: put, keys: 1000}, or {command: [python3, load.py]}",
    "body_bytes": "write a number of bytes, such as 120, or several, such as [100, 1000]",
    "categories": f"write patterns of frames by one of {', '.join(get_args(Category))}",
    "workloads": "write at least one, such as get: {method: GET, path: /}",
    "path": "begin it with /, without blanks; {key} needs keys: N",
    "method": "write it in capitals, such as GET",
}


def _contradictions(target: Target) -> Iterator[Fault]:
    """Yield what each part allows and the whole does not: keys, cause and remedy."""
    try:
        address = urlsplit(target.url.replace(PORT, "1").replace(HOST, LOOPBACK))
        fine = bool(address.hostname) and address.port != 0
    except ValueError:
        fine = False
    if target.url.startswith(UNIX):
        if target.pprof:
            yield ("pprof",), "it is asked for at a port, and this server has a socket", "leave it out"
    elif not fine:
        yield ("url",), "it has no host, or no port that there can be", _REMEDIES["url"]
    elif address.path.strip("/") or address.query or address.fragment or address.username is not None:
        yield ("url",), "it has more than scheme, host and port", _REMEDIES["url"]
    if target.command is not None and not target.command:
        yield ("command",), "it is empty", _REMEDIES["command"]
    given = (*(target.command or ()), *(value for value in target.environment.values() if isinstance(value, str)))
    for each in (PORT, SOCKET):
        if any(each in text for text in given) != (each in target.url):
            cause = f"{each} in it and in command or environment need each other"
            yield ("url",), cause, f"write {each} in both, or in none"
    if SOCKET in target.url and target.url != UNIX + SOCKET:
        yield ("url",), "{socket} is a whole path", "write unix:{socket}"
    if PORT in target.url and target.ready is not None and target.ready.port is not None:
        yield (
            ("ready", "port"),
            "the port is another one in each start",
            "leave `ready` out: the url's port is looked at",
        )
    if target.command is None:
        for key in ("environment", "data", "cpus", "build", "fill"):
            if getattr(target, key):
                yield (key,), "a server that runs already can't be given it", "give a command, or leave this out"
        if target.ready is not None and target.ready.line is not None:
            yield ("ready", "line"), "the output of a server that runs already is not seen", "use url or port"
    if target.ready is not None and [target.ready.port, target.ready.url, target.ready.line].count(None) != 2:
        yield ("ready",), "it needs one of port, url and line", _REMEDIES["ready"]
    if target.data is not None:
        parts = Path(target.data).parts
        if not parts or Path(target.data).is_absolute() or ".." in parts:
            yield ("data",), "it is emptied before each start and must lie below `directory`", _REMEDIES["data"]
    if target.fill is not None:
        yield from _of_fill(target.fill, target)
    # a pattern's $ also fits before a last line break
    for keys, text in ((("name",), target.name), *((("workloads", name), name) for name in target.workloads)):
        if not text.isprintable():
            yield keys, "it has a line break", _REMEDIES["name"]
    for name, value in target.headers.items():
        text = name + (value if isinstance(value, str) else value.prefix)
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not text.isprintable():
            yield ("headers", name), "it is no header", _REMEDIES["headers"]
        if name.lower() in SECRET_HEADERS and isinstance(value, str):
            yield ("headers", name), "a secret must not stand in the file", _REMEDIES["headers"]
    for name, value in target.environment.items():
        if not name or "=" in name or "\0" in name + (value if isinstance(value, str) else ""):
            yield ("environment", name), "it can't be a variable", _REMEDIES["environment"]
    for category, patterns in target.categories.items():
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                yield ("categories", category), f"{pattern} is no regular expression ({error})", "correct it"
    for name, workload in target.workloads.items():
        yield from _of_workload(("workloads", name), workload, target)


def _of_fill(fill: Fill, target: Target) -> Iterator[Fault]:
    if (fill.workload is None) == (not fill.command):
        yield ("fill",), "it needs a workload or a command, and not both", _REMEDIES["fill"]
        return
    if fill.workload is None:
        if fill.keys:
            yield ("fill", "keys"), "a command makes its requests whole: keys don't reach it", "leave it out"
        for each in (PORT, SOCKET):
            if any(each in text for text in fill.command) and each not in target.url:
                yield ("fill", "command"), f"{each} is in it and not in url", f"write {each} in both, or in none"
        return
    workload = target.workloads.get(fill.workload)
    if workload is None:
        cause = f"there is no workload {fill.workload!r}"
        yield ("fill", "workload"), cause, f"one of {', '.join(target.workloads)}"
    elif fill.keys < 1:
        yield ("fill",), "it needs the number of keys", _REMEDIES["fill"]
    elif workload.script is None and not any(each in (workload.path or "") for each in _PLACEHOLDERS):
        cause = f"the path of {fill.workload!r} has no key: it would send one request again and again"
        yield ("fill", "workload"), cause, f"write {' or '.join(_PLACEHOLDERS)} into that path"


def _of_workload(keys: tuple[str, str], workload: TargetWorkload, target: Target) -> Iterator[Fault]:
    if (workload.script is None) == (workload.path is None):
        yield keys, "it needs a path or a script, and not both", "write path: / or script: requests.lua"
        return
    if workload.script is not None:
        if workload.keys or workload.body_bytes or target.headers:
            cause = "a script makes its requests whole: keys, body_bytes and headers don't reach it"
            yield (*keys, "script"), cause, "let the script make them (os.getenv reads a secret)"
        return
    path = workload.path or ""
    if not (path + workload.method).isprintable():
        yield (*keys, "path"), "path or method has a line break", _REMEDIES["path"]
    if workload.arguments:
        yield (*keys, "arguments"), "they are for a script", "leave them out"
    if ("{key}" in path) != (workload.keys > 0):
        yield (*keys, "path"), "{key} in the path and keys: N need each other", "write both or neither"
    if other := [part for part in re.findall(r"\{[^}]*\}?", path) if part not in _PLACEHOLDERS]:
        yield (*keys, "path"), f"{other[0]} is no placeholder", f"use {' or '.join(_PLACEHOLDERS)}"


FORM = YamlForm(
    Target,
    _REMEDIES,
    remedy="write it as runners/docs/any-server.md shows",
    none_yet="write one with `lab init`",
    entries={"workloads": TargetWorkload, "environment": str | FromEnvironment, "headers": str | FromEnvironment},
    parts={
        "ready": Ready, "fill": Fill, "workloads": TargetWorkload, "environment": FromEnvironment,
        "headers": FromEnvironment,
    },
    faults=_contradictions,
)  # fmt: skip
