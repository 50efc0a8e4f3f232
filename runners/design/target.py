"""Targets: servers that are not the lab's own, each described by a `target.yaml`.

Placeholders in the file are filled in at every start of the server: `{port}` by a free port, `{data}` by an empty
folder, `{host}` by the address to listen on. For a secret, the file names an environment variable (`{from: NAME}`),
which is read when the secret is used.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Self
from urllib.parse import urlunsplit

import msgspec

from runners.design import description
from runners.design.description import HOST, LOOPBACK, PORT, FromEnvironment, Target, TargetWorkload
from runners.design.load import SCRIPTS, Workload
from runners.design.setting import Setting
from runners.errors import PlanError

#: The engine of a setting that stands for a target; the setting's name is the target's name.
EXTERNAL = "external"
TEMPLATE = SCRIPTS / "template.lua"
#: The prefix of a setting on a command line that names a target: `target=a.yaml`.
AS_TARGET = "target="


def foreign(parameters: Mapping[str, object]) -> bool:
    """Return whether a run with these parameters measures only targets, none of the lab's own servers."""
    if parameters.get("target"):
        return True
    settings = [str(parameters[name]) for name in ("setting", "a", "b") if name in parameters]
    return bool(settings) and all(setting.startswith(AS_TARGET) for setting in settings)


def commented(name: str, command: Sequence[str], url: str, path: str) -> str:
    """Return the text of a new, commented `target.yaml`; an empty `command` means that the server runs already."""
    texts = {"name": name, "url": url, "path": path}
    written = {key: json.dumps(text, ensure_ascii=False) for key, text in texts.items()}  # JSON is YAML
    started = f"command: {json.dumps(list(command), ensure_ascii=False)}"
    template = resources.files("runners.design").joinpath("new_target.yaml").read_text(encoding="utf-8")
    example = '# command: [python3, server.py, "8080"]'
    return Template(template).substitute(written, command=started if command else example)


def describe_url(url: str) -> tuple[str, str]:
    """Return a name, and the text of a `target.yaml` that sends GETs to this URL. Raises PlanError for a bad URL."""
    address = description.address_of(url)
    if address is None or address.username is not None:
        cause = "a user in it would stand in files" if address else description.NO_ADDRESS
        raise PlanError("--target", cause, "write it as http://127.0.0.1:8080/path; headers stand in a target.yaml")
    name = re.sub(r"[^a-z0-9.]+", "-", f"{address.netloc}{address.path}".lower()).strip("-.")[:40]
    path = urlunsplit(("", "", address.path or "/", address.query, ""))
    text = commented(name, (), urlunsplit((address.scheme, address.netloc, "", "", "")), path)
    return f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:8]}", text


