"""The kernel's counters, read as cheaply as Python can: their files stay open and are read again from the beginning.

Opening costs several times what reading does, and whoever samples takes a core from what is measured meanwhile.
"""

from __future__ import annotations

import os

#: Files kept open at most; others are opened at each reading. Far below the usual limit of 1024 a process.
KEPT = 500
_LARGEST = 16_384


class Counters:
    """Small files under /proc and /sys by their path; a context, which closes them at its end."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def __enter__(self) -> Counters:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def text(self, path: str) -> str | None:
        """What the file holds now; None if there is none, or if what it told of has ended."""
        kept = self._open.get(path)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if kept is None else kept
        except OSError:
            return None
        try:
            text = os.pread(descriptor, _LARGEST, 0).decode(errors="replace")
        except OSError:
            os.close(descriptor)
            self._open.pop(path, None)
            return None
        if kept is None and len(self._open) < KEPT:
            self._open[path] = descriptor
        elif kept is None:
            os.close(descriptor)
        return text
