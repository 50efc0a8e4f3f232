"""Inject faults into a server while a load runs, and observe faults that only the wire or the kernel shows.

A server is frozen, or a node killed and started again, and the times are kept. Heads of responses are read from one
connection; the kernel's TCP counters, which anyone may read, stand in for a packet capture.
"""

from __future__ import annotations

import contextlib
import gzip
import platform
import re
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from runners.design.session import Freeze
from runners.errors import LabError
from runners.process.supervisor import Child, Frozen
from runners.storage.schema import FreezeRecord, OutageRecord
from runners.targets.base import Cluster
from runners.targets.lab_server import RunningServer


class _Planned(ABC):
    """Faults on a plan that starts with `begin`, on a thread of its own."""

    _thread: threading.Thread | None = None
    #: Wall clock of `begin`, microseconds since 1970; 0 before.
    began_unix_us = 0

    def begin(self) -> None:
        """Start the clock. Later calls do nothing, so that a load's every tick may call it."""
        if self._thread is None:
            self.began_unix_us = time.time_ns() // 1000
            self._thread = threading.Thread(target=self._run, args=(time.monotonic(),), daemon=True)
            self._thread.start()

    @abstractmethod
    def _run(self, began: float) -> None:
        """Carry the plan out, which began at `began` of the monotonic clock."""

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()


class Freezer(_Planned):
    """Freezes a process on a plan.

    `finish` waits for the last thaw, so that nothing is left frozen, and returns the true times. The plan ends with the
    process.
    """

    def __init__(self, child: Child, freezes: Sequence[Freeze], lead_s: float) -> None:
        self._child, self._freezes, self._lead_s = child, freezes, lead_s
        self._done: list[Frozen] = []

    def _run(self, began: float) -> None:
        for freeze in self._freezes:
            at = began + self._lead_s + freeze.at_s
            if self._child.wait_up_to(max(0.0, at - time.monotonic())):
                return
            try:
                with self._child.frozen() as times:
                    died = self._child.wait_up_to(max(0.0, at + freeze.length_s - time.monotonic()))
            except ProcessLookupError:  # it ended just before it was to stall
                return
            if died:
                return
            self._done.append(times)

    def finish(self) -> tuple[FreezeRecord, ...]:
        """Return the times of all freezes: start and end by the wall clock (us since 1970), length monotonic."""
        self._join()
        return tuple(
            FreezeRecord(start_unix_us=freeze.start_unix_us, end_unix_us=freeze.end_unix_us, length_us=freeze.length_us)
            for freeze in self._done
        )


class Outages(_Planned):
    """Kills the node at `place`, counted from 0, and starts it again, at seconds after `begin`.

    `finish` waits until the node is back, so that no process is started later, and returns the times (wall clock,
    microseconds since 1970); `failed` says why a node could not be started again.
    """

    def __init__(self, nodes: Cluster, place: int, kill_after_s: float, launch_after_s: float) -> None:
        self._nodes, self._place = nodes, place
        self._kill_after_s, self._launch_after_s = kill_after_s, launch_after_s
        self._ended = threading.Event()
        self._record = OutageRecord(node=place + 1)

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
        return self._ended.wait(max(0.0, until - time.monotonic()))

    def finish(self) -> OutageRecord:
        """Return the times so far, and cancel the rest of the plan."""
        self._ended.set()
        self._join()
        return self._record


def _now_us() -> float:
    return time.time_ns() / 1000


_TIMEOUT_S = 10.0
_END_OF_HEAD = b"\r\n\r\n"
MOST_BYTES = 4 << 20  # a longer head shows the fault too


def heads(server: RunningServer, count: int, body: bytes = b"v") -> list[dict[str, int]]:
    """PUT one key `count` times on one connection; return number, bytes and fields of the head of every response.

    They are fewer when the connection ends or a response is absurdly long, which is a finding and no error.
    """
    request = f"PUT /v0/entity?id=a HTTP/1.1\r\nHost: lab\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    rest, responses = b"", list[dict[str, int]]()
    address = ("127.0.0.1", int(server.ready["port"]))
    with contextlib.suppress(OSError), socket.create_connection(address, timeout=_TIMEOUT_S) as connection:
        for number in range(1, count + 1):
            connection.sendall(request)
            while _END_OF_HEAD not in rest:
                more = connection.recv(1 << 16)
                if not more or len(rest) > MOST_BYTES:
                    return responses
                rest += more
            head, _, rest = rest.partition(_END_OF_HEAD)
            size = len(head) + len(_END_OF_HEAD)
            responses.append({"number": number, "bytes": size, "fields": head.count(b"\r\n")})
    return responses


#: The counters that are kept, by the kernel's names.
COUNTED = ("DelayedACKs", "DelayedACKLocked", "TCPDelivered", "InSegs", "OutSegs")
_TABLES = (Path("/proc/net/netstat"), Path("/proc/net/snmp"))


def parse_counters(text: str) -> dict[str, int]:
    """Return the counters of `TcpExt:` and `Tcp:` in a table of /proc/net: pairs of lines, names and then values."""
    counters: dict[str, int] = {}
    lines = [line.split() for line in text.splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        if names and names[0] in ("TcpExt:", "Tcp:") and values[:1] == names[:1]:
            pairs = zip(names[1:], values[1:], strict=False)
            counters |= {name: int(value) for name, value in pairs if re.fullmatch(r"-?\d+", value)}
    return counters


def tcp_counters() -> dict[str, int] | None:
    """Return the counters of all connections of this machine; None where there is no such table."""
    try:
        counters: dict[str, int] = {}
        for table in _TABLES:
            counters |= parse_counters(table.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return {name: counters[name] for name in COUNTED if name in counters}


def timer_hz() -> int | None:
    """Return how often a second the kernel's coarse timers tick (CONFIG_HZ), where its configuration can be read."""
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{platform.release()}")):
        try:
            content = path.read_bytes()
            text = gzip.decompress(content) if path.suffix == ".gz" else content
        except (OSError, EOFError):
            continue
        if match := re.search(rb"^CONFIG_HZ=(\d+)$", text, re.MULTILINE):
            return int(match.group(1))
    return None


class TcpWatch:
    """Differences of the TCP counters between `begin` and `gained`."""

    def __init__(self) -> None:
        self._before: dict[str, int] | None = None
        self._begun = False

    def begin(self) -> None:
        """Read the counters. Later calls do nothing, so that a load's every tick may call it."""
        if not self._begun:
            self._begun, self._before = True, tcp_counters()

    def gained(self) -> dict[str, int] | None:
        """Return the differences; None where the kernel keeps no such counters."""
        after = tcp_counters()
        if self._before is None or after is None:
            return None
        return {name: value - self._before[name] for name, value in after.items() if name in self._before}
