"""What the lab needs of any server: who it is, where it responds, which processes it is, and how it ends.

What only some servers give is an ability of its own, asked for with `isinstance`; what a server can't give is left out
of a report, and `left_out` names it. Several servers that are loaded together are asked as one (`TargetGroup`).
"""

from __future__ import annotations

import contextlib
import functools
import ssl
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import httpx

from runners.errors import ServerError
from runners.process.supervisor import Child
from runners.storage.schema import ServerRecord

LOG_TAIL_LINES = 15
_EXIT_CODE_S = 10.0


class Target(Protocol):
    """A server that was ready when this was made.

    `pids` are the processes that the lab started, none where the server ran already; `data` is where it stores.
    """

    @property
    def engine(self) -> str: ...
    @property
    def subject(self) -> str:
        """What reports call it, and steps are named after."""

    @property
    def url(self) -> str: ...
    @property
    def pids(self) -> tuple[int, ...]: ...
    @property
    def log(self) -> Path: ...
    @property
    def data(self) -> Path | None: ...
    @property
    def left_out(self) -> tuple[str, ...]:
        """What this server can't give, by name."""

    def status(self) -> dict[str, Any]:
        """Check that it is the server that was started, and give its status, empty where it tells none.

        Raises ServerError when it died, does not respond, or is another one.
        """

    def alive(self) -> bool: ...
    def ended_within(self, timeout_s: float) -> bool: ...
    def death(self) -> ServerError:
        """Describe how it died, with its last log lines: for when it is known to be gone."""

    def exit_code(self) -> int | None: ...
    def record(self) -> ServerRecord: ...
    def stop(self) -> int: ...


@runtime_checkable
class Jvm(Protocol):
    """One JVM: a log of its pauses, a process that profiler and flight recorder attach to, a compiler to wait for."""

    @property
    def pid(self) -> int: ...
    @property
    def gc_log(self) -> Path: ...


@runtime_checkable
class Freezable(Protocol):
    """One process, which can be made to stall."""

    @property
    def child(self) -> Child: ...


@runtime_checkable
class Cluster(Protocol):
    """Nodes that are processes of their own, by their place from 0 on: one can die and come back."""

    def kill(self, place: int) -> None: ...
    def start_again(self, place: int) -> None: ...


@runtime_checkable
class StoreStatistics(Protocol):
    """A store that tells what it has counted."""

    def statistics(self) -> dict[str, Any]: ...


def log_tail(path: Path, lines: int = LOG_TAIL_LINES) -> str:
    """Return the last lines of a log; says so when it is empty or absent."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(text[-lines:]) or "(the log is empty)"


def death_of(thing: str, child: Child, log: Path) -> ServerError:
    """Describe how a server died whose process is known to be gone, with its last log lines."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_EXIT_CODE_S)  # its guard may not have collected the exit code yet
    return ServerError(
        thing,
        f"died with exit code {child.poll()}; its last lines:\n{log_tail(log)}",
        "see its log for more, then launch it again",
    )


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """Servers by their names in the schedule; where one has died, log, exit code and cause are its own."""

    subject: str
    members: Mapping[str, Target]

    @property
    def engine(self) -> str:
        return ", ".join(dict.fromkeys(each.engine for each in self.members.values()))

    @property
    def url(self) -> str:
        return self._first.url

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(pid for each in self.members.values() for pid in each.pids)

    @property
    def log(self) -> Path:
        return self._first.log

    @property
    def data(self) -> Path | None:
        return None

    @property
    def left_out(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for each in self.members.values() for text in each.left_out))

    def status(self) -> dict[str, Any]:
        """Check that each is the server that was started; several have no status in common."""
        for each in self.members.values():
            each.status()
        return {}

    def alive(self) -> bool:
        return all(each.alive() for each in self.members.values())

    def ended_within(self, timeout_s: float) -> bool:
        return any(each.ended_within(timeout_s / len(self.members)) for each in self.members.values())

    def death(self) -> ServerError:
        return self._first.death()

    def exit_code(self) -> int | None:
        return self._first.exit_code()

    def record(self) -> ServerRecord:
        return ServerRecord(left_out=self.left_out)

    def stop(self) -> int:
        return max([each.stop() for each in self.members.values()], default=0)

    @property
    def _first(self) -> Target:
        """The first that has died, or where all live the first."""
        every = list(self.members.values())
        return next((each for each in every if not each.alive()), every[0])


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: a client that is given none reads them all again, which takes longer than its question."""
    return httpx.create_ssl_context(trust_env=False)


def client(timeout_s: float, *, verify: bool = True, socket: Path | None = None) -> httpx.Client:
    """Return a client that goes straight to the server, or to its Unix socket: no proxy stands between. Close it."""
    if socket is not None:
        return httpx.Client(timeout=timeout_s, transport=httpx.HTTPTransport(uds=str(socket)))
    return httpx.Client(timeout=timeout_s, trust_env=False, verify=_certificates() if verify else False)
