"""A setting: one way to run the server, and what reports call it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runners.errors import PlanError

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Setting:
    """An engine, and what differs from the server's defaults.

    `name` is what steps, figures and sentences call it, in small letters (`pool`, `lsm-wal-sync`); `server_flags` and
    `jvm_flags` go to the server as they are; `heap_mb` 0: as the run's parameter says. Raises PlanError for a name
    that can't be a folder's.
    """

    name: str
    engine: str
    server_flags: tuple[str, ...] = ()
    jvm_flags: tuple[str, ...] = ()
    heap_mb: int = 0

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise PlanError(f"setting {self.name!r}", "its name can't be a folder's", "use a-z, 0-9, '.', '_' and '-'")

    @classmethod
    def of(cls, given: Setting | str) -> Setting:
        """The setting itself, or an engine with the server's defaults."""
        return given if isinstance(given, Setting) else cls(given, given)
