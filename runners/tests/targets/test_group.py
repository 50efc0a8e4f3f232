"""Several servers as one: all must live, and the one that died tells how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from runners.errors import ServerError
from runners.storage.schema import ServerRecord
from runners.targets.group import Target, TargetGroup


@dataclass
class Member:
    """A server that a test lets die."""

    subject: str
    pids: tuple[int, ...]
    living: bool = True
    engine: str = "lsm"
    data: Path | None = None

    @property
    def log(self) -> Path:
        return Path(f"{self.subject}.log")

    @property
    def url(self) -> str:
        return "http://127.0.0.1:1"

    def status(self) -> dict[str, Any]:
        if not self.living:
            raise self.death()
        return {"store": {}}

    def alive(self) -> bool:
        return self.living

    def ended_within(self, timeout_s: float) -> bool:
        return not self.living

    def death(self) -> ServerError:
        return ServerError(self.subject, "it died", "start it again")

    def exit_code(self) -> int | None:
        return None if self.living else 137

    def record(self) -> ServerRecord:
        return ServerRecord(left_out=("log of a JVM",))


def group(*members: Member) -> TargetGroup:
    return TargetGroup("both", {member.subject: cast("Target", member) for member in members})


def test_what_is_asked_of_the_group_is_asked_of_all() -> None:
    both = group(Member("a", (1,)), Member("b", (2, 3), engine="noop"))
    assert both.pids == (1, 2, 3) and both.engine == "lsm, noop" and both.record().left_out == ("log of a JVM",)
    assert both.alive() and both.status() == {} and both.exit_code() is None and not both.ended_within(0.0)


def test_the_one_that_died_tells_how() -> None:
    both = group(Member("a", (1,)), Member("b", (2,), living=False))
    assert not both.alive() and both.ended_within(0.0) and both.exit_code() == 137 and both.log == Path("b.log")
    with pytest.raises(ServerError, match="b"):
        both.status()
    assert both.death().thing == "b"
