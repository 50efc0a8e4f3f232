"""The type of a server under test of any kind, and a group of servers that share a load."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.errors import ServerError
from runners.storage.schema import ServerRecord
from runners.targets.external import RunningTarget
from runners.targets.lab_server import RunningServer


@dataclass(frozen=True, slots=True)
class TargetGroup:
    """Servers that share a load. The log, exit code and death are those of the first dead server, else of the first."""

    subject: str
    members: "Mapping[str, Target]"  # by name
    url: str = ""  # the servers of a group are loaded by their own URLs
    data: Path | None = None

    @property
    def engine(self) -> str:
        return ", ".join(dict.fromkeys(server.engine for server in self.members.values()))

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(pid for server in self.members.values() for pid in server.pids)

    @property
    def log(self) -> Path:
        return self._dead_or_first.log

    def status(self) -> dict[str, Any]:
        """Return {}: a group has no status. Raises ServerError if a member is not the server that was started."""
        for server in self.members.values():
            server.status()
        return {}

    def alive(self) -> bool:
        return all(server.alive() for server in self.members.values())

    def ended_within(self, timeout_s: float) -> bool:
        return any(server.ended_within(timeout_s / len(self.members)) for server in self.members.values())

    def death(self) -> ServerError:
        return self._dead_or_first.death()

    def exit_code(self) -> int | None:
        return self._dead_or_first.exit_code()

    def record(self) -> ServerRecord:
        left_out = (text for server in self.members.values() for text in server.record().left_out)
        return ServerRecord(left_out=tuple(dict.fromkeys(left_out)))

    @property
    def _dead_or_first(self) -> "Target":
        return min(self.members.values(), key=lambda server: server.alive())


#: A server under test, which was ready when the object was made. `subject` is its name in reports and in the names of
#: steps; `pids` are the processes that the lab started, none if the server ran already; `data` is the store's folder.
Target = RunningServer | RunningTarget | TargetGroup
