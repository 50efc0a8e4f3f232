"""Describe a question that an experiment answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A question that yes or no answers. `reported` is what the original report says to it, or empty.

    `key` names it within its experiment and never changes; `text` ends with a question mark. `cores`: so many the
    server needs for the answer; parallelism and contention can't be seen by a server that has one.
    """

    key: str
    text: str
    reported: str = ""
    cores: int = 1
