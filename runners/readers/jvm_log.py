"""The JVM's unified log (`-Xlog:gc,safepoint:…:utctime,level,tags`) to pauses on the step's clock.

A line is written when its pause ends and carries the wall clock in milliseconds, so a pause starts at the stamp less
its length. A collection appears twice, as `gc` (what was done) and as the `safepoint` that stopped the threads.
Phases that run beside the application (concurrent marking, all of ZGC's collections) are no pauses and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from runners.readers.columns import frame
from runners.readers.errors import ReadError, why

_LINE = re.compile(r"^\[(?P<stamp>\d{4}-\d\d-\d\dT[\d:.]+[+-]\d{4})\].*?\[(?P<tags>[a-z,]+)\s*\] (?P<text>.*)$")
_GC = re.compile(r"^GC\(\d+\) (?P<cause>Pause .*?)(?: \d+\w->\d+\w\(\d+\w\))? (?P<ms>[\d.]+)ms$")
_SAFEPOINT = re.compile(r'^Safepoint "(?P<cause>[^"]+)",.*\bTotal: +(?P<ns>\d+) ns')


def read_pauses(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """The `pauses` frame: those that touch the window of `elapsed_s` seconds from `start_unix_us` (all without it).

    Raises ReadError when the file can't be read, or when none of its lines carries a wall clock.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ReadError(path, f"can't be read ({why(error)})", "run the step again") from error
    if lines and not any(_LINE.match(line) for line in lines):
        raise ReadError(
            path, "has no line with a wall clock", "start the JVM with -Xlog:gc,safepoint:file=…:utctime,level,tags"
        )
    rows = [row for row in _pauses(lines, start_unix_us) if _touches(row, elapsed_s)]
    return frame("pauses", sorted(rows, key=lambda row: row["t_s"]))


def _touches(row: dict[str, Any], elapsed_s: float | None) -> bool:
    if elapsed_s is None:
        return True
    return bool(row["t_s"] + row["duration_ms"] / 1000 >= 0 and row["t_s"] <= elapsed_s)


def _pauses(lines: list[str], start_unix_us: int) -> Iterator[dict[str, Any]]:
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        end_s = datetime.strptime(match["stamp"], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() - start_unix_us / 1e6
        if pause := _GC.match(match["text"]):
            duration_ms, kind = float(pause["ms"]), "gc"
        elif pause := _SAFEPOINT.match(match["text"]):
            duration_ms, kind = int(pause["ns"]) / 1e6, "safepoint"
        else:
            continue
        yield {"t_s": end_s - duration_ms / 1000, "duration_ms": duration_ms, "kind": kind, "cause": pause["cause"]}
