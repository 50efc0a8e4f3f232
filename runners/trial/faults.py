"""Faults that are injected into a server under load; observation of faults that show on the wire or in the kernel."""

import contextlib
import gzip
import os
import platform
import re
import signal
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
from msgspec.structs import replace

from runners.design.session import Freeze, KillNode, Trial
from runners.errors import LabError, MeasureError
from runners.process.supervisor import Child
from runners.storage.schema import FreezeRecord, LoopRecord, OutageRecord, StepRecord, WindowRecord
from runners.targets.group import Target
from runners.targets.lab_server import RunningNodes, RunningServer

_LOOK_S = 0.0005


class Happening:
    """Planned faults of a load, which a thread causes, or an observation of the load. This base class does nothing."""

    _thread: threading.Thread | None = None
    #: Wall clock of `begin`, microseconds since 1970; 0 before.
    began_unix_us = 0

    def begin(self) -> None:
        """Begin the faults or observation. Called at every tick of the load, but only the first call has an effect."""
        if self._thread is None and type(self) is not Happening:
            self.began_unix_us = time.time_ns() // 1000
            self._thread = threading.Thread(target=self._run, args=(time.monotonic(),), daemon=True)
            self._thread.start()

    def _run(self, began: float) -> None:
        """Cause the planned faults; `began`: the time of `begin` by the monotonic clock, in seconds."""

    def end(self) -> None:
        """Wait until all planned faults are over. Called at the end of the load."""
        if self._thread is not None:
            self._thread.join()

    def record(self, start_unix_us: float | None) -> StepRecord:
        """Return a step record with only this fault's fields; `start_unix_us`: of the recorded window, if known."""
        return StepRecord()


class Freezer(Happening):
    """Planned freezes of a process (SIGSTOP, then SIGCONT); no freeze follows once the process has ended.

    The recorded window begins `lead_s` seconds after `begin`, and lasts `window_s`.
    """

    def __init__(self, child: Child, freezes: Sequence[Freeze], lead_s: float, window_s: float = 0.0) -> None:
        self._child, self._freezes, self._lead_s, self._window_s = child, freezes, lead_s, window_s
        self._done: list[FreezeRecord] = []

    def _run(self, began: float) -> None:
        for freeze in self._freezes:
            at = began + self._lead_s + freeze.at_s
            if self._child.wait_up_to(max(0.0, at - time.monotonic())):
                return
            if (done := stopped(self._child, at + freeze.length_s)) is None:
                return
            self._done.append(done)

    def record(self, start_unix_us: float | None) -> StepRecord:
        """Wait for the end of the last freeze; return a record with the times of all freezes and of the window."""
        self.end()
        window_us = start_unix_us or self.began_unix_us + self._lead_s * 1e6
        window = WindowRecord(start_unix_us=window_us, length_s=self._window_s)
        return StepRecord(freezes=tuple(self._done), window=window)


def stopped(child: Child, until_s: float) -> FreezeRecord | None:
    """Stop a process (SIGSTOP) until `until_s` of the monotonic clock; return the freeze, None if the process ended."""
    try:
        os.kill(child.pid, signal.SIGSTOP)
    except ProcessLookupError:  # it has ended just now
        return None
    try:
        with contextlib.suppress(psutil.Error):  # a busy core may take a signal milliseconds late
            process = psutil.Process(child.pid)
            while process.status() != psutil.STATUS_STOPPED and time.monotonic() < until_s:
                time.sleep(_LOOK_S)
        start_unix_us, began_ns = time.time_ns() // 1000, time.monotonic_ns()
        died = child.wait_up_to(max(0.0, until_s - time.monotonic()))
        end_unix_us, length_us = time.time_ns() // 1000, (time.monotonic_ns() - began_ns) / 1000
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGCONT)
    return None if died else FreezeRecord(start_unix_us=start_unix_us, end_unix_us=end_unix_us, length_us=length_us)


class Outages(Happening):
    """An outage: the node at `place` (from 0) is killed and started again, at given seconds after `begin`."""

    def __init__(self, nodes: RunningNodes, place: int, kill_after_s: float, launch_after_s: float) -> None:
        self._nodes, self._place = nodes, place
        self._kill_after_s, self._launch_after_s = kill_after_s, launch_after_s
        self._ended = threading.Event()
        self._record = OutageRecord(node=place + 1)

    def _run(self, began: float) -> None:
        if self._ended.wait(max(0.0, began + self._kill_after_s - time.monotonic())):
            return
        self._nodes.kill(self._place)
        self._record = replace(self._record, killed_unix_us=time.time_ns() / 1000)
        if self._ended.wait(max(0.0, began + self._launch_after_s - time.monotonic())):
            return
        self._record = replace(self._record, launched_unix_us=time.time_ns() / 1000)
        try:
            self._nodes.start_again(self._place)
        except LabError as refusal:
            self._record = replace(self._record, failed=str(refusal))
            return
        self._record = replace(self._record, ready_unix_us=time.time_ns() / 1000)

    def end(self) -> None:
        """Cancel the rest of the plan, and wait for a node that is starting."""
        self._ended.set()
        super().end()

    def record(self, start_unix_us: float | None) -> StepRecord:
        """End the plan; return a record with the times at which the node was killed, started again and ready."""
        self.end()
        return StepRecord(outage=replace(self._record, start_unix_us=start_unix_us))


