"""Nodes of a cluster on hosts of their own: each is started, killed and started again by the worker of its host.

A node's host keeps its data for as long as the run wants it: a task in the host's slot for a server, whose lease the
run renews. When that ends, or the host can't be reached any more, the node ends and its folder goes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runners.errors import LabError, MeasureError
from runners.fleet.shares import LostHostError
from runners.fleet.workers import SERVER, Fleet, Host, lease_over
from runners.process.supervisor import Child
from runners.targets.lab_server import ServerSpec, launch, secret_file

_LOOK_S, _KEPT_WITHIN_S = 0.2, 20.0
#: What a worker keeps, by the name of the run's place on it. Of this process, which is a worker.
_kept: dict[str, _Kept] = {}


@dataclass(slots=True)
class _Kept:
    """A folder for a node, and the node's process while it runs."""

    folder: Path
    child: Child | None = None


def _keep(name: str, lease: str) -> None:
    """As a worker: keep a place for a node until nobody renews its lease."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-node-") as folder:
        kept = _kept[name] = _Kept(Path(folder))
        try:
            while not lease_over(lease, began):
                time.sleep(_LOOK_S)
        finally:
            del _kept[name]
            if kept.child is not None:
                kept.child.stop()


def _start(name: str, spec: ServerSpec, secret: str, again: str, _lease: str) -> dict[str, Any]:
    """As a worker: start a node, on an empty store or `again` on what it left; gives its ready line."""
    give_up = time.monotonic() + _KEPT_WITHIN_S
    while name not in _kept:
        if time.monotonic() > give_up:
            raise MeasureError("a node's host", "its slot for a server is taken", "end what else uses the fleet")
        time.sleep(_LOOK_S)
    kept = _kept[name]
    if kept.child is not None:
        kept.child.stop()
    data = kept.folder / "data"
    if not again:
        shutil.rmtree(data, ignore_errors=True)
    flag = f"--cluster-secret-file={secret_file(kept.folder, secret)}"
    own = dataclasses.replace(
        spec, folder=kept.folder / f"start-{again}", data=data, server_flags=(*spec.server_flags, flag)
    )
    server = launch(own, under_load=bool(again))
    kept.child = server.child
    return server.ready


def _end(name: str, at_once: bool, _lease: str) -> int:
    """As a worker: end a node, its data stay; gives its exit code."""
    kept = _kept.get(name)
    if kept is None or kept.child is None:
        return 0
    if at_once:
        kept.child.kill()
    return kept.child.stop()


@dataclass(frozen=True, slots=True)
class RemoteNode:
    """A node that was ready on another host when this was made."""

    place: FleetHost
    url: str
    pid: int

    def crash(self) -> None:
        self.place.end(at_once=True)

    def stop(self) -> int:
        return self.place.end(at_once=False)


@dataclass(slots=True)
class FleetHost:
    """A place for a node on a host of the fleet (a `NodeHost`)."""

    fleet: Fleet
    host: Host
    _name: str = field(default_factory=lambda: uuid.uuid4().hex)
    _halted: threading.Event = field(default_factory=threading.Event)
    _keeping: threading.Thread | None = None
    _ended: LabError | None = None

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def address(self) -> str:
        return self.host.ip

    @property
    def seen_from(self) -> str:
        return str(urlsplit(self.fleet.client.scheduler_comm.comm.local_address).hostname)

    def start(self, spec: ServerSpec, secret: str, again: str) -> RemoteNode:
        if self._keeping is None:
            self._keeping = threading.Thread(target=self._keep, name=f"node-{self.name}", daemon=True)
            self._keeping.start()
        if self._ended is not None:
            raise self._ended
        ready = self.fleet.on(self.host, "", self._halted, _start, self._name, spec, secret, again)
        return RemoteNode(self, f"http://{spec.listen}:{ready['port']}", int(ready["pid"]))

    def _keep(self) -> None:
        try:
            self.fleet.on(self.host, SERVER, self._halted, _keep, self._name)
        except LabError as error:
            self._ended = error

    def end(self, at_once: bool) -> int:
        """End the node, where its host still answers."""
        with contextlib.suppress(LostHostError):
            return self.fleet.on(self.host, "", threading.Event(), _end, self._name, at_once)
        return 0

    def close(self) -> None:
        """Give the place up."""
        self._halted.set()
        if self._keeping is not None:
            self._keeping.join()
