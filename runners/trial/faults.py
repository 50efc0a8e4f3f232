"""Inject faults into a server while a load runs: freeze it, or kill a node and start it again; the times are kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from msgspec.structs import replace

from runners.design.session import Freeze
from runners.errors import LabError
from runners.process.supervisor import Child, Frozen
from runners.storage.schema import FreezeRecord, OutageRecord
from runners.targets.base import Cluster


class Freezer:
    """Freezes a process on a plan that begins with `begin`, on a thread of its own.

    `finish` waits for the last thaw, so that nothing is left frozen, and tells the true times. A process that ends
    meanwhile is waited for no longer, and what was planned for it after that does not happen.
    """

    def __init__(self, child: Child, freezes: Sequence[Freeze], lead_s: float) -> None:
        self._child, self._freezes, self._lead_s = child, freezes, lead_s
        self._thread: threading.Thread | None = None
        self._done: list[Frozen] = []
        #: Wall clock of `begin`, microseconds since 1970; 0 before.
        self.began_unix_us = 0

    def begin(self) -> None:
        """Start the clock. Later calls do nothing, so that a load's every tick may call it."""
        if self._thread is None:
            self.began_unix_us = time.time_ns() // 1000
            self._thread = threading.Thread(target=self._run, args=(time.monotonic(),), daemon=True)
            self._thread.start()

    def _run(self, began: float) -> None:
        for freeze in self._freezes:
            at = began + self._lead_s + freeze.at_s
            if self._child.wait_up_to(max(0.0, at - time.monotonic())):
                return
            try:
                with self._child.frozen() as times:
                    died = self._child.wait_up_to(max(0.0, at + freeze.length_s - time.monotonic()))
            except ProcessLookupError:  # it ended just before it was to stand still
                return
            if died:
                return
            self._done.append(times)

    def finish(self) -> tuple[FreezeRecord, ...]:
        """Start and end by the wall clock (us since 1970) and the length by the monotonic clock, of each freeze."""
        if self._thread is not None:
            self._thread.join()
        return tuple(
            FreezeRecord(start_unix_us=each.start_unix_us, end_unix_us=each.end_unix_us, length_us=each.length_us)
            for each in self._done
        )


class Outages:
    """Ends the node `place` so many seconds after `begin`, and starts it again later.

    `finish` waits until the node is back, so that nobody starts a process later, and tells the times (wall clock,
    microseconds since 1970); a node that could not be started again is named under `failed`.
    """

    def __init__(self, nodes: Cluster, place: int, kill_after_s: float, launch_after_s: float) -> None:
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