_TIMEOUT_S = 10.0
_END_OF_HEAD = b"\r\n\r\n"
MOST_BYTES = 4 << 20  # a head that grows to this length shows the fault already


def heads(server: RunningServer, count: int) -> list[dict[str, int]]:
    """Send `count` PUTs on one connection; return each response's `number` and the `bytes` and `fields` of its head."""
    request = b"PUT /v0/entity?id=a HTTP/1.1\r\nHost: lab\r\nContent-Length: 1\r\n\r\nv"
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
            head, end, rest = rest.partition(_END_OF_HEAD)
            responses.append({"number": number, "bytes": len(head + end), "fields": head.count(b"\r\n")})
    return responses


#: The TCP counters that are recorded, by the kernel's names.
COUNTED = ("DelayedACKs", "DelayedACKLocked", "TCPDelivered", "InSegs", "OutSegs")
_TABLES = (Path("/proc/net/netstat"), Path("/proc/net/snmp"))


def parse_counters(text: str) -> dict[str, int]:
    """Return the counters of `TcpExt:` and `Tcp:` in a table of /proc/net: a line of names, then a line of values."""
    counters: dict[str, int] = {}
    lines = [line.split() for line in text.splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        if names and names[0] in ("TcpExt:", "Tcp:") and values[:1] == names[:1]:
            pairs = zip(names[1:], values[1:], strict=False)
            counters |= {name: int(value) for name, value in pairs if re.fullmatch(r"-?\d+", value)}
    return counters


def tcp_counters() -> dict[str, int]:
    """Return this machine's TCP counters by the kernel's names; empty if the kernel has none."""
    counters: dict[str, int] = {}
    for table in _TABLES:
        with contextlib.suppress(OSError):
            counters |= parse_counters(table.read_text(encoding="utf-8", errors="replace"))
    return counters


def timer_hz() -> int | None:
    """Return how often per second the kernel's coarse timers tick (CONFIG_HZ); None if no file states this."""
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{platform.release()}")):
        with contextlib.suppress(OSError, EOFError):
            content = path.read_bytes()
            text = gzip.decompress(content) if path.suffix == ".gz" else content
            if match := re.search(rb"^CONFIG_HZ=(\d+)$", text, re.MULTILINE):
                return int(match.group(1))
    return None


class TcpWatch(Happening):
    """An observation: by how much this machine's TCP counters grow during a closed loop."""

    _before: dict[str, int] | None = None

    def __init__(self, about: LoopRecord) -> None:
        self._about = about

    def begin(self) -> None:
        if self._before is None:
            self._before = tcp_counters()

    def record(self, start_unix_us: float | None) -> StepRecord:
        """Return a record of the counters' increments since `begin`; empty if the kernel has no such counters."""
        before, after = self._before or {}, tcp_counters()
        gained = {name: after[name] - before[name] for name in COUNTED if name in before and name in after}
        return StepRecord(loop=replace(self._about, tcp=gained))


def happening(trial: Trial, server: Target, lead_s: float, stage: tuple[str, str] = ("", "")) -> Happening:
    """Return the planned faults or TCP readings of a trial. Raises MeasureError if `server` can't have such a fault.

    `lead_s`: seconds for which the generator sends before it records. `stage`: name and title of a closed loop's block.
    """
    freezes = tuple(fault for fault in trial.faults if isinstance(fault, Freeze))
    kills = tuple(fault for fault in trial.faults if isinstance(fault, KillNode))
    if (loop := trial.loop) is not None:
        return TcpWatch(LoopRecord(
            stage=stage[0], stage_title=stage[1], published=loop.published, drawn_keys=loop.drawn_keys,
            held_keys=loop.held_keys, kernel_hz=timer_hz(),
        ))  # fmt: skip
    if len(kills) > 1 or (kills and freezes):
        cause = "it kills a node and has another fault too"
        raise MeasureError(f"trial {trial.name}", cause, "plan one trial a fault")
    if kills:
        if not isinstance(server, RunningNodes):
            raise MeasureError(server.subject, "it has no nodes of which one could die", "take a cluster of processes")
        return Outages(server, kills[0].node - 1, lead_s + kills[0].at_s, lead_s + kills[0].restart_at_s)
    if not freezes:
        return Happening()
    if (child := getattr(server, "child", None)) is None:
        raise MeasureError(server.subject, "it is no process that could be frozen", "take a server that the lab starts")
    return Freezer(child, freezes, lead_s, trial.shape.duration_s or 0.0)
