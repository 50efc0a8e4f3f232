"""Several servers that are loaded together: what is asked of one server is asked of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.errors import ServerError
from runners.storage.schema import ServerRecord
from runners.targets.base import Target


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
