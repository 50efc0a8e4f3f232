"""What the lab needs of any server: who it is, where it answers, which processes it is, and how it ends.

What only some servers give is an ability of its own, asked for with `isinstance`; what a server can't give is left out
of a report, and `left_out` names it.
"""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

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

        Raises ServerError when it died, does not answer, or is another one.
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
    """One process, which can be made to stand still."""

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
    """The last lines of a log; says so when it is empty or absent."""
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
