"""The form of `target.yaml` as typed records, and checks for keys that contradict one another."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Meta

from runners.design.yaml_file import Fault, Struct, YamlForm

NAME = r"^[a-z0-9][a-z0-9._-]{0,39}$"
#: Headers whose value is a secret: the file may only name the environment variable that holds it.
SECRET_HEADERS = ("authorization", "cookie", "proxy-authorization", "x-api-key")
PLACEHOLDERS = ("{key}", "{counter}")
PORT, DATA, HOST = "{port}", "{data}", "{host}"
#: Where servers listen unless they are to be reached from other hosts.
LOOPBACK = "127.0.0.1"
#: The longest body that may stand in the file itself, since the generator gets such a body on its command line.
MOST_BODY_CHARACTERS = 65_536

#: Categories in which a report sums up a target's profile frames; frames of the lab's own servers have further ones.
Category = Literal[
    "handler", "storage", "cache", "log", "hand-over", "HTTP parsing", "response", "socket read", "socket write", "poll"
]
StopSignal = Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP"]
Name = Annotated[str, Meta(pattern=NAME)]
Port = Annotated[int, Meta(ge=1, le=65_535)]
UrlPath = Annotated[str, Meta(pattern="^/[^\\s]*$")]
NonEmpty = Annotated[str, Meta(min_length=1)]


class FromEnvironment(Struct, frozen=True):
    """A value that is read from the lab's environment when it is used: `{from: TOKEN, prefix: "Bearer "}`."""

    name: Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")] = msgspec.field(name="from")
    prefix: str = ""


Values = dict[str, str | FromEnvironment]

#: What every key means, by record and key: in errors, in the JSON schema, and in the manual.
_MEANINGS = tomllib.loads(Path(__file__).with_name("target_keys.toml").read_text(encoding="utf-8"))


def _about(record: str, key: str, **limits: Any) -> Meta:
    return Meta(description=_MEANINGS[record][key], **limits)


class Ready(Struct, frozen=True):
    """The sign that a server is ready: exactly one of `port`, `url` and `line`."""

    port: Annotated[Port | None, _about("ready", "port")] = None
    url: Annotated[UrlPath | None, _about("ready", "url")] = None
    status: Annotated[int, _about("ready", "status", ge=100, le=599)] = 200
    line: Annotated[NonEmpty | None, _about("ready", "line")] = None
    timeout_s: Annotated[float, _about("ready", "timeout_s", gt=0, le=3600)] = 60.0


class Fill(Struct, frozen=True):
    """The data that a server holds before it is measured: written either by a workload's requests or by a command."""

    workload: Annotated[Name | None, _about("fill", "workload")] = None
    keys: Annotated[int, _about("fill", "keys", ge=0, le=2**31 - 1)] = 0
    command: Annotated[tuple[NonEmpty, ...], _about("fill", "command")] = ()
    timeout_s: Annotated[float, _about("fill", "timeout_s", gt=0, le=86_400)] = 600.0


BodyBytes = Annotated[int, Meta(ge=0, le=64 << 20)]
SeveralBytes = Annotated[tuple[BodyBytes, ...], Meta(min_length=1)]
Body = Annotated[str, Meta(max_length=MOST_BODY_CHARACTERS)]


class TargetWorkload(Struct, frozen=True):
    """The requests of a load: either a method, a path template and a body or its size; or a Lua script for wrk."""

    method: Annotated[str, _about("workload", "method", pattern="^[A-Z]{1,20}$")] = "GET"
    path: Annotated[UrlPath | None, _about("workload", "path")] = None
    keys: Annotated[int, _about("workload", "keys", ge=0, le=2**31 - 1)] = 0
    body_bytes: Annotated[BodyBytes | SeveralBytes, _about("workload", "body_bytes")] = 0
    body: Annotated[Body | None, _about("workload", "body")] = None
    json: Annotated[dict[str, Any] | list[Any] | None, _about("workload", "json")] = None
    body_file: Annotated[str | None, _about("workload", "body_file")] = None
    script: Annotated[str | None, _about("workload", "script")] = None
    arguments: Annotated[tuple[str, ...], _about("workload", "arguments")] = ()

    @property
    def body_text(self) -> str | None:
        """The body that target.yaml gives as text or JSON, with its placeholders; None if it gives none (or a file)."""
        return self.body if self.json is None else msgspec.json.encode(self.json).decode()


