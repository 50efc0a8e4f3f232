"""Kill a node of a cluster while a load runs, and start it again: on a thread of its own, with the times kept."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from msgspec.structs import replace

from runners.errors import LabError
from runners.storage.schema import OutageRecord


class Nodes(Protocol):
    """What can lose a node."""

    def kill(self, place: int) -> None: ...
    def start_again(self, place: int) -> None: ...


class Outages:
    """Ends the node `place` so many seconds after `begin`, and starts it again later.

    `finish` waits until the node is back, so that nobody starts a process later, and tells the times (wall clock,
    microseconds since 1970); a node that could not be started again is named under `failed`.
    """

    def __init__(self, nodes: Nodes, place: int, kill_after_s: float, launch_after_s: float) -> None:
        self._nodes, self._place = nodes, place
        self._kill_after_s, self._launch_after_s = kill_after_s, launch_after_s
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._record = OutageRecord(node=place + 1)

    def begin(self) -> None:
        """Start the clock. Later calls do nothing, so that a load's every tick may call it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(time.monotonic(),), daemon=True)
            self._thread.start()

    def _run(self, began: float) -> None:
        if self._waited(began + self._kill_after_s):
            return
        self._nodes.kill(self._place)
        self._record = replace(self._record, killed_unix_us=_now_us())
        if self._waited(began + self._launch_after_s):
            return
        self._record = replace(self._record, launched_unix_us=_now_us())
        try:
            self._nodes.start_again(self._place)
        except LabError as refusal:
            self._record = replace(self._record, failed=str(refusal))
            return
        self._record = replace(self._record, ready_unix_us=_now_us())

    def _waited(self, until: float) -> bool:
        """Sleep until then; whether the load ended before."""
        return self._ended.wait(max(0.0, until - time.monotonic()))

    def finish(self) -> OutageRecord:
        """The times of what happened; what had not begun does not happen any more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        return self._record


def _now_us() -> float:
    return time.time_ns() / 1000