@dataclass(frozen=True, slots=True)
class TargetFile:
    """A target and the file that describes it. Paths of the target are relative to the file's folder."""

    path: Path
    target: Target
    digest: str  # SHA-256 of the file

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def setting(self) -> Setting:
        return Setting(self.name, EXTERNAL, target=self.path)

    @property
    def directory(self) -> Path:
        return (self.path.parent / self.target.directory).resolve()

    @property
    def data(self) -> Path | None:
        """The folder that is emptied before each start; None if the target names none."""
        return None if self.target.data is None else self.directory / self.target.data

    @property
    def repeatable(self) -> bool:
        """Whether several processes of the target can be up at once: on different ports, with separate data folders."""
        return self.target.data is None and PORT in self.target.url

    def placed(self, port: int, data: Path, listen: str = LOOPBACK) -> Self:
        """Return the target, its placeholders filled in. Raises PlanError if it can't listen on `listen`."""
        if listen != LOOPBACK and self.target.command is not None and HOST not in self.target.url:
            cause = f"its server is to listen on {listen}, and nothing tells it so"
            raise PlanError(str(self.path), cause, "write {host} for the address, in url and in command or environment")

        def filled(text: str) -> str:
            return text.replace(PORT, str(port)).replace(description.DATA, str(data)).replace(HOST, listen)

        target, url = self.target, filled(self.target.url)
        environment = {name: filled(of) if isinstance(of, str) else of for name, of in target.environment.items()}
        command = None if target.command is None else tuple(map(filled, target.command))
        fill = target.fill and msgspec.structs.replace(target.fill, command=tuple(map(filled, target.fill.command)))
        placed = msgspec.structs.replace(target, command=command, environment=environment, url=url, fill=fill)
        return replace(self, target=placed)

    def workload(self, name: str) -> Workload:
        """Return a workload by name (empty: the first) with the target's fill. Raises PlanError for an unknown name."""
        workload, fill = self._requests(name), self.target.fill
        if fill is None or fill.workload is None:
            return workload
        return replace(workload, filled_keys=fill.keys, fill_with=self._requests(fill.workload, each_key_once=True))

    def _requests(self, name: str, each_key_once: bool = False) -> Workload:
        names = list(self.target.workloads)
        name = name or names[0]
        if (described := self.target.workloads.get(name)) is None:
            raise PlanError(f"workload {name!r}", f"{self.path} has none of that name", f"one of {', '.join(names)}")
        if described.script is not None:
            return Workload(name, (self.path.parent / described.script).resolve(), arguments=described.arguments)
        headers = dict(self.target.headers)
        if described.json is not None and not any(header.lower() == "content-type" for header in headers):
            headers["Content-Type"] = "application/json"
        path, body = described.path or "/", self._body(described)
        if each_key_once:
            path, body = (text.replace("{key}", "{counter}") for text in (path, body))
        given = [  # for a secret only its variable's name
            f"environment {header} {value.name} {value.prefix}"
            if isinstance(value, FromEnvironment)
            else f"header {header} {value}"
            for header, value in headers.items()
        ]
        return Workload(name, TEMPLATE, arguments=(described.method, path, str(described.keys), body, *given))

    def _body(self, described: TargetWorkload) -> str:
        """Return a workload's body as an argument of the template script: a text, a file, or the sizes to draw from."""
        if (text := described.body_text) is not None:
            return f"text {text}"
        if described.body_file is not None:
            return f"file {(self.path.parent / described.body_file).resolve()}"
        sizes = described.body_bytes if isinstance(described.body_bytes, tuple) else (described.body_bytes,)
        return ",".join(map(str, sizes))

    def described(self) -> dict[str, Any]:
        """Return the description as it was written, for a manifest; secrets are named, their values never included."""
        return {"file": self.path.name, "sha256": self.digest, **msgspec.to_builtins(self.target)}


def read_target(path: Path) -> TargetFile:
    """Read a `target.yaml`. Raises PlanError if it is wrong; the error names file, line, key and remedy."""
    target, raw = description.FORM.read(path)
    return TargetFile(path.resolve(), target, hashlib.sha256(raw).hexdigest())


def target_of(text: str) -> TargetFile | None:
    """Return the target in a setting's text `target=FILE`; None for other text. Raises PlanError for a bad file."""
    return read_target(Path(text.removeprefix(AS_TARGET))) if text.startswith(AS_TARGET) else None


def whole_path(text: str) -> str:
    """Return a setting's text with the path of its target made absolute; a setting without a target is unchanged."""
    return f"{AS_TARGET}{Path(text.removeprefix(AS_TARGET)).resolve()}" if text.startswith(AS_TARGET) else text


def whole_paths(text: str) -> str:
    """Return paths that are separated by commas as absolute paths, again separated by commas."""
    return ",".join(str(Path(part.strip()).resolve()) for part in text.split(",") if part.strip())


def targets_of(text: str) -> tuple[TargetFile, ...]:
    """Read the targets at comma-separated paths. Raises PlanError if a file is wrong or two targets have one name."""
    files = tuple(read_target(Path(part.strip())) for part in text.split(",") if part.strip())
    for name, times in Counter(file.name for file in files).items():
        if times > 1:
            raise PlanError(f"target {name}", "two have this name", "give each its own `name`")
    return files


def shared_workload(name: str, files: Sequence[TargetFile]) -> Workload:
    """Return the workload `name` (empty: first). Raises PlanError if a target lacks it or describes it differently."""
    first, *others = (file.workload(name) for file in files)
    if any(workload != first for workload in others):
        names = f"workload {first.name!r} of {' and '.join(file.name for file in files)}"
        cause = "they send different requests, or fill the servers with different ones"
        raise PlanError(names, cause, "describe it alike in both, headers and `fill` included")
    return first


def shared_workloads(files: Sequence[TargetFile]) -> list[tuple[str, Workload]]:
    """Return all workloads as (block name, workload). Raises PlanError if the targets do not describe them alike."""
    workloads = []
    for name, described in files[0].target.workloads.items():
        kind = "get" if described.script is None and described.method in ("GET", "HEAD") else "put"
        workloads.append((kind if name == kind else f"{kind}-{name}", shared_workload(name, files)))
    return workloads
