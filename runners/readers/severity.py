"""Grade findings by how much they should worry."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How much a finding should worry: an answer or a good sign, something to know, to doubt, or to distrust."""

    GOOD = "good"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"
