"""Nodes of a cluster that are processes of their own, so that one of them can die and come back."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runners.process.ports import HOST
from runners.targets.lab_server import RunningServer, ServerSpec, launch
from runners.toolchain.tools import shown


@dataclass(slots=True)
class RunningNodes(RunningServer):
    """A cluster of processes, each under its guard. It is loaded and observed at its first node."""

    specs: tuple[ServerSpec, ...] = ()
    others: list[RunningServer] = field(default_factory=list)
    _starts: int = 0

    @property
    def nodes(self) -> list[RunningServer]:
        """All nodes in their order, the one that is loaded first."""
        return [self, *self.others]

    def kill(self, place: int) -> None:
        """End a node as a crash does; its data stay."""
        self.nodes[place].child.kill()

    def start_again(self, place: int) -> None:
        """Start a node other than the first, which has ended, on its port and its data, with logs of its own.

        A load may go on meanwhile. Raises ServerError.
        """
        ended = self.others[place - 1]
        RunningServer.stop(ended)
        self._starts += 1
        spec = self.specs[place]
        self.others[place - 1] = launch(
            dataclasses.replace(spec, folder=spec.folder / f"again-{self._starts}"), under_load=True
        )

    def stop(self) -> int:
        """Stop every node cleanly, the first one last. May be called twice."""
        with contextlib.ExitStack() as stopping:
            stopping.callback(RunningServer.stop, self)
            for node in self.others:
                stopping.callback(node.stop)
        return self.child.stop()


def _new_secret(folder: Path) -> Path:
    """Write the file by whose secret the nodes of one cluster know each other's requests."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "cluster-secret"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
    return path


def launch_nodes(spec: ServerSpec, ports: Sequence[int]) -> RunningNodes:
    """Start a node on each port, each with folders of its own below those of `spec`. None is left if one fails."""
    urls = [f"http://{HOST}:{port}" for port in ports]
    shared = (f"--topology={','.join(urls)}", f"--cluster-secret-file={shown(_new_secret(spec.data))}")
    specs = []
    for place, (port, url) in enumerate(zip(ports, urls, strict=True), start=1):
        flags = (*spec.server_flags, *shared, f"--self={url}")
        home, data = spec.folder / f"node-{place}", spec.data / f"node-{place}"
        specs.append(dataclasses.replace(spec, folder=home, data=data, port=port, server_flags=flags))
    up: list[RunningServer] = []
    try:
        for each in specs:
            up.append(launch(each))
    except BaseException:
        with contextlib.ExitStack() as stopping:
            for node in up:
                stopping.callback(node.stop)
        raise
    first = up[0]
    return RunningNodes(first.spec, first.child, first.ready, first.command, tuple(specs), up[1:])