class Target(Struct, frozen=True):
    """A server under test: a command that the lab runs, or the URL of a server that runs already."""

    name: Annotated[Name, _about("target", "name")]
    url: Annotated[str, _about("target", "url", pattern="^https?://")]
    workloads: Annotated[dict[Name, TargetWorkload], _about("target", "workloads", min_length=1)]
    command: Annotated[tuple[NonEmpty, ...] | None, _about("target", "command")] = None
    build: Annotated[tuple[NonEmpty, ...], _about("target", "build")] = ()
    directory: Annotated[str, _about("target", "directory")] = "."
    environment: Annotated[Values, _about("target", "environment")] = msgspec.field(default_factory=dict)
    ready: Annotated[Ready | None, _about("target", "ready")] = None
    stop_signal: Annotated[StopSignal, _about("target", "stop_signal")] = "SIGTERM"
    cpus: Annotated[tuple[Annotated[int, Meta(ge=0)], ...], _about("target", "cpus")] = ()
    data: Annotated[str | None, _about("target", "data")] = None
    fill: Annotated[Fill | None, _about("target", "fill")] = None
    pprof: Annotated[UrlPath | None, _about("target", "pprof")] = None
    headers: Annotated[Values, _about("target", "headers")] = msgspec.field(default_factory=dict)
    categories: Annotated[
        dict[Category, tuple[NonEmpty, ...]],
        Meta(description=_MEANINGS["target"]["categories"] + ", ".join(get_args(Category))),
    ] = msgspec.field(default_factory=dict)


NO_ADDRESS = "it has no host, or no port that there can be"


def address_of(url: str) -> SplitResult | None:
    """Return the parts of a URL; None if the URL has no host or an impossible port."""
    try:
        address = urlsplit(url)
        return address if address.hostname and address.port != 0 else None
    except ValueError:
        return None


def _contradictions(target: Target) -> Iterator[Fault]:
    url, ready, command = target.url, target.ready, target.command
    address = address_of(url.replace(PORT, "1").replace(HOST, LOOPBACK))
    if address is None:
        yield ("url",), NO_ADDRESS, ""
    elif address.path.strip("/") or address.query or address.fragment or address.username is not None:
        yield ("url",), "it has more than scheme, host and port", ""
    if command is not None and not command:
        yield ("command",), "it is empty", ""
    given = (*(command or ()), *(value for value in target.environment.values() if isinstance(value, str)))
    if any(PORT in text for text in given) != (PORT in url):
        cause = f"{PORT} in it and in command or environment need each other"
        yield ("url",), cause, f"write {PORT} in both, or in none"
    if PORT in url and ready is not None and ready.port is not None:
        remedy = "leave `ready` out: the url's port is looked at"
        yield ("ready", "port"), "the port is another one in each start", remedy
    if command is None:
        for key in ("environment", "data", "cpus", "build", "fill"):
            if getattr(target, key):
                yield (key,), "a server that runs already can't be given it", "give a command, or leave this out"
        if ready is not None and ready.line is not None:
            yield ("ready", "line"), "the output of a server that runs already is not seen", "use url or port"
    if ready is not None and [ready.port, ready.url, ready.line].count(None) != 2:
        yield ("ready",), "it needs one of port, url and line", ""
    if target.data is not None:
        parts = Path(target.data).parts
        if not parts or Path(target.data).is_absolute() or ".." in parts:
            yield ("data",), "it is emptied before each start and must lie below `directory`", ""
    if target.fill is not None:
        yield from _fill_faults(target.fill, target)
    # the $ of NAME also matches before a final line break
    for keys, text in ((("name",), target.name), *((("workloads", name), name) for name in target.workloads)):
        if not text.isprintable():
            yield keys, "it has a line break", "give a name of one line"
    for name, value in target.headers.items():
        text = name + (value if isinstance(value, str) else value.prefix)
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not text.isprintable():
            yield ("headers", name), "it is no header", ""
        if name.lower() in SECRET_HEADERS and isinstance(value, str):
            yield ("headers", name), "a secret must not stand in the file", ""
    for name, value in target.environment.items():
        if not name or "=" in name or "\0" in name + (value if isinstance(value, str) else ""):
            yield ("environment", name), "it can't be a variable", ""
    for category, patterns in target.categories.items():
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                yield ("categories", category), f"{pattern} is no regular expression ({error})", "correct it"
    for name, workload in target.workloads.items():
        yield from _workload_faults(("workloads", name), workload, target)


