"""Counters that the Linux kernel keeps of TCP: readable by anyone, so they stand in for a packet capture."""

from __future__ import annotations

import gzip
import platform
import re
from pathlib import Path

#: What is kept, by the names that the kernel prints.
COUNTED = ("DelayedACKs", "DelayedACKLocked", "TCPDelivered", "InSegs", "OutSegs")
_TABLES = (Path("/proc/net/netstat"), Path("/proc/net/snmp"))


def parse_counters(text: str) -> dict[str, int]:
    """The counters of `TcpExt:` and `Tcp:` in a table of /proc/net, whose lines come in pairs: names, then values."""
    found: dict[str, int] = {}
    lines = [line.split() for line in text.splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        if names and names[0] in ("TcpExt:", "Tcp:") and values[:1] == names[:1]:
            pairs = zip(names[1:], values[1:], strict=False)
            found |= {name: int(value) for name, value in pairs if re.fullmatch(r"-?\d+", value)}
    return found


def tcp_counters() -> dict[str, int] | None:
    """COUNTED as they stand now, of every connection on this machine; None where there is no such table."""
    try:
        found: dict[str, int] = {}
        for table in _TABLES:
            found |= parse_counters(table.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return {name: found[name] for name in COUNTED if name in found}


def timer_hz() -> int | None:
    """How often a second the kernel's coarse timers tick (CONFIG_HZ), where its configuration can be read."""
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{platform.release()}")):
        try:
            content = path.read_bytes()
            text = gzip.decompress(content) if path.suffix == ".gz" else content
        except (OSError, EOFError):
            continue
        if found := re.search(rb"^CONFIG_HZ=(\d+)$", text, re.MULTILINE):
            return int(found.group(1))
    return None


class TcpWatch:
    """What the counters gained between `begin` and `gained`."""

    def __init__(self) -> None:
        self._before: dict[str, int] | None = None
        self._begun = False

    def begin(self) -> None:
        """Note where they stand. Later calls do nothing, so that a load's every tick may call it."""
        if not self._begun:
            self._begun, self._before = True, tcp_counters()

    def gained(self) -> dict[str, int] | None:
        """None where the kernel keeps no such counters."""
        after = tcp_counters()
        if self._before is None or after is None:
            return None
        return {name: value - self._before[name] for name, value in after.items() if name in self._before}
