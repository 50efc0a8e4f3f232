"""The interface of a server under test; abilities of some servers are separate protocols, for `isinstance`."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import httpx

from runners.errors import ServerError
from runners.process.supervisor import Child
from runners.storage.schema import ServerRecord

LOG_TAIL_LINES = 15
EXIT_CODE_S = 10.0


class Target(Protocol):
    """A server under test, which was ready when the object was made.

    `pids`: the processes that the lab started, none if the server ran already. `data`: the folder of the store.
    """

    @property
    def engine(self) -> str: ...
    @property
    def subject(self) -> str:
        """The server's name in reports and in the names of steps."""

    @property
    def url(self) -> str: ...
    @property
    def pids(self) -> tuple[int, ...]: ...
    @property
    def log(self) -> Path: ...
    @property
    def data(self) -> Path | None: ...
    def status(self) -> dict[str, Any]:
        """Return the server's status, {} if it has none. Raises ServerError if it died, is silent or is another."""

    def alive(self) -> bool: ...
    def ended_within(self, timeout_s: float) -> bool: ...
    def death(self) -> ServerError:
        """Return the error for a server that is known to be gone, with its last log lines."""

    def exit_code(self) -> int | None: ...
    def record(self) -> ServerRecord: ...
    def stop(self) -> int: ...


@runtime_checkable
class Jvm(Protocol):
    """A target that is one JVM, with a log of its pauses; profiler and flight recorder can attach to it."""

    @property
    def pid(self) -> int: ...
    @property
    def gc_log(self) -> Path: ...


def log_tail(path: Path) -> str:
    """Return the last lines of a log, or a note that it is empty or absent."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(text[-LOG_TAIL_LINES:]) or "(the log is empty)"


def death_of(thing: str, child: Child, log: Path) -> ServerError:
    """Return the error for a server whose process is known to be gone, with its exit code and last log lines."""
    child.wait_up_to(EXIT_CODE_S)  # its guard may not have collected the exit code yet
    cause = f"died with exit code {child.poll()}; its last lines:\n{log_tail(log)}"
    return ServerError(thing, cause, "see its log for more, then launch it again")


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """Servers that share a load, by name. URL, log, exit code, death: of the first that died, else of the first."""

    subject: str
    members: Mapping[str, Target]
    data: Path | None = None

    @property
    def engine(self) -> str:
        return ", ".join(dict.fromkeys(server.engine for server in self.members.values()))

    @property
    def url(self) -> str:
        return self._first.url

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(pid for server in self.members.values() for pid in server.pids)

    @property
    def log(self) -> Path:
        return self._first.log

    def status(self) -> dict[str, Any]:
        """Check that every member is the server that was started; a group has no status in common."""
        for server in self.members.values():
            server.status()
        return {}

    def alive(self) -> bool:
        return all(server.alive() for server in self.members.values())

    def ended_within(self, timeout_s: float) -> bool:
        return any(server.ended_within(timeout_s / len(self.members)) for server in self.members.values())

    def death(self) -> ServerError:
        return self._first.death()

    def exit_code(self) -> int | None:
        return self._first.exit_code()

    def record(self) -> ServerRecord:
        left_out = (text for server in self.members.values() for text in server.record().left_out)
        return ServerRecord(left_out=tuple(dict.fromkeys(left_out)))

    def stop(self) -> int:
        return max([server.stop() for server in self.members.values()], default=0)

    @property
    def _first(self) -> Target:
        """The first server that has died, or the first of all if all live."""
        servers = list(self.members.values())
        return next((server for server in servers if not server.alive()), servers[0])


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return the system's certificates, read once: to read them again takes longer than most requests."""
    return httpx.create_ssl_context(trust_env=False)


def client(timeout_s: float, *, verify: bool = True) -> httpx.Client:
    """Return an HTTP client that connects without a proxy; the caller closes it."""
    return httpx.Client(timeout=timeout_s, trust_env=False, verify=_certificates() if verify else False)