def _fill_faults(fill: Fill, target: Target) -> Iterator[Fault]:
    if (fill.workload is None) == (not fill.command):
        yield ("fill",), "it needs a workload or a command, and not both", ""
        return
    if fill.workload is None:
        if fill.keys:
            yield ("fill", "keys"), "a command makes its requests whole: keys don't reach it", "leave it out"
        if any(PORT in text for text in fill.command) and PORT not in target.url:
            yield ("fill", "command"), f"{PORT} is in it and not in url", f"write {PORT} in both, or in none"
        return
    workload = target.workloads.get(fill.workload)
    if workload is None:
        cause = f"there is no workload {fill.workload!r}"
        yield ("fill", "workload"), cause, f"one of {', '.join(target.workloads)}"
    elif fill.keys < 1:
        yield ("fill",), "it needs the number of keys", ""
    elif workload.script is None and not any(mark in _template(workload) for mark in PLACEHOLDERS):
        cause = f"the path of {fill.workload!r} has no key: it would send one request again and again"
        yield ("fill", "workload"), cause, f"write {' or '.join(PLACEHOLDERS)} into that path"


def _template(workload: TargetWorkload) -> str:
    return f"{workload.path or ''} {workload.body_text or ''}"


def _workload_faults(keys: tuple[str, str], workload: TargetWorkload, target: Target) -> Iterator[Fault]:
    if (workload.script is None) == (workload.path is None):
        yield keys, "it needs a path or a script, and not both", "write path: / or script: requests.lua"
        return
    bodies = [name for name in ("body", "json", "body_file") if getattr(workload, name) is not None]
    if workload.script is not None:
        if workload.keys or workload.body_bytes or bodies or target.headers:
            cause = "a script makes its requests whole: keys, bodies and headers don't reach it"
            yield (*keys, "script"), cause, "let the script make them (os.getenv reads a secret)"
        return
    path = workload.path or ""
    if not (path + workload.method).isprintable():
        yield (*keys, "path"), "path or method has a line break", ""
    if workload.arguments:
        yield (*keys, "arguments"), "they are for a script", "leave them out"
    if bodies and (len(bodies) > 1 or workload.body_bytes):
        yield (*keys, bodies[-1]), "a request has one body", "keep one of body, json, body_file and body_bytes"
    if bodies and workload.method in ("GET", "HEAD"):
        yield (*keys, bodies[0]), f"a {workload.method} has no body", "write method: POST, or PUT"
    if "\0" in (workload.body_text or ""):
        yield (*keys, bodies[0]), "it holds a zero byte", ""
    if ("{key}" in _template(workload)) != (workload.keys > 0):
        yield (*keys, "path"), "{key} in the path or the body and keys: N need each other", "write both or neither"
    if other := [part for part in re.findall(r"\{[^}]*\}?", path) if part not in PLACEHOLDERS]:
        yield (*keys, "path"), f"{other[0]} is no placeholder", f"use {' or '.join(PLACEHOLDERS)}"


FORM = YamlForm(
    Target,
    remedy="write it as runners/docs/any-server.md shows",
    none_yet="write one with `lab init`",
    entries={"workloads": TargetWorkload, "environment": str | FromEnvironment, "headers": str | FromEnvironment},
    parts={
        "ready": Ready, "fill": Fill, "workloads": TargetWorkload, "environment": FromEnvironment,
        "headers": FromEnvironment,
    },
    faults=_contradictions,
)  # fmt: skip
